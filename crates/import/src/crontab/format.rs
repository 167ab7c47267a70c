//! Two formats: in a system crontab the sixth field names the user a command runs as.

use std::collections::BTreeSet;

use super::line::{self, CrontabLine};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrontabFormat {
    /// What `crontab -l` prints.
    User,
    /// /etc/crontab and the files in /etc/cron.d.
    System,
}

/// It is a system crontab if every entry has a known user in its sixth field and a command behind it.
pub fn detect(text: &str, users: &BTreeSet<String>) -> CrontabFormat {
    let entries = text.lines().filter_map(|line| match line::read(line, CrontabFormat::System) {
        Ok(CrontabLine::Entry(entry)) => Some(entry.user.is_some_and(|user| users.contains(user))),
        Ok(CrontabLine::Blank | CrontabLine::Comment(_) | CrontabLine::Variable { .. }) => None,
        // An entry of one word behind its time is no line of a system crontab.
        Err(_) => Some(false),
    });
    let found: Vec<bool> = entries.collect();
    if !found.is_empty() && found.iter().all(|named| *named) { CrontabFormat::System } else { CrontabFormat::User }
}
