//! Texts within their limits, and fields that say nothing when they hold nothing.

use std::borrow::Cow;

/// The beginning of a text, at most so many bytes of it, cut between two characters.
pub fn shortened(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// A text that an error names, in quotes: without repeating a megabyte of it.
pub fn quoted(text: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    let mut short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// Whether a character can make a text look like another: control characters, changes of the writing direction, and
/// those that take no place. Joiners stay: scripts and emoji need them.
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061C}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// Whether a text may name something: not blank, within its limit, and it looks like what it is.
pub fn is_name(text: &str, max_bytes: usize) -> bool {
    !text.trim().is_empty() && text.len() <= max_bytes && !text.chars().any(is_deceptive)
}

/// The text on one line, with what cannot be seen written out: `\u{202e}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    visible_but(text, |_| false)
}

/// The same for a text of several lines.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => Cow::Owned(visible_but(&text.replace("\r\n", "\n"), is_of_prose).into_owned()),
        false => visible_but(text, is_of_prose),
    }
}

/// What a text may have that is more than a name: lines, tabs, and the marks that scripts written from right to left need.
pub fn is_of_prose(character: char) -> bool {
    matches!(character, '\n' | '\t' | '\u{061C}' | '\u{200E}' | '\u{200F}')
}

fn visible_but(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let hidden = |character: char| is_deceptive(character) && !stays(character);
    if !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match hidden(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// For `skip_serializing_if`: what has its default value is not written down.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_looks_like_what_it_is() {
        for good in ["nightly report", "Größe", "日本", "👩‍🚀", "نیم‌فاصله"] {
            assert!(is_name(good, 100), "{good:?}");
        }
        let bad =
            ["", " ", "a\nb", "a\u{1b}[2Jb", "a\u{202e}b", "a\u{2066}b", "a\u{200b}b", "\u{feff}a", "a\u{85}b", "a\0"];
        for bad in bad {
            assert!(!is_name(bad, 100), "{bad:?}");
        }
        assert!(is_name("abc", 3) && !is_name("abcd", 3));
    }

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert!(matches!(visible("plain – text"), Cow::Borrowed(_)));
        assert_eq!(visible("a\u{202e}b\nc\u{1b}"), "a\\u{202e}b\\nc\\u{1b}");
        assert_eq!(visible_lines("a\r\n\tb\u{1b}\r"), "a\n\tb\\u{1b}\\r");
    }

    #[test]
    fn a_text_is_cut_between_two_characters() {
        assert_eq!(
            (shortened("aé", 2), shortened("aé", 3), shortened("a", 99), shortened("é", 1)),
            ("a", "aé", "a", "")
        );
    }
}
