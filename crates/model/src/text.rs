//! Texts within their limits, and fields that say nothing when they hold nothing.

/// The beginning of a text, at most so many bytes of it, cut between two characters.
pub fn shortened(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// For `skip_serializing_if`: what has its default value is not written down.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(
            (shortened("aé", 2), shortened("aé", 3), shortened("a", 99), shortened("é", 1)),
            ("a", "aé", "a", "")
        );
    }
}
