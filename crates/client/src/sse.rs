//! The text/event-stream format, as the WHATWG writes it down.
//!
//! Invariant: how the bytes were cut on their way makes no difference to the events.

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The newest id the stream has given so far: where to go on after an interruption.
    pub id: Option<String>,
    /// What kind of event it is; none means `message`.
    pub event: Option<String>,
    /// What it says.
    pub data: String,
}

#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    id: Option<String>,
    event: Option<String>,
    data: Option<String>,
}

impl Parser {
    /// Takes the next bytes; returns the events they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut found = Vec::new();
        for byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, *byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\n' | b'\r' => found.extend(self.end_line()),
                other => self.line.push(*other),
            }
        }
        found
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let text = String::from_utf8_lossy(&line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        self.field(field, value.strip_prefix(' ').unwrap_or(value));
        None
    }

    fn field(&mut self, name: &str, value: &str) {
        match name {
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "event" => self.event = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // A comment (an empty name), a wish for the time between attempts, or a field of the future.
            _ => {}
        }
    }

    /// An event without data is none.
    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = self.event.take().filter(|name| !name.is_empty());
        let data = self.data.take()?;
        Some(SseEvent { id: self.id.clone(), event, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, name: Option<&str>, data: &str) -> SseEvent {
        SseEvent { id: id.map(str::to_owned), event: name.map(str::to_owned), data: data.to_owned() }
    }

    fn whole(text: &str) -> Vec<SseEvent> {
        Parser::default().push(text.as_bytes())
    }

    #[test]
    fn an_event_has_an_id_a_name_and_lines_of_data() {
        let found = whole("id: 7\nevent: line\ndata: one\ndata: two\n\n");
        assert_eq!(found, [event(Some("7"), Some("line"), "one\ntwo")]);
    }

    #[test]
    fn the_id_stays_until_there_is_another_and_the_name_does_not() {
        let found = whole("id: 7\nevent: line\ndata: a\n\ndata: b\n\nid: 8\ndata: c\n\n");
        assert_eq!(
            found,
            [event(Some("7"), Some("line"), "a"), event(Some("7"), None, "b"), event(Some("8"), None, "c")]
        );
    }

    #[test]
    fn comments_unknown_fields_and_events_without_data_say_nothing() {
        assert_eq!(whole(": keep alive\n\nretry: 10\nevent: x\n\ncolour: red\n\n"), []);
        assert_eq!(whole("data\n\n"), [event(None, None, "")]);
        assert_eq!(whole("data: never ended"), []);
    }

    #[test]
    fn all_three_ends_of_lines_and_a_byte_order_mark_are_understood() {
        for text in ["data: a\r\n\r\ndata:b\r\n\r\n", "data: a\r\rdata:b\r\r", "\u{feff}data: a\n\ndata:b\n\n"] {
            assert_eq!(whole(text), [event(None, None, "a"), event(None, None, "b")], "{text:?}");
        }
    }

    #[test]
    fn it_does_not_matter_where_the_bytes_were_cut() {
        let text = "id: 1\r\ndata: grüße\r\n\r\n: hi\r\n\r\nid: 2\r\nevent: end\r\ndata: {}\r\n\r\n".as_bytes();
        let expected = Parser::default().push(text);
        assert_eq!(expected.len(), 2);
        for cut in 0..text.len() {
            let mut parser = Parser::default();
            let mut found = parser.push(&text[..cut]);
            found.extend(parser.push(&text[cut..]));
            assert_eq!(found, expected, "cut at {cut}");
        }
    }
}
