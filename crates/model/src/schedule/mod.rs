//! When a job is due: the nominal times of a schedule.
//!
//! Invariant: occurrences are a pure function of the schedule and the job's id. They are computed from the nominal
//! time of the one before, never from when it ran, so a schedule does not drift.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::{Millis, Timestamp};

/// When a job runs by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub rule: Rule,
    /// No occurrence before this.
    pub start: Option<Timestamp>,
    /// No occurrence at or after this.
    pub end: Option<Timestamp>,
    /// Each occurrence is due up to this much after its nominal time, always by the same amount for the same job and time.
    pub jitter: Option<Millis>,
    /// Nominal times inside one of these are not occurrences.
    pub exclude: Vec<Exclusion>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    At {
        at: Timestamp,
    },
    /// `start`, `start + every`, `start + 2 every` …; a schedule without `start` is given one when the job is created.
    Every {
        every: Millis,
    },
    Cron {
        expr: String,
        timezone: String,
        dst: Dst,
    },
}

/// What happens to a wall-clock time that the zone's clock change skips or repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dst {
    #[serde(default)]
    pub skipped: Skipped,
    #[serde(default)]
    pub repeated: Repeated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// Run at the moment of the shift.
    #[default]
    Shift,
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeated {
    #[default]
    First,
    Last,
    Both,
}

/// A window in which nothing is due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Exclusion {
    /// From one instant to another (the latter not included).
    Range(RangeExclusion),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeExclusion {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// One nominal time of a job, and when it is due (later than `nominal` only by jitter).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Occurrence {
    pub nominal: Timestamp,
    pub due: Timestamp,
}

/// Occurrences nobody ran, as one record: the first, the last and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub from: Timestamp,
    pub to: Timestamp,
    pub count: u64,
    /// False when `count` is a lower bound (a gap too long to count one by one).
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub exact: bool,
}

/// What is due at some moment: see [`Schedule::due`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Due {
    /// Those before `newest`, if there are more than were asked for.
    pub older: Option<Gap>,
    /// The last ones, oldest first.
    pub newest: Vec<Occurrence>,
    /// The first that is not yet due.
    pub next: Option<Occurrence>,
}

/// Why a schedule is refused: the field and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ScheduleError {
    pub field: &'static str,
    pub message: String,
}

impl Schedule {
    /// Checks everything that can be wrong with a schedule, before it is stored.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        Ok(())
    }

    /// The first occurrence at or after `from`.
    pub fn first_at_or_after(&self, from: Timestamp, job: Uuid) -> Option<Occurrence> {
        let _ = job;
        match &self.rule {
            Rule::At { at } => (*at >= from).then_some(Occurrence { nominal: *at, due: *at }),
            Rule::Every { .. } | Rule::Cron { .. } => None,
        }
    }

    /// The occurrence that follows the nominal time `nominal`.
    pub fn next_after(&self, nominal: Timestamp, job: Uuid) -> Option<Occurrence> {
        self.first_at_or_after(nominal.checked_add(Millis::from_ms(1))?, job)
    }

    /// All that is due at `now`, starting with the occurrence `first`: the newest `keep` one by one, those before as a gap.
    pub fn due(&self, first: Occurrence, now: Timestamp, keep: usize, job: Uuid) -> Due {
        let _ = (now, keep, job);
        Due { older: None, newest: vec![first], next: None }
    }

    /// The occurrences with a nominal time in `from..to`, at most `limit`.
    pub fn between(&self, from: Timestamp, to: Timestamp, limit: usize, job: Uuid) -> Vec<Occurrence> {
        let mut found = Vec::new();
        let mut next = self.first_at_or_after(from, job);
        while let Some(occurrence) = next
            && occurrence.nominal < to
            && found.len() < limit
        {
            found.push(occurrence);
            next = self.next_after(occurrence.nominal, job);
        }
        found
    }

    /// The schedule as a sentence for people.
    pub fn describe(&self) -> String {
        String::new()
    }
}

fn yes() -> bool {
    true
}

fn is_true(exact: &bool) -> bool {
    *exact
}
