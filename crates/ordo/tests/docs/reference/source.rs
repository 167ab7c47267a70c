//! What only the source has: doc comments of variants and constants, as rustfmt writes them.
//!
//! Invariant: a shape that is not understood stops the test; nothing is left out in silence.

use crate::root;

pub(super) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A variant of an enum: its name, what its doc comment says, its fields.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) fields: Vec<String>,
}

pub(super) fn variants(source: &str, name: &str) -> Vec<Variant> {
    let head = format!("pub enum {name} {{");
    let body = source.lines().skip_while(|line| *line != head).skip(1).take_while(|line| *line != "}");
    let mut found: Vec<Variant> = Vec::new();
    let mut about = Vec::new();
    for line in body {
        let (indent, text) = (line.len() - line.trim_start().len(), line.trim());
        match indent {
            4 if text.starts_with("/// ") => about.push(text[4..].to_owned()),
            4 if text.starts_with(|c: char| c.is_ascii_uppercase()) => {
                let name: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
                let inline = text.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
                let fields =
                    inline.map(|(fields, _)| fields.split(", ").filter_map(field).collect()).unwrap_or_default();
                found.push(Variant { name, about: about.join(" "), fields });
                about.clear();
            }
            8 if !text.starts_with("//") && !text.starts_with('#') => {
                let fields = &mut found.last_mut().unwrap_or_else(|| panic!("{name}: {line}")).fields;
                fields.extend(field(text));
            }
            _ => {}
        }
    }
    assert!(!found.is_empty(), "there is no enum {name}");
    found
}

fn field(text: &str) -> Option<String> {
    text.trim().split_once(':').map(|(name, _)| name.trim().to_owned())
}

/// One named limit.
#[derive(Debug)]
pub(super) struct NamedLimit {
    pub(super) section: String,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) about: String,
}

pub(super) fn limits(source: &str) -> Vec<NamedLimit> {
    let (mut section, mut about, mut found) = (String::new(), Vec::new(), Vec::new());
    for line in source.lines() {
        if let Some(title) = line.strip_prefix("// --- ") {
            section = title.trim_end_matches('-').trim().to_owned();
        } else if let Some(text) = line.strip_prefix("/// ") {
            about.push(text.to_owned());
        } else if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, rest) = rest.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            let (_, expression) = rest.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
            let value = value(name, expression.trim_end_matches(';'));
            assert!(!about.is_empty(), "{name} does not say what it limits");
            let about = std::mem::take(&mut about).join(" ");
            found.push(NamedLimit { section: section.clone(), name: name.to_owned(), value, about });
        }
    }
    found
}

fn value(name: &str, expression: &str) -> String {
    if let Some((unit, rest)) = expression.strip_prefix("Millis::from_").and_then(|rest| rest.split_once('(')) {
        let amount = grouped(number(rest.trim_end_matches(')')));
        let unit = match unit {
            "ms" => "ms",
            "secs" => "s",
            "hours" => "h",
            "days" if amount == "1" => "day",
            "days" => "days",
            other => panic!("{name}: a length in {other}"),
        };
        return format!("{amount} {unit}");
    }
    let number = number(expression);
    match name.contains("BYTES") {
        true if number.is_multiple_of(1 << 20) => format!("{} MiB", number >> 20),
        true if number.is_multiple_of(1 << 10) => format!("{} KiB", number >> 10),
        true => format!("{} bytes", grouped(number)),
        false => grouped(number),
    }
}

fn number(expression: &str) -> u64 {
    let whole = |text: &str| text.trim().replace('_', "").parse::<u64>().unwrap_or_else(|_| panic!("{expression}"));
    match expression.split_once("<<") {
        Some((one, places)) => whole(one) << whole(places),
        None => expression.split('*').map(whole).product(),
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A call `page.KIND("name", "help" | help, …)` of the page of metrics: its kind, name and help.
pub(super) fn metrics(source: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices("page.") {
        let rest = &source[at + "page.".len()..];
        let Some((kind, rest)) = rest.split_once('(') else { continue };
        let Some((name, rest)) = literal(rest).filter(|(name, _)| name.starts_with("ordo_")) else { continue };
        let rest = rest.trim_start().trim_start_matches(',').trim_start();
        let help = match literal(rest) {
            Some((help, _)) => help,
            None => {
                let before = source[..at].rsplit("let help =").next().unwrap_or_default();
                literal(before).unwrap_or_else(|| panic!("{name} has no help")).0
            }
        };
        let kind = match kind {
            "counter" | "counters" => "counter",
            "gauge" | "gauges" | "about" => "gauge",
            "histogram" => "histogram",
            other => panic!("{name} is a {other}"),
        };
        found.push((name, kind.to_owned(), help));
    }
    found
}

/// The text of a literal that begins here, and what follows it.
fn literal(source: &str) -> Option<(String, &str)> {
    let rest = source.trim_start().strip_prefix('"')?;
    let end = rest.find('"')?;
    let text = rest[..end].split("\\\n").map(str::trim_start).collect::<Vec<_>>().join("");
    Some((text, &rest[end + 1..]))
}

#[test]
fn the_source_is_read_as_it_is_written() {
    let source = "pub enum E {\n    /// One\n    /// two.\n    First {\n        /// inner\n        #[serde(default)]\n        id: u8,\n    },\n    Second { a: u8, b: u8 },\n}\n";
    let found = variants(source, "E");
    let variant = |name: &str, about: &str, fields: &[&str]| Variant {
        name: name.to_owned(),
        about: about.to_owned(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    };
    assert_eq!(found, [variant("First", "One two.", &["id"]), variant("Second", "", &["a", "b"])]);
    assert_eq!(value("X_BYTES", "256 * 1024"), "256 KiB");
    assert_eq!(value("X", "1 << 53"), "9,007,199,254,740,992");
    assert_eq!(value("X", "Millis::from_days(3_660)"), "3,660 days");
    let page = "let help = \"long\";\n page.gauge(\n  \"ordo_a\", help, 1);\npage.counters(\"ordo_b\", \"short\", x)";
    let metric = |name: &str, kind: &str, help: &str| (name.to_owned(), kind.to_owned(), help.to_owned());
    assert_eq!(metrics(page), [metric("ordo_a", "gauge", "long"), metric("ordo_b", "counter", "short")]);
}
