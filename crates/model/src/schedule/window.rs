//! Exclusions as they are asked: is this instant excluded, and until when does that stay so.
//!
//! Invariant: a span answers for all of its instants at once, so a search jumps from border to border and never steps
//! through a window. A span may be shorter than its window (it ends with the local day and with a change of the clock).

use super::exclude::{DatesExclusion, Exclusion, Weekday, WeeklyExclusion};
use super::zone::{DAY_SECS, Zone};

#[derive(Debug, Clone)]
pub(super) enum Window {
    Range { from: i64, to: i64 },
    Weekly { days: [bool; 7], from: i64, to: i64, zone: Zone },
    Dates { days: Vec<i64>, zone: Zone },
}

/// `from..to` in milliseconds, all excluded or all free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExclusionSpan {
    pub(super) excluded: bool,
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Window {
    /// The window of an exclusion in a schedule of the zone `zone`, or why there is none.
    pub(super) fn compile(exclusion: &Exclusion, zone: &str) -> Result<Window, String> {
        match exclusion {
            Exclusion::Range(range) => Ok(Window::Range { from: range.from.ms(), to: range.to.ms() }),
            Exclusion::Weekly(weekly) => Window::weekly(weekly, zone),
            Exclusion::Dates(DatesExclusion { dates, timezone }) => {
                let mut days: Vec<i64> = dates.iter().map(|date| date.day_number()).collect();
                days.sort_unstable();
                Ok(Window::Dates { days, zone: Zone::get(timezone.as_deref().unwrap_or(zone))? })
            }
        }
    }

    fn weekly(weekly: &WeeklyExclusion, zone: &str) -> Result<Window, String> {
        let days = match &weekly.days {
            None => [true; 7],
            Some(days) => Weekday::ALL.map(|day| days.contains(&day)),
        };
        Ok(Window::Weekly {
            days,
            from: weekly.from.map_or(0, |from| i64::from(from.seconds())),
            to: weekly.to.map_or(DAY_SECS, |to| i64::from(to.seconds())),
            zone: Zone::get(weekly.timezone.as_deref().unwrap_or(zone))?,
        })
    }

    pub(super) fn span(&self, ms: i64) -> ExclusionSpan {
        match self {
            Window::Range { from, to } => range_span(*from, *to, ms),
            Window::Weekly { days, from, to, zone } => {
                local_span(zone, ms, &[*from, *to], |day, second| is_in_week(days, *from, *to, day, second))
            }
            Window::Dates { days, zone } => local_span(zone, ms, &[], |day, _| days.binary_search(&day).is_ok()),
        }
    }
}

/// What all windows together say about an instant.
pub(super) fn span_of(windows: &[Window], ms: i64) -> ExclusionSpan {
    let mut free = ExclusionSpan { excluded: false, from: i64::MIN, to: i64::MAX };
    for window in windows {
        let span = window.span(ms);
        if span.excluded {
            return span;
        }
        free.from = free.from.max(span.from);
        free.to = free.to.min(span.to);
    }
    free
}

fn range_span(from: i64, to: i64, ms: i64) -> ExclusionSpan {
    if ms < from {
        ExclusionSpan { excluded: false, from: i64::MIN, to: from }
    } else if ms < to {
        ExclusionSpan { excluded: true, from, to }
    } else {
        ExclusionSpan { excluded: false, from: to, to: i64::MAX }
    }
}

fn is_in_week(days: &[bool; 7], from: i64, to: i64, day: i64, second: i64) -> bool {
    if from < to {
        return on(days, day) && (from..to).contains(&second);
    }
    (on(days, day) && second >= from) || (on(days, day - 1) && second < to)
}

/// Day 0, the first of 1970, was a Thursday.
fn on(days: &[bool; 7], day: i64) -> bool {
    usize::try_from((day + 3).rem_euclid(7)).is_ok_and(|weekday| days[weekday])
}

/// The part of the local day around `ms` between two cuts, as long as the clock does not change.
fn local_span(zone: &Zone, ms: i64, cuts: &[i64], excluded: impl Fn(i64, i64) -> bool) -> ExclusionSpan {
    let instant = ms.div_euclid(1_000);
    let segment = zone.segment(instant);
    let wall = segment.wall(instant);
    let (day, second) = (wall.div_euclid(DAY_SECS), wall.rem_euclid(DAY_SECS));
    let before = cuts.iter().copied().filter(|cut| *cut <= second).max().unwrap_or(0);
    let after = cuts.iter().copied().filter(|cut| *cut > second).min().unwrap_or(DAY_SECS);
    let midnight = day * DAY_SECS - segment.offset;
    ExclusionSpan {
        excluded: excluded(day, second),
        from: (midnight + before).max(segment.start) * 1_000,
        to: (midnight + after).min(segment.end) * 1_000,
    }
}
