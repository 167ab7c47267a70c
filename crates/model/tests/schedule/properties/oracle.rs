//! The judge: walks every instant, reads the wall clock there, and applies the rules one by one.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use ordo_model::schedule::{Dst, Exclusion, Repeated, Skipped, Weekday};

/// A cron expression as sets of values, with the text that says the same.
#[derive(Debug, Clone)]
pub(crate) struct CronSets {
    pub(crate) seconds: Set,
    pub(crate) minutes: Set,
    pub(crate) hours: Set,
    pub(crate) days: Set,
    pub(crate) months: Set,
    pub(crate) weekdays: Set,
}

#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) text: String,
    pub(crate) values: Vec<i8>,
}

impl Set {
    pub(crate) fn is_one(&self) -> bool {
        self.text.parse::<i8>().is_ok()
    }
}

impl CronSets {
    pub(crate) fn text(&self) -> String {
        let parts = [&self.seconds, &self.minutes, &self.hours, &self.days, &self.months, &self.weekdays];
        parts.map(|set| set.text.as_str()).join(" ")
    }

    fn matches(&self, wall: DateTime) -> bool {
        let day = self.days.values.contains(&wall.day());
        let weekday = self.weekdays.values.contains(&wall.weekday().to_sunday_zero_offset());
        let date = match (self.days.text == "*", self.weekdays.text == "*") {
            (true, _) => weekday,
            (false, true) => day,
            (false, false) => day || weekday,
        };
        date && self.seconds.values.contains(&wall.second())
            && self.minutes.values.contains(&wall.minute())
            && self.hours.values.contains(&wall.hour())
            && self.months.values.contains(&wall.month())
    }

    fn keeps_beat(&self) -> bool {
        self.hours.text.starts_with('*')
    }

    /// How fine the walk must be: by second, or by minute when the pattern runs on full minutes only.
    fn step_secs(&self) -> i64 {
        if self.seconds.values == [0] { 60 } else { 1 }
    }
}

/// The occurrences in `from..to` (seconds, full minutes), in milliseconds.
pub(crate) fn cron(fields: &CronSets, zone: &str, dst: Dst, from: i64, to: i64) -> Vec<i64> {
    let zone = TimeZone::get(zone).unwrap();
    let mut found = Vec::new();
    let mut second = from;
    while second < to {
        if occurs(fields, &zone, dst, second) {
            found.push(second * 1_000);
        }
        second += fields.step_secs();
    }
    found
}

fn occurs(fields: &CronSets, zone: &TimeZone, dst: Dst, second: i64) -> bool {
    let now = wall_at(zone, second);
    if fields.matches(now) && (fields.keeps_beat() || wanted_pass(zone, dst.repeated, now, second)) {
        return true;
    }
    dst.skipped == Skipped::Shift && !fields.keeps_beat() && skipped_a_match(fields, zone, second)
}

fn wanted_pass(zone: &TimeZone, repeated: Repeated, wall: DateTime, second: i64) -> bool {
    let both = zone.to_ambiguous_timestamp(wall);
    if !matches!(both.offset(), AmbiguousOffset::Fold { .. }) {
        return true;
    }
    match repeated {
        Repeated::First => both.earlier().unwrap().as_second() == second,
        Repeated::Last => both.later().unwrap().as_second() == second,
        Repeated::Both => true,
    }
}

/// Whether the clock jumped over a match to reach this instant.
fn skipped_a_match(fields: &CronSets, zone: &TimeZone, second: i64) -> bool {
    let jump = offset_at(zone, second) - offset_at(zone, second - 1);
    let now = wall_at(zone, second);
    (1..=jump).rev().step_by(usize::try_from(fields.step_secs()).unwrap()).any(|back| {
        let skipped = now.checked_sub(jiff::SignedDuration::from_secs(back)).unwrap();
        assert!(matches!(zone.to_ambiguous_timestamp(skipped).offset(), AmbiguousOffset::Gap { .. }));
        fields.matches(skipped)
    })
}

pub(crate) fn jumps_forward(zone: &TimeZone, second: i64) -> bool {
    offset_at(zone, second) > offset_at(zone, second - 1)
}

fn wall_at(zone: &TimeZone, second: i64) -> DateTime {
    zone.to_datetime(jiff::Timestamp::from_second(second).unwrap())
}

fn offset_at(zone: &TimeZone, second: i64) -> i64 {
    i64::from(zone.to_offset(jiff::Timestamp::from_second(second).unwrap()).seconds())
}

pub(crate) fn excludes(exclusion: &Exclusion, zone: &str, ms: i64) -> bool {
    let wall = |own: &Option<String>| {
        let zone = TimeZone::get(own.as_deref().unwrap_or(zone)).unwrap();
        zone.to_datetime(jiff::Timestamp::from_millisecond(ms).unwrap())
    };
    match exclusion {
        Exclusion::Range(range) => range.from.ms() <= ms && ms < range.to.ms(),
        Exclusion::Dates(dates) => {
            let today = wall(&dates.timezone).date().to_string();
            dates.dates.iter().any(|date| date.to_string() == today)
        }
        Exclusion::Weekly(weekly) => {
            let now = wall(&weekly.timezone);
            let clock = now.time().to_string();
            let from = weekly.from.map_or("00:00".to_owned(), |from| from.to_string());
            let to = weekly.to.map_or("24:00".to_owned(), |to| to.to_string());
            let begins = |day: jiff::civil::Weekday| {
                let day = Weekday::ALL[usize::try_from(day.to_monday_zero_offset()).unwrap()];
                weekly.days.as_ref().is_none_or(|days| days.contains(&day))
            };
            let (today, yesterday) = (begins(now.weekday()), begins(now.weekday().previous()));
            // Clock times compare as text: `22:00` <= `22:00:00` and `24:00` is after everything.
            if from < to {
                today && clock >= from && clock < to
            } else {
                (today && clock >= from) || (yesterday && clock < to)
            }
        }
    }
}
