//! Asks a person before something that cannot be undone. Programs are not asked: they meant it.

use std::io::{BufRead, IsTerminal, Write};

use crate::cli::RemovalArgs;
use crate::error::{Error, Result};

/// Whether somebody sits there who can answer.
pub(crate) fn is_asked() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks before something is removed, where somebody can answer and did not say `--yes`.
pub(crate) fn removal<T: clap::Args>(args: &RemovalArgs<T>, question: &str) -> Result<()> {
    if args.yes || !is_asked() { Ok(()) } else { or_leave(question) }
}

/// Goes on after a yes; anything else ends the command, with nothing changed.
pub(crate) fn or_leave(question: &str) -> Result<()> {
    let unread = |error: std::io::Error| Error::failed(format!("cannot read the answer: {error}"));
    let mut err = std::io::stderr().lock();
    write!(err, "{question} [y/N] ").and_then(|()| err.flush()).map_err(unread)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(unread)?;
    match is_yes(&answer) {
        true => Ok(()),
        false => Err(Error::failed("nothing was changed").hint("answer y, or use --yes")),
    }
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        assert!(is_yes("y\n") && is_yes("Yes\r\n"));
        assert!(!is_yes("\n") && !is_yes("") && !is_yes("no\n") && !is_yes("yep\n"));
    }
}
