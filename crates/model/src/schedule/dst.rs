//! A cron pattern in a zone: which instants its wall-clock times become.
//!
//! Each segment of the zone owns a range of wall-clock times, and the policy only moves the borders of that range: a
//! repeated hour belongs to the segment before the change (`first`), after it (`last`) or to both. A skipped hour
//! belongs to none; with `shift` a match inside it becomes one occurrence at the change itself.
//! Invariant: instants are strictly increasing, and searching forwards or backwards finds the same ones.

use super::cron::CronPattern;
use super::zone::{OffsetSegment, Zone};
use super::{Dst, Repeated, Skipped};

/// More than any zone is away from UTC, in seconds.
const OFFSET_MAX: i64 = 26 * 3_600;

#[derive(Debug, Clone)]
pub(super) struct CronBeat {
    pub(super) pattern: CronPattern,
    pub(super) zone: Zone,
    pub(super) dst: Dst,
}

impl CronBeat {
    pub(super) fn at_or_after(&self, second: i64) -> Option<i64> {
        let mut second = second;
        loop {
            let segment = self.zone.segment(second);
            if second == segment.start && self.shifts_into(&segment) {
                return Some(second);
            }
            let (first, end) = self.walls(&segment);
            let from = segment.wall(second).max(first);
            let found = self.pattern.at_or_after(from);
            if let Some(wall) = found.filter(|wall| *wall < end) {
                return Some(wall - segment.offset);
            }
            second = next_segment(&segment, from, found)?;
        }
    }

    /// The last one at or before the instant, down to 1970.
    pub(super) fn at_or_before(&self, second: i64) -> Option<i64> {
        let mut second = second;
        loop {
            let segment = self.zone.segment(second);
            let (first, end) = self.walls(&segment);
            let until = segment.wall(second).min(end - 1);
            let found = self.pattern.at_or_before(until).filter(|wall| *wall >= first);
            if let Some(wall) = found {
                return Some(wall - segment.offset);
            }
            if self.shifts_into(&segment) {
                return Some(segment.start);
            }
            if segment.start <= 0 {
                return None;
            }
            second = segment.start - 1;
        }
    }

    /// Whether the instant stands for skipped times only, and shows none of the pattern's own.
    pub(super) fn is_shifted(&self, second: i64, segment: &OffsetSegment) -> bool {
        second == segment.start && self.shifts_into(segment) && !self.pattern.matches(segment.wall(second))
    }

    /// The wall-clock times, from and up to, at which the pattern counts in this segment.
    fn walls(&self, segment: &OffsetSegment) -> (i64, i64) {
        let (first, end) = (segment.wall(segment.start), segment.wall(segment.end));
        crate::planted!(DstDoubled, return (first, end));
        if self.pattern.is_interval {
            return (first, end);
        }
        match self.dst.repeated {
            Repeated::First => (first.max(segment.start + segment.before), end),
            Repeated::Last => (first, end.min(segment.end + segment.after)),
            Repeated::Both => (first, end),
        }
    }

    /// Whether the pattern has a match among the times skipped at the start of the segment, and is to run then.
    fn shifts_into(&self, segment: &OffsetSegment) -> bool {
        let shifts = match self.dst.skipped {
            Skipped::Shift => segment.starts_with_a_gap() && !self.pattern.is_interval,
            Skipped::Skip => false,
        };
        shifts
            && self
                .pattern
                .at_or_after(segment.start + segment.before)
                .is_some_and(|wall| wall < segment.wall(segment.start))
    }
}

/// Where to go on when the segment has nothing more: its end, or, for a rare pattern, shortly before its next match.
fn next_segment(segment: &OffsetSegment, from: i64, found: Option<i64>) -> Option<i64> {
    if segment.is_last() {
        return None;
    }
    let repeats_what_is_behind = from > segment.end + segment.after;
    if repeats_what_is_behind {
        return Some(segment.end);
    }
    found.map(|wall| segment.end.max(wall - OFFSET_MAX))
}
