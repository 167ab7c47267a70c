//! Cuts a stream of bytes into lines of text.
//!
//! Invariant: no byte is lost or waited for without bound: a line longer than the limit comes in pieces, the last
//! line needs no newline, and what is not UTF-8 is shown as replacement characters.

use ordo_model::limits::LOG_LINE_MAX_BYTES;

/// A line, or a piece of one that was too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinePiece<'a> {
    pub(crate) text: &'a str,
    pub(crate) ends_line: bool,
}

#[derive(Debug, Default)]
pub(crate) struct LineCutter {
    pending: Vec<u8>,
    /// Pieces of the current line have been given out.
    inside_line: bool,
}

impl LineCutter {
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(LinePiece<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.take_in(&bytes[..end], &mut emit);
            self.end_line(&mut emit);
            bytes = &bytes[end + 1..];
        }
        self.take_in(bytes, &mut emit);
    }

    /// The stream has ended.
    pub(crate) fn finish(&mut self, mut emit: impl FnMut(LinePiece<'_>)) {
        if !self.pending.is_empty() {
            self.end_line(&mut emit);
        }
    }

    fn take_in(&mut self, bytes: &[u8], emit: &mut impl FnMut(LinePiece<'_>)) {
        self.pending.extend_from_slice(bytes);
        while self.pending.len() > LOG_LINE_MAX_BYTES {
            let rest = self.pending.split_off(character_start(&self.pending, LOG_LINE_MAX_BYTES));
            give(&self.pending, false, emit);
            self.pending = rest;
            self.inside_line = true;
        }
    }

    fn end_line(&mut self, emit: &mut impl FnMut(LinePiece<'_>)) {
        let line = self.pending.strip_suffix(b"\r").unwrap_or(&self.pending);
        if !(line.is_empty() && self.inside_line) {
            give(line, true, emit);
        }
        self.pending.clear();
        self.inside_line = false;
    }
}

/// Replacement characters are longer than the bytes they replace, so a piece may have to be cut once more.
fn give(bytes: &[u8], ends_line: bool, emit: &mut impl FnMut(LinePiece<'_>)) {
    let text = String::from_utf8_lossy(bytes);
    let mut rest: &str = &text;
    while rest.len() > LOG_LINE_MAX_BYTES {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(LOG_LINE_MAX_BYTES));
        emit(LinePiece { text: piece, ends_line: false });
        rest = after;
    }
    emit(LinePiece { text: rest, ends_line });
}

/// The last place at or before `at` where a UTF-8 character may begin.
fn character_start(bytes: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at).rev().find(|place| bytes[*place] & 0b1100_0000 != 0b1000_0000).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(chunks: &[&[u8]]) -> Vec<(String, bool)> {
        let mut cutter = LineCutter::default();
        let mut pieces = Vec::new();
        for chunk in chunks {
            cutter.push(chunk, |piece| pieces.push((piece.text.to_owned(), piece.ends_line)));
        }
        cutter.finish(|piece| pieces.push((piece.text.to_owned(), piece.ends_line)));
        pieces
    }

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        cut(chunks).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn lines_end_with_either_newline_and_the_last_needs_none() {
        assert_eq!(lines(&[b"a\nb\r\n\nc"]), ["a", "b", "", "c"]);
        assert_eq!(lines(&[b"a\r", b"\nb\n"]), ["a", "b"]);
        assert_eq!(lines(&[b"x\ry\n"]), ["x\ry"]);
        assert!(lines(&[b""]).is_empty());
    }

    #[test]
    fn a_character_split_between_reads_is_whole_and_bad_bytes_are_replaced() {
        assert_eq!(lines(&[b"gr\xc3", b"\xbcn\n"]), ["grün"]);
        assert_eq!(lines(&[b"\xff\xfe\n"]), ["\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn a_long_line_comes_in_pieces_that_lose_nothing() {
        let long = "é".repeat(LOG_LINE_MAX_BYTES);
        let pieces = cut(&[b"a", long.as_bytes(), b"\n", b"next\n"]);
        assert!(pieces.iter().all(|(text, _)| text.len() <= LOG_LINE_MAX_BYTES));
        assert_eq!(pieces.iter().filter(|(_, ends)| *ends).count(), 2);
        let all: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(all, format!("a{long}next"));
    }

    #[test]
    fn a_line_exactly_at_the_limit_leaves_no_empty_line_behind() {
        for size in [LOG_LINE_MAX_BYTES - 1, LOG_LINE_MAX_BYTES, LOG_LINE_MAX_BYTES + 1, 2 * LOG_LINE_MAX_BYTES] {
            let line = vec![b'x'; size];
            let pieces = lines(&[&line, b"\n"]);
            assert_eq!(pieces.concat().len(), size);
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
        }
    }

    #[test]
    fn bad_bytes_at_the_limit_are_cut_without_loss() {
        let pieces = lines(&[&vec![0x80; LOG_LINE_MAX_BYTES], b"\n"]);
        assert_eq!(pieces.concat().chars().count(), LOG_LINE_MAX_BYTES);
        assert!(pieces.iter().all(|piece| piece.len() <= LOG_LINE_MAX_BYTES));
    }
}
