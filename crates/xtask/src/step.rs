//! A step of CI: it has a name, takes its time and ends in one of three ways.
//!
//! Invariant: a failed step does not hide the steps after it; every one of them is run and listed. Its time is what a clock on the
//! wall says, and what the processors worked for it: the first depends on what else the machine does, the second hardly.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

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
    took: StepTime,
    end: StepEnd,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepTime {
    wall: Duration,
    /// Of this process and of those it waited for, and they; not of what went on without anybody waiting for it.
    cpu: Duration,
}

impl std::fmt::Display for StepTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>8.1} s {:>8.1} s of CPU", self.wall.as_secs_f64(), self.cpu.as_secs_f64())
    }
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
    /// One that could not even begin, or did not say how it ended.
    pub(crate) fn not_run(name: &'static str, error: &anyhow::Error) -> StepRecord {
        StepRecord { name, took: StepTime::default(), end: StepEnd::Failed(format!("{error:#}")) }
    }

    /// For the process that listens.
    pub(crate) fn to_json(&self) -> String {
        let (end, said) = match &self.end {
            StepEnd::Passed => ("passed", ""),
            StepEnd::Skipped(note) => ("skipped", note.as_str()),
            StepEnd::Failed(reason) => ("failed", reason.as_str()),
        };
        let ms = |took: Duration| u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        json!({ "wall_ms": ms(self.took.wall), "cpu_ms": ms(self.took.cpu), "end": end, "said": said }).to_string()
    }

    pub(crate) fn from_json(name: &'static str, json: &str) -> Result<StepRecord> {
        let record: Value = serde_json::from_str(json).context("reading how a step ended")?;
        let time =
            |field: &str| record[field].as_u64().map(Duration::from_millis).with_context(|| format!("no {field}"));
        let said = record["said"].as_str().unwrap_or_default().to_owned();
        let end = match record["end"].as_str() {
            Some("passed") => StepEnd::Passed,
            Some("skipped") => StepEnd::Skipped(said),
            Some("failed") => StepEnd::Failed(said),
            _ => bail!("a step that ended in no way: {json}"),
        };
        Ok(StepRecord { name, took: StepTime { wall: time("wall_ms")?, cpu: time("cpu_ms")? }, end })
    }

    pub(crate) fn failed(&self) -> bool {
        matches!(self.end, StepEnd::Failed(_))
    }

    fn line(&self) -> String {
        let end = match &self.end {
            StepEnd::Passed => "passed".to_owned(),
            StepEnd::Skipped(note) => format!("skipped: {note}"),
            StepEnd::Failed(reason) => format!("FAILED: {}", reason.lines().next().unwrap_or_default()),
        };
        format!("{:<14}{}  {end}", self.name, self.took)
    }
}

/// `took`: all of it together; steps that stand beside each other take less than their sum.
pub(crate) fn table(records: &[StepRecord], took: StepTime) -> String {
    let mut lines: Vec<String> = records.iter().map(StepRecord::line).collect();
    lines.push(format!("{:<14}{took}", "all"));
    lines.join("\n")
}

#[expect(clippy::disallowed_methods, reason = "a chore is timed with the real clock; nothing is decided by it")]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (StepTime, T) {
    let (start, before) = (Instant::now(), cpu_so_far());
    let result = work();
    (StepTime { wall: start.elapsed(), cpu: cpu_so_far().saturating_sub(before) }, result)
}

/// Where the kernel does not say it in this way: nothing.
fn cpu_so_far() -> Duration {
    std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| cpu_of(&stat)).unwrap_or_default()
}

/// The kernel counts in these for its users, whatever it counts in itself.
const TICKS_PER_SECOND: u64 = 100;

/// From the line of a process in `/proc`: its own time and that of those it waited for, in user space and in the kernel.
fn cpu_of(stat: &str) -> Option<Duration> {
    // The name of the program stands in brackets and may hold anything.
    let behind_name = stat.rsplit_once(')')?.1;
    let ticks: Vec<u64> = behind_name.split_whitespace().skip(11).take(4).map_while(|text| text.parse().ok()).collect();
    (ticks.len() == 4).then(|| Duration::from_millis(ticks.iter().sum::<u64>() * 1_000 / TICKS_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(name: &'static str, end: StepEnd) -> StepRecord {
        let took = StepTime { wall: Duration::from_millis(1_250), cpu: Duration::from_millis(2_500) };
        StepRecord { name, took, end }
    }

    #[test]
    fn the_table_lists_every_step_with_its_times_and_its_end() {
        let records = [
            ended("format", StepEnd::Passed),
            ended("lint", StepEnd::Failed("cargo clippy: exit status: 101\nmore".to_owned())),
            ended("deny", StepEnd::Skipped("not installed".to_owned())),
        ];
        let expected = "\
format             1.2 s      2.5 s of CPU  passed
lint               1.2 s      2.5 s of CPU  FAILED: cargo clippy: exit status: 101
deny               1.2 s      2.5 s of CPU  skipped: not installed
all                3.0 s      7.5 s of CPU";
        let took = StepTime { wall: Duration::from_secs(3), cpu: Duration::from_millis(7_500) };
        assert_eq!(table(&records, took), expected);
    }

    #[test]
    fn the_time_of_the_processors_is_that_of_the_process_and_of_those_it_waited_for() {
        let stat = "77 (a) b) S 1 77 77 0 -1 4194560 100 200 0 0 150 50 1000 300 20 0 1 0 5 6 7";
        assert_eq!(cpu_of(stat), Some(Duration::from_secs(15)));
        assert_eq!(cpu_of("77 (cut) S 1"), None);
    }

    #[test]
    fn a_record_that_another_process_wrote_down_is_the_same() {
        for end in [StepEnd::Passed, StepEnd::Skipped("no java".into()), StepEnd::Failed("odd\nmore".into())] {
            let record = ended("sdk", end);
            assert_eq!(StepRecord::from_json("sdk", &record.to_json()).unwrap().line(), record.line());
        }
        assert!(StepRecord::from_json("sdk", "{}").is_err());
        assert!(StepRecord::from_json("sdk", "").is_err());
    }

    #[test]
    fn only_a_failed_step_counts_as_failed() {
        assert!(ended("lint", StepEnd::Failed(String::new())).failed());
        assert!(!ended("deny", StepEnd::Skipped(String::new())).failed());
    }
}
