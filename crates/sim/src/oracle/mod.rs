//! The oracle: keeps its own account of a history and says where the world broke a promise.
//!
//! Invariant: it knows the promises, not the code. Expected times come from its own calendar; the model lends it
//! only the words in which definitions, events and reports are written.

mod books;
mod calendar;
mod client_commands;
mod evidence;
pub(crate) mod occurrences;
pub(crate) mod runs;

use std::fmt;

use crate::record::history::History;
use books::Books;

/// A promise that was broken, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub mono: i64,
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}.{:03}: {}", self.mono / 1_000, self.mono % 1_000, self.text)
    }
}

/// A rule that holds, or how it was broken.
pub(crate) type Ruling = Result<(), String>;

/// `held`, or what `otherwise` says.
pub(crate) fn require(held: bool, otherwise: impl FnOnce() -> String) -> Ruling {
    if held { Ok(()) } else { Err(otherwise()) }
}

/// All broken promises, in the order in which they show.
pub fn judge(history: &History) -> Vec<Violation> {
    let mut books = Books::new(history);
    let mut violations = Vec::new();
    for fact in &history.facts {
        for text in books.take(fact) {
            violations.push(Violation { mono: fact.mono, text });
        }
    }
    violations.extend(books.close().into_iter().map(|text| Violation { mono: history.end.mono, text }));
    violations
}
