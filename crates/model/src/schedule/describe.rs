//! A schedule as a sentence: `every 10 seconds`, `At 02:30, only on Monday (Europe/Berlin)`.
//!
//! Invariant: the sentence is made from the values the pattern matches, not from how they were written, so it cannot
//! promise other times; and it stays short, whatever the expression names.

use super::Schedule;
use super::cron::CronPattern;
use super::describe_day::days;
use super::words::{list, listed, plural, sentence_case, step_of};
use super::{Rule, ScheduleError};
use crate::time::{Millis, Timestamp};

/// So many times of day are listed one by one; more are described by their fields.
const TIMES_LISTED_MAX: usize = 6;

pub(super) fn describe(schedule: &Schedule) -> String {
    let mut text = rule(&schedule.rule).unwrap_or_else(|error| format!("not a schedule: {error}"));
    if let (Some(start), Rule::Cron { .. }) = (schedule.start, &schedule.rule) {
        text.push_str(&format!(", from {}", moment(start)));
    }
    if let (Some(end), Rule::Cron { .. } | Rule::Every { .. }) = (schedule.end, &schedule.rule) {
        text.push_str(&format!(", until {}", moment(end)));
    }
    if let Some(jitter) = schedule.jitter.filter(|jitter| *jitter > Millis::ZERO) {
        text.push_str(&format!(", up to {jitter} later"));
    }
    match schedule.exclude.len() {
        0 => {}
        1 => text.push_str(", except in one excluded window"),
        n => text.push_str(&format!(", except in {n} excluded windows")),
    }
    text
}

fn rule(rule: &Rule) -> Result<String, ScheduleError> {
    match rule {
        Rule::At { at } => Ok(format!("once at {}", moment(*at))),
        Rule::Every { every } => Ok(every_phrase(*every)),
        Rule::Cron { expr, timezone, .. } => {
            let pattern = CronPattern::parse(expr).map_err(|message| ScheduleError { field: "cron", message })?;
            Ok(format!("{} ({timezone})", sentence_case(&cron(&pattern))))
        }
    }
}

/// `2027-01-01 00:00:00 UTC`
fn moment(at: Timestamp) -> String {
    if !at.has_local_times() {
        return at.to_string();
    }
    let form = if at.ms() % 1_000 == 0 { "%Y-%m-%d %H:%M:%S UTC" } else { "%Y-%m-%d %H:%M:%S%.3f UTC" };
    at.to_jiff().strftime(form).to_string()
}

fn every_phrase(every: Millis) -> String {
    const UNITS: [(u64, &str); 5] =
        [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"), (1, "millisecond")];
    for (size, unit) in UNITS {
        if every.ms() == size {
            return format!("every {unit}");
        }
        if every.ms() >= size && every.ms().is_multiple_of(size) {
            return format!("every {} {unit}s", every.ms() / size);
        }
    }
    format!("every {every}")
}

fn cron(pattern: &CronPattern) -> String {
    let parts = [
        time(&pattern.seconds.to_vec(), &pattern.minutes.to_vec(), &pattern.hours.to_vec()),
        days(&pattern.days),
        months(&pattern.months.to_vec()),
        pattern.years.named().map_or(String::new(), |years| format!("only in {}", list(&years))),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn time(seconds: &[u16], minutes: &[u16], hours: &[u16]) -> String {
    if seconds.len() * minutes.len() * hours.len() <= TIMES_LISTED_MAX {
        return format!("at {}", listed(&times(seconds, minutes, hours)));
    }
    if seconds != [0] {
        let lead = beat(seconds, 60, "second");
        let of = if lead.starts_with("every") && minutes.len() == 60 { String::new() } else { of_minutes(minutes) };
        return format!("{lead}{of}{}", of_hours(hours));
    }
    match (minutes, step_of(hours, 24)) {
        ([0], Some(1)) => "every hour".to_owned(),
        ([0], Some(n)) => format!("every {n} hours"),
        (_, Some(1)) if step_of(minutes, 60).is_none() => {
            format!("{} of every hour", beat(minutes, 60, "minute"))
        }
        _ => format!("{}{}", beat(minutes, 60, "minute"), of_hours(hours)),
    }
}

fn times(seconds: &[u16], minutes: &[u16], hours: &[u16]) -> Vec<String> {
    let mut times = Vec::new();
    for hour in hours {
        for minute in minutes {
            for second in seconds {
                let seconds = if seconds == [0] { String::new() } else { format!(":{second:02}") };
                times.push(format!("{hour:02}:{minute:02}{seconds}"));
            }
        }
    }
    times
}

/// `every minute`, `every 10 minutes` or `at minutes 5 and 35`.
fn beat(values: &[u16], length: u16, unit: &str) -> String {
    match step_of(values, length) {
        Some(1) => format!("every {unit}"),
        Some(n) => format!("every {n} {unit}s"),
        None => format!("at {} {}", plural(unit, values.len()), list(values)),
    }
}

fn of_minutes(minutes: &[u16]) -> String {
    match step_of(minutes, 60) {
        Some(1) => " of every minute".to_owned(),
        Some(_) | None => format!(" of {} {}", plural("minute", minutes.len()), list(minutes)),
    }
}

fn of_hours(hours: &[u16]) -> String {
    if hours.len() == 24 { String::new() } else { format!(" during {} {}", plural("hour", hours.len()), list(hours)) }
}

fn months(months: &[u16]) -> String {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    if months.len() == 12 {
        return String::new();
    }
    let names: Vec<String> =
        months.iter().filter_map(|month| NAMES.get(usize::from(*month) - 1)).map(|name| (*name).to_owned()).collect();
    format!("only in {}", listed(&names))
}
