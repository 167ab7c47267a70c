//! A crontab, line by line: variables count from their line on, comments belong to the line below them.
//!
//! Invariant: a job does what cron did with its line. Where Ordo has no such thing, the draft carries a warning.

mod entry;
mod format;
mod label;
mod line;
mod percent;
mod settings;

use super::draft::{Imported, Refused};
use label::UniqueLabels;
use line::CrontabLine;
use settings::CrontabSettings;

pub use format::{CrontabFormat, Detected, Machine, detect};

/// What a crontab does not say about itself.
#[derive(Debug, Clone)]
pub struct CrontabOrigin {
    pub format: CrontabFormat,
    /// Under which labels begin, so that a later import finds its jobs again.
    pub name: String,
    /// The zone of times where no CRON_TZ is set: that of the machine.
    pub zone: String,
    /// Where commands run; cron uses the home of the user.
    pub cwd: Option<String>,
}

pub fn read(text: &str, origin: &CrontabOrigin) -> Imported {
    let mut reading = Imported::default();
    let (mut settings, mut labels) = (CrontabSettings::default(), UniqueLabels::new(&origin.name));
    let mut comment: Vec<&str> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        match line::read(line, origin.format) {
            Ok(CrontabLine::Comment(text)) => {
                comment.push(text);
                continue;
            }
            Ok(CrontabLine::Blank) => {}
            Ok(CrontabLine::Variable { name, value }) => settings.set(name, value),
            Ok(CrontabLine::Entry(entry)) => {
                let label = labels.next(entry.user, entry.command);
                reading.drafts.push(entry::draft(number, label, &entry, &comment, &settings, origin));
            }
            Err(why) => reading.refused.push(Refused { place: place(number), why }),
        }
        comment.clear();
    }
    reading.notes.extend(settings.notes());
    reading
}

fn place(number: usize) -> String {
    format!("line {number}")
}

#[cfg(test)]
mod tests;
