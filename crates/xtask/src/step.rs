//! A step of CI: it has a name, takes its time and ends in one of three ways.
//!
//! Invariant: a failed step does not hide the steps after it; every one of them is run and listed.

use std::time::{Duration, Instant};

use anyhow::Result;

pub(crate) struct CiStep {
    pub(crate) name: &'static str,
    /// Does the work; returns a note when it could not be done here.
    pub(crate) work: fn() -> Result<Option<String>>,
}

#[derive(Debug)]
pub(crate) enum StepEnd {
    Passed,
    Skipped(String),
    Failed(String),
}

#[derive(Debug)]
pub(crate) struct StepRecord {
    name: &'static str,
    took: Duration,
    end: StepEnd,
}

impl CiStep {
    pub(crate) fn run(&self) -> StepRecord {
        println!("\n=== {} ===", self.name);
        let (took, result) = timed(self.work);
        let end = match result {
            Ok(None) => StepEnd::Passed,
            Ok(Some(note)) => StepEnd::Skipped(note),
            Err(error) => StepEnd::Failed(format!("{error:#}")),
        };
        if let StepEnd::Failed(reason) = &end {
            println!("{reason}");
        }
        let record = StepRecord { name: self.name, took, end };
        println!("{}", record.line());
        record
    }
}

impl StepRecord {
    pub(crate) fn failed(&self) -> bool {
        matches!(self.end, StepEnd::Failed(_))
    }

    fn line(&self) -> String {
        let end = match &self.end {
            StepEnd::Passed => "passed".to_owned(),
            StepEnd::Skipped(note) => format!("skipped: {note}"),
            StepEnd::Failed(reason) => format!("FAILED: {}", reason.lines().next().unwrap_or_default()),
        };
        format!("{:<14}{:>8.1} s  {end}", self.name, self.took.as_secs_f64())
    }
}

pub(crate) fn table(records: &[StepRecord]) -> String {
    let total: f64 = records.iter().map(|record| record.took.as_secs_f64()).sum();
    let mut lines: Vec<String> = records.iter().map(StepRecord::line).collect();
    lines.push(format!("{:<14}{total:>8.1} s", "all"));
    lines.join("\n")
}

#[expect(clippy::disallowed_methods, reason = "a chore is timed with the real clock; nothing is decided by it")]
fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(name: &'static str, end: StepEnd) -> StepRecord {
        StepRecord { name, took: Duration::from_millis(1_250), end }
    }

    #[test]
    fn the_table_lists_every_step_with_its_seconds_and_its_end() {
        let records = [
            ended("format", StepEnd::Passed),
            ended("lint", StepEnd::Failed("cargo clippy: exit status: 101\nmore".to_owned())),
            ended("deny", StepEnd::Skipped("not installed".to_owned())),
        ];
        let expected = "\
format             1.2 s  passed
lint               1.2 s  FAILED: cargo clippy: exit status: 101
deny               1.2 s  skipped: not installed
all                3.8 s";
        assert_eq!(table(&records), expected);
    }

    #[test]
    fn only_a_failed_step_counts_as_failed() {
        assert!(ended("lint", StepEnd::Failed(String::new())).failed());
        assert!(!ended("deny", StepEnd::Skipped(String::new())).failed());
    }
}
