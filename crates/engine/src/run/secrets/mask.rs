//! Covers the values of secrets in what an attempt says and leaves behind.
//!
//! Invariant: a value that stands in a text as it is, by line, as JSON writes it or as an address writes it, is
//! covered; so is a large part of one at the edge of a text that was cut. A value that a tool has changed is not known.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::text::SecretText;

const COVER: &str = "***";
/// A line of a value of several lines is covered by itself from this length on: `}` alone says nothing.
const LINE_MIN_BYTES: usize = 4;
/// A part of a value at the edge of a text is covered from this length on, if it is also a quarter of the value.
const EDGE_MIN_BYTES: usize = 8;

/// What must not be seen. Cheap to clone.
#[derive(Clone, Default)]
pub struct Mask {
    /// Longest first: a value may hold another.
    patterns: Arc<[SecretText]>,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mask").field("patterns", &self.patterns.len()).finish()
    }
}

impl Mask {
    pub fn of<'a>(values: impl IntoIterator<Item = &'a SecretText>) -> Mask {
        let mut patterns: Vec<String> = values.into_iter().flat_map(|value| forms(value.expose())).collect();
        patterns.retain(|pattern| !pattern.is_empty());
        patterns.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        patterns.dedup();
        Mask { patterns: patterns.into_iter().map(SecretText::new).collect() }
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut covered = Cow::Borrowed(text);
        for pattern in self.patterns.iter().map(SecretText::expose) {
            if covered.contains(pattern) {
                covered = Cow::Owned(covered.replace(pattern, COVER));
            }
            if let Some(length) = part_at_start(&covered, pattern) {
                covered = Cow::Owned(format!("{COVER}{}", &covered[length..]));
            }
            if let Some(length) = part_at_end(&covered, pattern) {
                covered = Cow::Owned(format!("{}{COVER}", &covered[..covered.len() - length]));
            }
        }
        covered
    }

    /// The same for every text and every name in a piece of JSON.
    pub fn value(&self, value: Value) -> Value {
        if self.patterns.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.text(&text).into_owned()),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(name, value)| (self.text(&name).into_owned(), self.value(value))).collect(),
            ),
            Value::Number(number) => self.number(number),
            plain @ (Value::Null | Value::Bool(_)) => plain,
        }
    }

    /// A value of digits may come back as a number.
    fn number(&self, number: serde_json::Number) -> Value {
        let text = number.to_string();
        match self.patterns.iter().any(|pattern| text.contains(pattern.expose())) {
            true => Value::String(self.text(&text).into_owned()),
            false => Value::Number(number),
        }
    }
}

/// How a value may stand in a text.
fn forms(value: &str) -> Vec<String> {
    let json = Value::from(value).to_string();
    let mut forms = vec![value.to_owned(), json[1..json.len() - 1].to_owned(), percent(value)];
    if value.contains('\n') {
        forms.extend(value.lines().map(str::trim).filter(|line| line.len() >= LINE_MIN_BYTES).map(str::to_owned));
    }
    forms
}

/// As a part of an address is written.
fn percent(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let write = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(write).collect()
}

fn is_worth(part: usize, pattern: &str) -> bool {
    part >= EDGE_MIN_BYTES && part * 4 >= pattern.len()
}

/// How many bytes at the start are the end of the pattern.
fn part_at_start(text: &str, pattern: &str) -> Option<usize> {
    let parts = pattern.char_indices().skip(1).map(|(at, _)| &pattern[at..]);
    parts.take_while(|part| is_worth(part.len(), pattern)).find(|part| text.starts_with(part)).map(str::len)
}

/// How many bytes at the end are the start of the pattern.
fn part_at_end(text: &str, pattern: &str) -> Option<usize> {
    let parts = pattern.char_indices().rev().map(|(at, _)| &pattern[..at]);
    parts.take_while(|part| is_worth(part.len(), pattern)).find(|part| text.ends_with(part)).map(str::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mask(values: &[&str]) -> Mask {
        let values: Vec<SecretText> = values.iter().map(|value| SecretText::new(*value)).collect();
        Mask::of(&values)
    }

    #[test]
    fn a_value_is_covered_wherever_it_stands() {
        let mask = mask(&["hunter2", "p w/\"1"]);
        assert_eq!(mask.text("a hunter2 b hunter2"), "a *** b ***");
        assert_eq!(mask.text(r#"{"k":"p w/\"1"}"#), r#"{"k":"***"}"#);
        assert_eq!(mask.text("GET /?k=p%20w%2F%221"), "GET /?k=***");
        assert_eq!(mask.text("nothing"), "nothing");
        let told = mask.value(json!({ "hunter2": ["x", "hunter2", 7, null, true] }));
        assert_eq!(told, json!({ "***": ["x", "***", 7, null, true] }));
    }

    #[test]
    fn a_value_of_several_lines_is_covered_line_by_line() {
        let mask = mask(&["-----BEGIN-----\nMIIabc\n}\n"]);
        assert_eq!(mask.text("MIIabc"), "***");
        assert_eq!(mask.text("}"), "}");
    }

    #[test]
    fn a_value_within_another_does_not_uncover_it() {
        assert_eq!(mask(&["abc", "abcdef"]).text("abcdef abc"), "*** ***");
    }

    #[test]
    fn a_large_part_at_the_edge_of_a_cut_text_is_covered() {
        let mask = mask(&["correct-horse-battery"]);
        assert_eq!(mask.text("horse-battery and more"), "*** and more");
        assert_eq!(mask.text("it is correct-horse"), "it is ***");
        assert_eq!(mask.text("battery low"), "battery low");
        assert_eq!(mask.text("that is correct"), "that is correct");
    }

    #[test]
    fn digits_that_come_back_as_a_number_are_covered() {
        assert_eq!(mask(&["48151623"]).value(json!([48151623, 5])), json!(["***", 5]));
    }
}
