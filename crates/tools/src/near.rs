//! What somebody probably meant by a name that does not exist.

/// The closest of `known`, if it is close enough to be a slip of the finger.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let reach = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= reach)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `, did you mean "shell"?`, or nothing.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|near| format!(", did you mean {near:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_different_word_is_not() {
        let known = ["shell", "http", "noop"];
        assert_eq!(nearest("shel", known), Some("shell"));
        assert_eq!(nearest("hhtp", known), Some("http"));
        assert_eq!(nearest("htpt", known), Some("http"));
        assert_eq!(nearest("python", known), None);
        assert_eq!(nearest("", known), None);
    }
}
