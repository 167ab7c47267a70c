//! Questions before something that cannot be undone.
//!
//! Invariant: nobody is asked where nobody can answer: without a terminal there is no question.

use std::io::{BufRead, IsTerminal, Write};

/// Whether a person sits at both ends.
pub(crate) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks; anything but a yes is a no.
pub(crate) fn agreed(question: &str) -> bool {
    let mut out = std::io::stderr();
    if write!(out, "{question} [y/N] ").and_then(|()| out.flush()).is_err() {
        return false;
    }
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}

/// `1 job`, `3 jobs`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
