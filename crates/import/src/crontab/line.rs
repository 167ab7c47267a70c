//! One line of a crontab.

use super::format::CrontabFormat;

const TIME_FIELDS: usize = 5;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CrontabLine<'a> {
    Blank,
    /// Without its `#`.
    Comment(&'a str),
    Variable {
        name: &'a str,
        value: &'a str,
    },
    Entry(CrontabEntry<'a>),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct CrontabEntry<'a> {
    /// Five fields, or a nickname like `@daily`.
    pub(super) time: &'a str,
    pub(super) user: Option<&'a str>,
    /// As it stands, with its percent signs.
    pub(super) command: &'a str,
}

pub(super) fn read(line: &str, format: CrontabFormat) -> Result<CrontabLine<'_>, String> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(CrontabLine::Blank);
    }
    if let Some(comment) = line.strip_prefix('#') {
        return Ok(CrontabLine::Comment(comment.trim_start_matches('#').trim()));
    }
    match variable(line) {
        Some((name, value)) => Ok(CrontabLine::Variable { name, value }),
        None => entry(line, format).map(CrontabLine::Entry),
    }
}

/// `NAME = value`; nothing but spaces stands before the equals sign.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = !name.is_empty() && !name.starts_with('@') && !unquoted(name).contains(char::is_whitespace);
    is_name.then(|| (unquoted(name), unquoted(value.trim())))
}

/// One pair of quotes around the whole is not part of it.
fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

fn entry(line: &str, format: CrontabFormat) -> Result<CrontabEntry<'_>, String> {
    // A minus before the time made some crons keep quiet about it.
    let line = line.strip_prefix('-').unwrap_or(line);
    let fields = if line.starts_with('@') { 1 } else { TIME_FIELDS };
    let (time, rest) = words(line, fields).ok_or("is no entry: five fields of time and a command are expected")?;
    let (user, command) = match format {
        CrontabFormat::User => (None, rest),
        CrontabFormat::System => {
            let (user, command) = words(rest, 1).ok_or("names no user")?;
            (Some(user), command)
        }
    };
    if command.is_empty() {
        return Err("has no command".to_owned());
    }
    Ok(CrontabEntry { time, user, command })
}

/// The first so many words, and what follows them.
fn words(text: &str, count: usize) -> Option<(&str, &str)> {
    let mut rest = text;
    for _ in 0..count {
        rest = rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if end == 0 {
            return None;
        }
        rest = &rest[end..];
    }
    let first = &text[..text.len() - rest.len()];
    Some((first.trim(), rest.trim_start()))
}
