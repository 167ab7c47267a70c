//! A value that must not be seen.

use zeroize::Zeroizing;

/// Text that is not shown by `Debug`, has no `Display`, and is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    pub fn new(text: impl Into<String>) -> SecretText {
        SecretText(Zeroizing::new(text.into()))
    }

    /// The text itself: for whoever uses it, never for whoever shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_shows_nothing() {
        assert_eq!(format!("{:?}", Some(SecretText::new("hunter2"))), "Some(***)");
    }
}
