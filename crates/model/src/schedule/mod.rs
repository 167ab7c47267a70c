//! When a job is due: the nominal times of a schedule.
//!
//! Invariant: occurrences are a pure function of the schedule and the job's id. They are computed from the nominal
//! time of the one before, never from when it ran, so a schedule does not drift.

mod compiled;
mod cron;
mod describe;
mod describe_day;
mod dst;
mod due;
mod every;
mod exclude;
mod jitter;
mod preview;
mod validate;
mod window;
mod words;
mod zone;

pub use compiled::Compiled;
pub use exclude::{DatesExclusion, Exclusion, LocalDate, RangeExclusion, TimeOfDay, Weekday, WeeklyExclusion};
pub use preview::{DstNote, PreviewedOccurrence};

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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Dst {
    #[serde(default)]
    pub skipped: Skipped,
    #[serde(default)]
    pub repeated: Repeated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// Run at the moment of the shift.
    #[default]
    Shift,
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Repeated {
    #[default]
    First,
    Last,
    Both,
}

/// One nominal time of a job, and when it is due (later than `nominal` only by jitter).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Occurrence {
    pub nominal: Timestamp,
    pub due: Timestamp,
}

/// Occurrences nobody ran, as one record: the first, the last and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

impl Rule {
    /// The zone in which the rule's wall-clock times are read.
    pub fn zone(&self) -> &str {
        match self {
            Rule::At { .. } | Rule::Every { .. } => "UTC",
            Rule::Cron { timezone, .. } => timezone,
        }
    }
}

/// A schedule that does not pass [`Schedule::validate`] has no occurrences.
impl Schedule {
    /// `every` counts from its start; without one, from the moment the job is created.
    pub fn awaits_anchor(&self) -> bool {
        matches!(self.rule, Rule::Every { .. }) && self.start.is_none()
    }

    /// Gives it its start, if it is to count from now. Returns whether it was.
    pub(crate) fn anchor(&mut self, now: Timestamp) -> bool {
        let Rule::Every { every } = self.rule else { return false };
        let awaits_anchor = self.awaits_anchor();
        self.start.get_or_insert_with(|| now.plus(every));
        awaits_anchor
    }

    /// Checks everything that can be wrong with a schedule, before it is stored.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        validate::validate(self)
    }

    /// The schedule parsed once, for many questions.
    pub fn compile(&self) -> Result<Compiled, ScheduleError> {
        Compiled::new(self)
    }

    /// The first occurrence with a nominal time at or after `from`.
    pub fn first_at_or_after(&self, from: Timestamp, job: Uuid) -> Option<Occurrence> {
        self.compile().ok()?.first_at_or_after(from, job)
    }

    /// The occurrence that follows the nominal time `nominal`.
    pub fn next_after(&self, nominal: Timestamp, job: Uuid) -> Option<Occurrence> {
        self.compile().ok()?.next_after(nominal, job)
    }

    /// All that is due at `now`, starting with the occurrence `first`: the newest `keep` one by one, those before as a
    /// gap. Occurrences are taken in nominal order: one that jitter made due before its predecessor waits for it.
    pub fn due(&self, first: Occurrence, now: Timestamp, keep: usize, job: Uuid) -> Due {
        match self.compile() {
            Ok(compiled) => compiled.due(first, now, keep, job),
            // Validated, then stored, then made invalid by a newer zone database: what was promised is still given.
            Err(_) if first.due <= now => Due { older: None, newest: vec![first], next: None },
            Err(_) => Due { older: None, newest: Vec::new(), next: Some(first) },
        }
    }

    /// The occurrences with a nominal time in `from..to`, at most `limit`.
    pub fn between(&self, from: Timestamp, to: Timestamp, limit: usize, job: Uuid) -> Vec<Occurrence> {
        self.compile().map_or(Vec::new(), |compiled| compiled.between(from, to, limit, job))
    }

    /// The first `n` occurrences due after the moment, at most [`crate::limits::PREVIEW_MAX`], as a person sees them.
    pub fn preview(&self, after: Timestamp, n: usize, job: Uuid) -> Vec<PreviewedOccurrence> {
        preview::preview(self, after, n, job)
    }

    /// The schedule as a sentence for people.
    pub fn describe(&self) -> String {
        describe::describe(self)
    }
}

fn yes() -> bool {
    true
}

fn is_true(exact: &bool) -> bool {
    *exact
}
