//! The days of a cron pattern in words.
//!
//! croner's rule, as Vixie's: with both a day of month and a day of week given, either is enough, unless a `+` before
//! the weekday asks for both.

use super::cron::Pattern;
use super::words::{list, listed, ordinal, plural};

const NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) fn days(pattern: &Pattern) -> String {
    let croner = pattern.croner();
    let all_of_month = croner.days.values().len() == 31;
    let all_of_week = croner.days_of_week.values().iter().filter(|day| **day < 7).count() == 7;
    let month = of_month(pattern);
    let week = of_week(pattern);
    match (croner.is_dom_wildcard(), croner.is_dow_wildcard()) {
        (true, true) => String::new(),
        (true, false) if all_of_week => String::new(),
        (true, false) => format!("only on {week}"),
        (false, true) if all_of_month => String::new(),
        (false, true) => format!("on {month}"),
        (false, false) if croner.matches_dom_and_dow() => both(&month, &week, all_of_month, all_of_week),
        (false, false) if all_of_month || all_of_week => String::new(),
        (false, false) => format!("on {month} or on {week}"),
    }
}

fn both(month: &str, week: &str, all_of_month: bool, all_of_week: bool) -> String {
    match (all_of_month, all_of_week) {
        (true, true) => String::new(),
        (true, false) => format!("only on {week}"),
        (false, true) => format!("on {month}"),
        (false, false) => format!("on {month} if it is {week}"),
    }
}

fn of_month(pattern: &Pattern) -> String {
    let mut parts = Vec::new();
    let plain = pattern.croner().days.values();
    if !plain.is_empty() {
        parts.push(format!("{} {} of the month", plural("day", plain.len()), list(&plain)));
    }
    for part in pattern.day_of_month().split(',') {
        match part {
            "L" => parts.push("the last day of the month".to_owned()),
            "LW" => parts.push("the last weekday (Monday to Friday) of the month".to_owned()),
            _ => {
                if let Some(day) = part.strip_suffix('W') {
                    parts.push(format!("the weekday (Monday to Friday) nearest day {day} of the month"));
                }
            }
        }
    }
    listed(&parts)
}

fn of_week(pattern: &Pattern) -> String {
    let plain = pattern.croner().days_of_week.values();
    let mut parts = names(&plain);
    for part in pattern.day_of_week().trim_start_matches('+').split(',') {
        if let Some((days, nth)) = part.split_once('#') {
            parts.push(nth_of_month(days, nth));
        } else if let Some(days) = part.strip_suffix('L') {
            parts.push(nth_of_month(days, "L"));
        }
    }
    listed(&parts)
}

fn nth_of_month(days: &str, nth: &str) -> String {
    let values =
        Pattern::parse(&format!("0 0 * * {days}")).map_or(Vec::new(), |pattern| pattern.croner().days_of_week.values());
    let which = nth.parse().map_or("last".to_owned(), ordinal);
    format!("the {which} {} of the month", listed(&names(&values)))
}

/// Names of weekdays, from Monday on; three or more in a row as a range.
fn names(values: &[u16]) -> Vec<String> {
    let mut days: Vec<u16> = values.iter().map(|day| if *day == 0 { 7 } else { *day }).collect();
    days.sort_unstable();
    days.dedup();
    let name = |day: u16| NAMES[usize::from(day % 7)];
    days.chunk_by(|a, b| a + 1 == *b)
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{} to {}", name(*first), name(*last))],
            _ => run.iter().map(|day| name(*day).to_owned()).collect(),
        })
        .collect()
}
