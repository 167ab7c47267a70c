//! What others wrote, on a terminal: colours stay, and whatever else a terminal would obey is written out.
//!
//! Invariant: nothing in a line moves the cursor, changes lines above it, or asks anything of the terminal.

use std::borrow::Cow;

use ordo_model::text::{is_deceptive, is_of_prose};

/// Back to the colours of whoever looks.
const RESET: &str = "\u{1b}[0m";

/// One line as a terminal may be shown it.
pub(crate) fn tamed(line: &str) -> Cow<'_, str> {
    let is_obeyed = |character: char| is_deceptive(character) && !is_of_prose(character);
    if !line.chars().any(is_obeyed) {
        return Cow::Borrowed(line);
    }
    let (mut shown, mut rest, mut is_coloured) = (String::with_capacity(line.len() + 16), line, false);
    while let Some(character) = rest.chars().next() {
        let colour = colour_bytes(rest);
        let taken = if colour > 0 { colour } else { character.len_utf8() };
        let (now, later) = rest.split_at(taken);
        match colour == 0 && is_obeyed(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push_str(now),
        }
        is_coloured |= colour > 0;
        rest = later;
    }
    if is_coloured {
        shown.push_str(RESET);
    }
    Cow::Owned(shown)
}

/// How long the change of colours is that the text begins with: `ESC [ 1 ; 31 m`. 0: it begins with something else.
fn colour_bytes(text: &str) -> usize {
    const BEGIN: &str = "\u{1b}[";
    let Some(numbers) = text.strip_prefix(BEGIN) else { return 0 };
    let end = numbers.find(|character: char| !(character.is_ascii_digit() || matches!(character, ';' | ':')));
    match end.filter(|end| numbers[*end..].starts_with('m')) {
        Some(end) => BEGIN.len() + end + 1,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_colours_and_moves_nothing() {
        assert!(matches!(tamed("plain\ttext – é"), Cow::Borrowed(_)));
        for (line, shown) in [
            ("\u{1b}[1;31mred\u{1b}[0m", "\u{1b}[1;31mred\u{1b}[0m\u{1b}[0m"),
            ("\u{1b}[38:5:9mred", "\u{1b}[38:5:9mred\u{1b}[0m"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\u{1b}[1;1Hb", "a\\u{1b}[1;1Hb"),
            ("\u{1b}]52;c;aGk=\u{7}", "\\u{1b}]52;c;aGk=\\u{7}"),
            ("ok\rno", "ok\\rno"),
            ("a\u{9b}2Jb\u{202e}", "a\\u{9b}2Jb\\u{202e}"),
            ("\u{1b}[1;3", "\\u{1b}[1;3"),
            ("\u{1b}", "\\u{1b}"),
        ] {
            assert_eq!(tamed(line), shown, "{line:?}");
        }
    }
}
