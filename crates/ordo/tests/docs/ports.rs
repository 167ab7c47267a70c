//! The ports that a page names, each replaced by a free one: pages are played side by side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Ports(BTreeMap<String, String>);

const FIRST: u32 = 12_000;
const COUNT: u32 = 20_000;

/// Where a server listens when nobody says otherwise.
pub(crate) const DEFAULT: &str = "7070";

impl Ports {
    /// For every port of this machine that stands in these texts.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Ports {
        let mut ports = Ports(BTreeMap::from([(DEFAULT.to_owned(), free())]));
        for text in texts {
            for rest in text.split("127.0.0.1:").skip(1) {
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                if port.len() >= 4 {
                    ports.0.entry(port).or_insert_with(free);
                }
            }
        }
        ports
    }

    pub(crate) fn actual(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (written, actual)| replaced(&text, written, actual))
    }

    pub(crate) fn written(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (written, actual)| replaced(&text, actual, written))
    }
}

/// A number as a whole: 7070, but not 17070.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let inside = is_part(before.chars().next_back()) || is_part(after.chars().next());
        result.push_str(before);
        result.push_str(if inside { from } else { to });
        rest = after;
    }
    result + rest
}

/// Below those that the system gives to others by itself: one that is free now is free a moment later too.
fn free() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(37);
    let mut candidates = std::iter::repeat_with(|| start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)));
    let is_free = |port: &u32| std::net::TcpListener::bind(format!("127.0.0.1:{port}")).is_ok();
    candidates.by_ref().map(|number| FIRST + number % COUNT).find(is_free).unwrap().to_string()
}

#[test]
fn a_port_is_replaced_wherever_it_stands_alone() {
    let ports = Ports(BTreeMap::from([("7070".to_owned(), "41234".to_owned())]));
    assert_eq!(
        ports.actual("http://127.0.0.1:7070/x 17070 (\"127.0.0.1\", 7070)"),
        "http://127.0.0.1:41234/x 17070 (\"127.0.0.1\", 41234)"
    );
    assert_eq!(ports.written("at 127.0.0.1:41234."), "at 127.0.0.1:7070.");
}
