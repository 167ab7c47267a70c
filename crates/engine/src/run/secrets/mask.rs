//! Covers the values of secrets in what an attempt says and leaves behind.
//!
//! Invariant: a value that stands in a text as it is, by line, as JSON writes it or as an address writes it, is
//! covered; so is a large part of one at the edge of a text that was cut. A value that a tool has changed is not known.
//! Built once for an attempt; a text is read at most twice, however large the secrets are and however many lines they have.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::scanner::Scanner;
use super::text::SecretText;

const COVER: &str = "***";
/// A line of a value of several lines is covered by itself from this length on: `}` alone says nothing.
const LINE_MIN_BYTES: usize = 4;
/// Larger secrets are prepared, and larger texts covered, on a thread of their own: it takes milliseconds.
pub(crate) const ASIDE_MIN_BYTES: usize = 64 * 1024;
/// What stays as it is in a part of an address.
const ADDRESS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What an address writes in another way than it was given.
const WRITTEN: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}');

/// What must not be seen. Cheap to clone. Like the input of the attempt it is in memory for as long as the attempt.
#[derive(Clone, Default)]
pub struct Mask {
    /// None: there is nothing to cover.
    patterns: Option<Arc<Patterns>>,
}

struct Patterns {
    count: usize,
    longest: usize,
    forwards: Scanner,
    /// The patterns from their ends to their beginnings: finds the end of one at the beginning of a text.
    backwards: Scanner,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.patterns.as_ref().map_or(0, |patterns| patterns.count);
        f.debug_struct("Mask").field("patterns", &count).finish()
    }
}

impl Mask {
    pub fn of<'a>(values: impl IntoIterator<Item = &'a SecretText>) -> Mask {
        let mut forms: Vec<Vec<u8>> = values.into_iter().flat_map(|value| forms(value.expose())).collect();
        forms.retain(|form| !form.is_empty());
        forms.sort_unstable();
        forms.dedup();
        Mask { patterns: (!forms.is_empty()).then(|| Arc::new(Patterns::of(forms))) }
    }

    /// The same off the threads that serve requests, if it is much.
    pub(crate) async fn of_all(values: Vec<SecretText>) -> Mask {
        match values.iter().map(|value| value.expose().len()).sum::<usize>() < ASIDE_MIN_BYTES / 16 {
            true => Mask::of(&values),
            false => aside(move || Mask::of(&values)).await,
        }
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(patterns) = &self.patterns else { return Cow::Borrowed(text) };
        let (covers, _) = patterns.covers(text);
        if covers.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut covered, mut at) = (String::with_capacity(text.len()), 0);
        for Range { start, end } in covers {
            covered.push_str(&text[at..start]);
            covered.push_str(COVER);
            at = end;
        }
        covered.push_str(&text[at..]);
        Cow::Owned(covered)
    }

    /// The same for every text and every name in a piece of JSON.
    pub fn value(&self, value: Value) -> Value {
        if self.patterns.is_none() {
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

    /// The same off the threads that serve requests: a result may be large.
    pub(crate) async fn value_aside(&self, value: Value) -> Value {
        if self.patterns.is_none() {
            return value;
        }
        let mask = self.clone();
        aside(move || mask.value(value)).await
    }

    /// A value of digits may come back as a number.
    fn number(&self, number: serde_json::Number) -> Value {
        let text = number.to_string();
        match self.patterns.as_ref().is_some_and(|patterns| patterns.stand_in(&text)) {
            true => Value::String(self.text(&text).into_owned()),
            false => Value::Number(number),
        }
    }
}

/// Work that takes milliseconds, on a thread where nobody waits for it to be over.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

impl Patterns {
    fn of(forms: Vec<Vec<u8>>) -> Patterns {
        let forwards = Scanner::of(&forms);
        let (count, longest) = (forms.len(), forms.iter().map(Vec::len).max().unwrap_or(0));
        let turned: Vec<Vec<u8>> = forms.into_iter().map(|form| form.into_iter().rev().collect()).collect();
        Patterns { count, longest, forwards, backwards: Scanner::of(&turned) }
    }

    /// What is to be covered, in order and apart, and how many bytes were read to know. What overlaps is covered as one, so
    /// that no rest of a value is left between two.
    fn covers(&self, text: &str) -> (Vec<Range<usize>>, usize) {
        let bytes = text.as_bytes();
        let first = &bytes[..bytes.len().min(self.longest)];
        let mut covers = Vec::new();
        let at_start = self.backwards.scan(first.iter().rev().copied(), |_, _| {});
        if at_start > 0 {
            covers.push(0..at_start);
        }
        let at_end = self.forwards.scan(bytes.iter().copied(), |end, length| cover(&mut covers, end - length..end));
        if at_end > 0 {
            cover(&mut covers, bytes.len() - at_end..bytes.len());
        }
        (covers, first.len() + bytes.len())
    }

    fn stand_in(&self, text: &str) -> bool {
        let mut any = false;
        self.forwards.scan(text.bytes(), |_, _| any = true);
        any
    }
}

fn cover(covers: &mut Vec<Range<usize>>, mut new: Range<usize>) {
    while let Some(last) = covers.pop_if(|last| last.end > new.start) {
        new = last.start.min(new.start)..last.end.max(new.end);
    }
    covers.push(new);
}

/// How a value may stand in a text.
fn forms(value: &str) -> Vec<Vec<u8>> {
    let json = Value::from(value).to_string();
    let mut forms = vec![value.to_owned(), json[1..json.len() - 1].to_owned()];
    forms.push(utf8_percent_encode(value, ADDRESS).to_string());
    if value.contains('\n') {
        forms.extend(value.lines().map(str::trim).filter(|line| line.len() >= LINE_MIN_BYTES).map(str::to_owned));
    }
    forms.extend(address_parts(value));
    forms.into_iter().map(String::into_bytes).collect()
}

/// The parts of an address that is a secret as a whole: messages show it without its user, its query or its scheme. The
/// name of the host alone tells nothing.
fn address_parts(value: &str) -> Vec<String> {
    let Some((scheme, rest)) = value.trim().split_once("://") else { return Vec::new() };
    if !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
        return Vec::new();
    }
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let (path, query) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
    let values = query.split(['&', '#']).filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
    let parts = [user, password, Some(rest), Some(path), Some(query)].into_iter().flatten().chain(values);
    let masked: Vec<&str> = parts.filter(|part| part.trim_matches('/').len() >= LINE_MIN_BYTES).collect();
    let written = masked.iter().map(|part| utf8_percent_encode(part, WRITTEN).to_string());
    masked.iter().map(|part| (*part).to_owned()).chain(written).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::scanner::PART_MIN_BYTES;
    use super::*;

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
        let masked = mask.value(json!({ "hunter2": ["x", "hunter2", 7, null, true] }));
        assert_eq!(masked, json!({ "***": ["x", "***", 7, null, true] }));
    }

    #[test]
    fn an_address_that_is_a_secret_is_covered_by_its_parts() {
        let mask = mask(&["https://bot:s3cr3t@hooks.example.com/services/T0/B0 x?key=abcdef&n=1"]);
        for (said, covered) in [
            (
                "POST https://hooks.example.com/services/T0/B0%20x answered 500",
                "POST https://hooks.example.com*** answered 500",
            ),
            ("cannot reach hooks.example.com/services/T0/B0 x", "cannot reach hooks.example.com***"),
            ("key abcdef is wrong", "key *** is wrong"),
            ("user bot:s3cr3t, password s3cr3t", "user ***, password ***"),
            ("hooks.example.com is down", "hooks.example.com is down"),
        ] {
            assert_eq!(mask.text(said), covered);
        }
        let short = super::Mask::of(&[SecretText::new("https://example.com/a")]);
        assert_eq!(short.text("1/a"), "1/a", "what is too short to tell anything stays");
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

    #[test]
    fn values_that_overlap_in_a_text_are_covered_as_one() {
        assert_eq!(mask(&["abc", "bcyz"]).text("xabcyz."), "x***.");
        assert_eq!(mask(&["aba"]).text("ababa"), "***");
        assert_eq!(mask(&["hunter2"]).text("hunter2hunter2"), "******");
        assert_eq!(mask(&["schlüssel-ä", "ä€"]).text("mein schlüssel-ä€ ist da"), "mein *** ist da");
    }

    /// Which bytes of a text belong to a pattern, found by looking everywhere.
    fn looked_up(patterns: &[Vec<u8>], text: &[u8]) -> Vec<bool> {
        let mut covered = vec![false; text.len()];
        for pattern in patterns {
            for start in 0..text.len() {
                if text[start..].starts_with(pattern) {
                    covered[start..start + pattern.len()].fill(true);
                }
            }
            for part in (PART_MIN_BYTES..pattern.len()).filter(|part| part * 4 >= pattern.len() && *part <= text.len())
            {
                if text.starts_with(&pattern[pattern.len() - part..]) {
                    covered[..part].fill(true);
                }
                if text.ends_with(&pattern[..part]) {
                    covered[text.len() - part..].fill(true);
                }
            }
        }
        covered
    }

    #[test]
    fn whatever_is_found_by_looking_everywhere_is_covered_and_nothing_else() {
        let sets: [&[&str]; 4] = [
            &["ab", "ba", "bb"],
            &["abababababab", "babb"],
            &["aabbaabbaab", "bbaabb", "a"],
            &["aaaaaaaaaa", "baaaaaaaa"],
        ];
        for set in sets {
            let patterns: Vec<Vec<u8>> = set.iter().map(|pattern| pattern.as_bytes().to_vec()).collect();
            let scanners = Patterns::of(patterns.clone());
            for (length, bits) in (0..=11_u32).flat_map(|length| (0..1_u32 << length).map(move |bits| (length, bits))) {
                let text: String = (0..length).map(|at| if bits >> at & 1 == 0 { 'a' } else { 'b' }).collect();
                let mut covered = vec![false; text.len()];
                scanners.covers(&text).0.into_iter().for_each(|range| covered[range].fill(true));
                assert_eq!(covered, looked_up(&patterns, text.as_bytes()), "{set:?} in {text}");
            }
        }
    }

    /// A value of 60 KB in 1,000 lines, and a megabyte of output that holds it line by line, again and again.
    #[test]
    fn however_many_lines_a_value_has_the_output_is_read_at_most_twice() {
        let lines: Vec<String> = (0..1_000).map(|n| format!("{n:04}-{}", "k3y+".repeat(14))).collect();
        let value = lines.join("\n");
        assert!(value.len() > 60_000);
        let patterns = Patterns::of(forms(&value));
        let output: String = lines.iter().cycle().take(17_000).map(|line| format!("{line} and\n")).collect();
        assert!(output.len() > 1024 * 1024);
        let (covers, read) = patterns.covers(&output);
        assert_eq!(covers.len(), 17_000);
        assert!(read <= 2 * output.len(), "{read} bytes were read for {}", output.len());
        // Line by line, as a log has it: still no more than twice.
        let read: usize = output.lines().map(|line| patterns.covers(line).1).sum();
        assert!(read <= 2 * output.len());
    }
}
