//! What the jobs themselves wrote down, outside the system: one line when an attempt began, one when it was done.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::lab::clock::parse_rfc3339;

/// A run and the number of its attempt.
pub(super) type AttemptKey = (String, u32);

#[derive(Debug, Clone)]
pub(super) struct Execution {
    pub(super) job: String,
    pub(super) fence: u64,
    /// None when a person asked for it.
    pub(super) scheduled_for: Option<i64>,
    pub(super) began: i64,
    pub(super) ended: Option<i64>,
    /// Which line of the file it began with.
    pub(super) line: usize,
}

#[derive(Debug, Default)]
pub(super) struct EvidenceFile {
    pub(super) executions: BTreeMap<AttemptKey, Execution>,
    /// Lines that no correct system leads to.
    pub(super) oddities: Vec<String>,
}

impl EvidenceFile {
    pub(super) fn read(path: &Path) -> Result<EvidenceFile> {
        match path.exists() {
            true => Ok(EvidenceFile::parse(&std::fs::read_to_string(path).context("reading the evidence")?)),
            false => Ok(EvidenceFile::default()),
        }
    }

    pub(super) fn parse(text: &str) -> EvidenceFile {
        let mut file = EvidenceFile::default();
        for (number, line) in text.lines().enumerate() {
            if let Err(oddity) = file.take(number, line) {
                file.oddities.push(format!("{oddity}: {line}"));
            }
        }
        file
    }

    fn take(&mut self, number: usize, line: &str) -> Result<(), &'static str> {
        let words: Vec<&str> = line.split(' ').collect();
        let [word, job, run, attempt, fence, scheduled_for, at] = words.as_slice() else { return Err("a torn line") };
        let key = ((*run).to_owned(), attempt.parse().map_err(|_| "not an attempt")?);
        let fence = fence.parse().map_err(|_| "not a fence")?;
        let at = at.parse().map_err(|_| "not a time")?;
        match (*word, self.executions.get_mut(&key)) {
            ("begin", None) => {
                let scheduled_for = parse_rfc3339(scheduled_for);
                let began =
                    Execution { job: (*job).to_owned(), fence, scheduled_for, began: at, ended: None, line: number };
                self.executions.insert(key, began);
                Ok(())
            }
            ("begin", Some(_)) => Err("an attempt was begun twice"),
            ("end", Some(execution)) if execution.ended.is_none() && execution.fence == fence => {
                execution.ended = Some(at);
                Ok(())
            }
            ("end", Some(_)) => Err("an attempt was done twice, or under another fence"),
            ("end", None) => Err("an attempt was done that never began"),
            _ => Err("a torn line"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "begin j r 1 7 2026-11-18T00:49:43.508Z 1794962983510";

    #[test]
    fn an_attempt_has_a_beginning_and_perhaps_an_end() {
        let file = EvidenceFile::parse(&format!(
            "{BEGIN}\nbegin j s 1 9 - 5\nend j r 1 7 2026-11-18T00:49:43.508Z 1794962983600\n"
        ));
        assert_eq!(file.oddities, Vec::<String>::new());
        let first = &file.executions[&("r".to_owned(), 1)];
        assert_eq!(
            (first.began, first.ended, first.scheduled_for),
            (1_794_962_983_510, Some(1_794_962_983_600), Some(1_794_962_983_508))
        );
        assert_eq!(file.executions[&("s".to_owned(), 1)].scheduled_for, None);
    }

    #[test]
    fn what_no_correct_system_leads_to_is_found() {
        for (text, said) in [
            (format!("{BEGIN}\n{BEGIN}"), "begun twice"),
            (format!("{BEGIN}\nend j r 1 8 - 9"), "under another fence"),
            ("end j r 1 7 - 9".to_owned(), "never began"),
            ("begin j r".to_owned(), "torn"),
        ] {
            let file = EvidenceFile::parse(&text);
            assert!(file.oddities.len() == 1 && file.oddities[0].contains(said), "{text}: {:?}", file.oddities);
        }
    }
}
