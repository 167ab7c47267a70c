//! The oracle's own idea of when a schedule occurs: division for intervals, every single minute for cron.
//!
//! Invariant: nothing here calls the model's schedule code. Only plain forms are known, those the workload writes.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use ordo_model::schedule::{Rule, Schedule};

const MINUTE: i64 = 60_000;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Calendar {
    Once(i64),
    Every {
        start: i64,
        every: i64,
        end: i64,
    },
    /// All of them, in order, between the borders of the simulated time.
    Listed(Vec<i64>),
}

impl Calendar {
    /// `within`: the simulated time, which the listed ones must cover.
    pub(super) fn of(schedule: &Schedule, within: (i64, i64)) -> Calendar {
        let end = schedule.end.map_or(i64::MAX, |end| end.ms());
        let start = schedule.start.map(|start| start.ms());
        match &schedule.rule {
            Rule::At { at } => Calendar::Once(at.ms()),
            Rule::Every { every } => {
                let start = start.expect("an interval in the log has its start");
                Calendar::Every { start, every: i64::try_from(every.ms()).expect("a short interval"), end }
            }
            Rule::Cron { expr, timezone, .. } => {
                let from = within.0.max(start.unwrap_or(i64::MIN));
                Calendar::Listed(minutes(expr, timezone, (from, within.1.min(end))))
            }
        }
    }

    /// The first one at or after `ms`.
    pub(super) fn at_or_after(&self, ms: i64) -> Option<i64> {
        match self {
            Calendar::Once(at) => (*at >= ms).then_some(*at),
            Calendar::Every { start, every, end } => {
                let steps = (ms - start).max(0).div_euclid(*every) + i64::from((ms - start).max(0) % every != 0);
                Some(start + steps * every).filter(|at| at < end)
            }
            Calendar::Listed(all) => all.get(all.partition_point(|at| *at < ms)).copied(),
        }
    }

    pub(super) fn after(&self, ms: i64) -> Option<i64> {
        self.at_or_after(ms + 1)
    }

    /// How many lie between `from` and `to`, both included.
    pub(super) fn count(&self, from: i64, to: i64) -> u64 {
        match self {
            Calendar::Once(at) => u64::from((from..=to).contains(at)),
            Calendar::Every { start, every, end } => {
                let upto = |ms: i64| if ms < *start { 0 } else { (ms - start) / every + 1 };
                let last = to.min(end - 1);
                (upto(last) - upto(from - 1)).max(0).unsigned_abs()
            }
            Calendar::Listed(all) => {
                (all.partition_point(|at| *at <= to) - all.partition_point(|at| *at < from)) as u64
            }
        }
    }

    pub(super) fn contains(&self, ms: i64) -> bool {
        self.at_or_after(ms) == Some(ms)
    }
}

/// The five fields of a plain cron expression; None is `*`.
struct CronFields {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
    hour_is_beat: bool,
}

type Field = Option<Vec<i64>>;

fn minutes(expr: &str, timezone: &str, within: (i64, i64)) -> Vec<i64> {
    #[allow(clippy::disallowed_methods, reason = "an oracle shares nothing with the model")]
    let zone = TimeZone::get(timezone).expect("the workload names zones that exist");
    let fields = CronFields::read(expr);
    let mut found = Vec::new();
    let mut at = within.0.div_euclid(MINUTE) * MINUTE;
    let mut before: Option<DateTime> = None;
    while at < within.1 {
        let instant = jiff::Timestamp::from_millisecond(at).expect("simulated time is near ours");
        let wall = zone.to_datetime(instant);
        let occurs = match before {
            Some(before) if !fields.hour_is_beat && fields.skipped_one(before, wall) => true,
            _ => fields.matches(wall) && (fields.hour_is_beat || is_first(&zone, wall, instant)),
        };
        if occurs && at >= within.0 {
            found.push(at);
        }
        before = Some(wall);
        at += MINUTE;
    }
    found
}

/// A wall-clock time that comes twice counts the first time.
fn is_first(zone: &TimeZone, wall: DateTime, instant: jiff::Timestamp) -> bool {
    zone.to_ambiguous_timestamp(wall).compatible().is_ok_and(|first| first == instant)
}

impl CronFields {
    fn read(expr: &str) -> CronFields {
        let parts: Vec<&str> = expr.split(' ').collect();
        assert_eq!(parts.len(), 5, "the workload writes five fields");
        CronFields {
            minute: field(parts[0], 60),
            hour: field(parts[1], 24),
            day: field(parts[2], 32),
            month: field(parts[3], 13),
            weekday: field(parts[4], 7),
            hour_is_beat: parts[1].starts_with('*'),
        }
    }

    fn matches(&self, wall: DateTime) -> bool {
        let has = |field: &Field, value: i8| field.as_ref().is_none_or(|all| all.contains(&i64::from(value)));
        has(&self.minute, wall.minute())
            && has(&self.hour, wall.hour())
            && has(&self.day, wall.day())
            && has(&self.month, wall.month())
            && has(&self.weekday, wall.weekday().to_sunday_zero_offset())
    }

    /// Whether the clock jumped over a match between these two minutes: it counts at the jump.
    fn skipped_one(&self, before: DateTime, wall: DateTime) -> bool {
        let minute = jiff::Span::new().minutes(1);
        let mut at = before.checked_add(minute).expect("a minute later");
        while at < wall {
            if self.matches(at) {
                return true;
            }
            at = at.checked_add(minute).expect("a minute later");
        }
        false
    }
}

/// `*`, `*/n`, `a` or `a,b,c`.
fn field(text: &str, end: i64) -> Field {
    let number = |text: &str| text.parse::<i64>().expect("the workload writes numbers");
    match text.strip_prefix("*/") {
        Some(step) => Some((0..end).filter(|value| value % number(step) == 0).collect()),
        None if text == "*" => None,
        None => Some(text.split(',').map(number).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> i64 {
        text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn an_interval_is_counted_and_found_from_its_start_to_its_end() {
        let every = Calendar::Every { start: 5, every: 10, end: 36 };
        assert_eq!([0, 5, 6, 35, 36].map(|ms| every.at_or_after(ms)), [Some(5), Some(5), Some(15), Some(35), None]);
        assert_eq!([(0, 4), (5, 5), (5, 35), (6, 99)].map(|(from, to)| every.count(from, to)), [0, 1, 4, 3]);
    }

    #[test]
    fn a_skipped_time_counts_at_the_shift_and_a_repeated_one_the_first_time() {
        let spring = minutes("30 2 * * *", "Europe/Berlin", (ms("2026-03-29T00:00:00Z"), ms("2026-03-30T00:00:00Z")));
        assert_eq!(spring, [ms("2026-03-29T01:00:00Z")]);
        let autumn = minutes("30 2 * * *", "Europe/Berlin", (ms("2026-10-25T00:00:00Z"), ms("2026-10-26T00:00:00Z")));
        assert_eq!(autumn, [ms("2026-10-25T00:30:00Z")]);
    }

    #[test]
    fn a_beat_keeps_on_through_the_change() {
        let night = minutes("*/30 * * * *", "Europe/Berlin", (ms("2026-10-25T00:00:00Z"), ms("2026-10-25T03:00:00Z")));
        assert_eq!(night.len(), 6);
    }
}
