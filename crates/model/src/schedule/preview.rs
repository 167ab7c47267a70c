//! The next occurrences as a person sees them: local time, and what a change of the clock does to each.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::compiled::{Beat, Compiled};
use super::dst::CronBeat;
use super::zone::{DAY_SECS, OffsetSegment};
use super::{Occurrence, Schedule};
use crate::limits::PREVIEW_MAX;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PreviewedOccurrence))]
pub struct PreviewedOccurrence {
    #[serde(flatten)]
    pub occurrence: Occurrence,
    /// The nominal time in the schedule's zone: `2026-03-29T03:00:00+02:00[Europe/Berlin]`.
    pub local: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<DstNote>,
}

/// What a change of the clock means for one occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DstNote {
    /// Its own time is skipped on this day: it runs when the clock jumps.
    Shifted,
    /// Its time comes twice on this day; this is the first.
    RepeatedFirst,
    /// Its time comes twice on this day; this is the second.
    RepeatedLast,
    /// The clock changes on this day, at another time.
    ClockChanges,
}

impl fmt::Display for DstNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DstNote::Shifted => "its time is skipped on this day; runs when the clock jumps forward",
            DstNote::RepeatedFirst => "its time comes twice on this day; this is the first",
            DstNote::RepeatedLast => "its time comes twice on this day; this is the second",
            DstNote::ClockChanges => "the clock changes on this day",
        })
    }
}

/// The first `n` that are due after the moment. As everywhere, occurrences are taken in nominal order: one that jitter
/// made due before its predecessor comes with it.
pub(super) fn preview(schedule: &Schedule, after: Timestamp, n: usize, job: Uuid) -> Vec<PreviewedOccurrence> {
    let Ok(compiled) = schedule.compile() else { return Vec::new() };
    let found = compiled.due_after(after, job).take(n.min(PREVIEW_MAX));
    found.map(|occurrence| compiled.explain(occurrence)).collect()
}

impl Compiled {
    fn explain(&self, occurrence: Occurrence) -> PreviewedOccurrence {
        let second = occurrence.nominal.ms().div_euclid(1_000);
        match &self.beat {
            Beat::Cron(cron) => {
                PreviewedOccurrence { occurrence, local: cron.zone.shown(second), note: cron.note(second) }
            }
            Beat::At(_) | Beat::Every(_) => {
                PreviewedOccurrence { occurrence, local: occurrence.nominal.to_string(), note: None }
            }
        }
    }
}

impl CronBeat {
    fn note(&self, second: i64) -> Option<DstNote> {
        let segment = self.zone.segment(second);
        let wall = segment.wall(second);
        if self.is_shifted(second, &segment) {
            Some(DstNote::Shifted)
        } else if wall < segment.start + segment.before {
            Some(DstNote::RepeatedLast)
        } else if wall >= segment.end + segment.after {
            Some(DstNote::RepeatedFirst)
        } else {
            changes_on_the_day_of(wall, &segment).then_some(DstNote::ClockChanges)
        }
    }
}

fn changes_on_the_day_of(wall: i64, segment: &OffsetSegment) -> bool {
    let same_day = |other: i64| wall.div_euclid(DAY_SECS) == other.div_euclid(DAY_SECS);
    let at_the_start = segment.before != segment.offset && same_day(segment.wall(segment.start));
    let at_the_end = segment.after != segment.offset && same_day(segment.wall(segment.end) - 1);
    at_the_start || at_the_end
}
