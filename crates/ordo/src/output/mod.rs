//! What a command prints: a table or a sentence for people, JSON for programs.
//!
//! Invariant: data goes to standard output, everything else to standard error. A reader that has seen enough
//! (`| head`) ends the command quietly.

pub(crate) mod progress;
pub(crate) mod short_id;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod time;

use std::io::{ErrorKind, Write};

use serde_json::Value;

use crate::cli::Format;
use crate::error::{Error, Result};

/// One piece of data: as it came, or as people read it.
pub(crate) fn value(format: Format, data: &Value, human: impl FnOnce() -> String) -> Result<()> {
    match format {
        Format::Table => print(&human()),
        Format::Json => print(&pretty(data)),
        Format::Ndjson => print(&line(data)),
    }
}

/// A list of data.
pub(crate) fn list(format: Format, items: &[Value], human: impl FnOnce() -> String) -> Result<()> {
    match format {
        Format::Table => print(&human()),
        Format::Json => print(&pretty(&Value::Array(items.to_vec()))),
        Format::Ndjson => items.iter().try_for_each(|item| print(&line(item))),
    }
}

pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let ending = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    written(out.write_all(text.as_bytes()).and_then(|()| out.write_all(ending.as_bytes())).and_then(|()| out.flush()))
}

/// A remark beside the data.
pub(crate) fn note(text: &str) {
    // There is nowhere left to report that standard error is gone.
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn written(result: std::io::Result<()>) -> Result<()> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(Error::failed("cannot write to standard output").detail(error.to_string())),
    }
}

fn pretty(data: &Value) -> String {
    serde_json::to_string_pretty(data).unwrap_or_default()
}

pub(crate) fn line(data: &Value) -> String {
    data.to_string()
}
