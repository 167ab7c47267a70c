//! The end of a text that is too long to keep.
//!
//! Invariant: never more than twice the limit is held.

use super::lines::LinePiece;

#[derive(Debug)]
pub(crate) struct TextTail {
    limit: usize,
    text: String,
}

impl TextTail {
    pub(crate) fn of(limit: usize) -> TextTail {
        TextTail { limit, text: String::new() }
    }

    pub(crate) fn push(&mut self, piece: LinePiece<'_>) {
        self.text.push_str(end_of(piece.text, self.limit));
        if piece.ends_line {
            self.text.push('\n');
        }
        if self.text.len() > self.limit * 2 {
            self.text = end_of(&self.text, self.limit).to_owned();
        }
    }

    /// What is left, without the newline at its very end.
    pub(crate) fn text(&self) -> &str {
        end_of(self.text.trim_end_matches('\n'), self.limit)
    }

    /// The last `count` lines that say something, as one line.
    pub(crate) fn last_lines(&self, count: usize) -> String {
        let mut last: Vec<&str> = self.text().lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        last.drain(..last.len().saturating_sub(count));
        last.join(" | ")
    }
}

fn end_of(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, lines: &[&str]) -> TextTail {
        let mut tail = TextTail::of(limit);
        lines.iter().for_each(|text| tail.push(LinePiece { text, ends_line: true }));
        tail
    }

    #[test]
    fn the_end_is_kept_and_characters_stay_whole() {
        assert_eq!(tail(5, &["abc", "def"]).text(), "c\ndef");
        assert_eq!(tail(3, &["ééé"]).text(), "é");
        assert_eq!(tail(4, &["0123456789", "x"]).text(), "89\nx");
        assert_eq!(tail(4, &[]).text(), "");
    }

    #[test]
    fn little_is_held_however_much_comes() {
        let mut tail = TextTail::of(10);
        for _ in 0..1_000 {
            tail.push(LinePiece { text: "0123456789abcdef", ends_line: true });
            assert!(tail.text.len() <= 20 + 11);
        }
    }

    #[test]
    fn the_last_lines_that_say_something_become_one() {
        assert_eq!(tail(100, &["a", "b", "", " c ", ""]).last_lines(2), "b | c");
    }
}
