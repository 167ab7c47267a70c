//! Values as people type them. What cannot be read is refused here, with what to write instead.

use std::ffi::OsStr;
use std::str::FromStr;

use clap_complete::ArgValueCompleter;
use ordo_model::Millis;
use ordo_model::job::check_tag;
use ordo_model::strict;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::commands::about::completions::{Listed, names};

/// The names of what the daemon has, for the completions of a shell.
pub(crate) fn names_of(listed: Listed) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| names(listed, typed))
}

/// `10s`, `1h30m`, `PT5M`.
pub(crate) fn duration(text: &str) -> Result<Millis, String> {
    Millis::from_str(text).map_err(|error| match text.trim().parse::<u64>() {
        Ok(number) => format!("{number} of what? write {number}s, {number}m or {number}h"),
        Err(_) => error.to_string(),
    })
}

/// The same, and a bare number is seconds.
pub(crate) fn seconds_or_duration(text: &str) -> Result<Millis, String> {
    let bare = text.trim().parse::<u64>().ok().filter(|seconds| *seconds <= u64::from(u32::MAX));
    bare.map_or_else(|| duration(text), |seconds| Ok(Millis::from_secs(seconds)))
}

/// At least one.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "write a number from 1 up".to_owned())
}

/// JSON, or `@file` with JSON in it, or `@-` for standard input.
pub(crate) fn json(text: &str) -> Result<Value, String> {
    let read = match text.strip_prefix('@') {
        None => text.to_owned(),
        Some("-") => std::io::read_to_string(std::io::stdin()).map_err(|error| format!("standard input: {error}"))?,
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?,
    };
    serde_json::from_str(&read).map_err(|error| not_json(&error))
}

/// What is wrong with a text that should be JSON, and where.
fn not_json(error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Eof => format!("not JSON: it ends too early ({place})"),
        serde_json::error::Category::Syntax => {
            format!(
                "not JSON ({place}): names and texts stand in double quotes; for a shell put single quotes around it all"
            )
        }
        serde_json::error::Category::Data | serde_json::error::Category::Io => format!("not JSON ({place}): {error}"),
    }
}

/// One of the names that a type has.
pub(crate) fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    strict::from_value(Value::from(text)).map_err(|misread| misread.to_string())
}

/// JSON of a type; see [`json`].
pub(crate) fn typed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    strict::from_value(json(text)?).map_err(|misread| misread.to_string())
}

/// A name, or JSON where there is more to say.
pub(crate) fn name_or_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.starts_with(['{', '@']) { typed(text) } else { named(text) }
}

/// A tag of a job.
pub(crate) fn tag(text: &str) -> Result<String, String> {
    check_tag(text).map(|()| text.to_owned())
}

/// `NAME=value`.
pub(crate) fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=value")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_seconds_only_where_it_says_so() {
        assert_eq!(seconds_or_duration("60").unwrap(), Millis::from_secs(60));
        assert_eq!(seconds_or_duration("500ms").unwrap(), Millis::from_ms(500));
        assert!(duration("60").unwrap_err().contains("60s"));
        assert!(duration("soon").unwrap_err().contains("1h30m"));
    }

    #[test]
    fn broken_json_is_said_to_be_broken() {
        assert!(json("{oops").unwrap_err().contains("line 1, column 2): names and texts stand in double quotes"));
        assert!(json("{\"a\": ").unwrap_err().contains("ends too early"));
        assert!(json("@/nowhere/x.json").unwrap_err().contains("/nowhere/x.json"));
    }
}
