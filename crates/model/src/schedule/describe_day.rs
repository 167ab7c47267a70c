//! The days of a cron pattern in words.

use super::cron::{Days, OfMonth, OfWeek};
use super::words::{list, listed, ordinal, plural};

const NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

pub(super) fn days(days: &Days) -> String {
    let all_of_month = days.month.plain.to_vec().len() == 31;
    let all_of_week = days.week.plain.to_vec().len() == 7;
    let month = of_month(&days.month);
    let week = of_week(&days.week);
    match (days.month.any, days.week.any) {
        (true, true) => String::new(),
        (true, false) if all_of_week => String::new(),
        (true, false) => format!("only on {week}"),
        (false, true) if all_of_month => String::new(),
        (false, true) => format!("on {month}"),
        (false, false) if days.both => both(&month, &week, all_of_month, all_of_week),
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

fn of_month(days: &OfMonth) -> String {
    let mut parts = Vec::new();
    let plain = days.plain.to_vec();
    if !plain.is_empty() {
        parts.push(format!("{} {} of the month", plural("day", plain.len()), list(&plain)));
    }
    let nearest = days.nearest_weekday.to_vec();
    if !nearest.is_empty() {
        let days = format!("{} {}", plural("day", nearest.len()), list(&nearest));
        parts.push(format!("the weekday (Monday to Friday) nearest {days} of the month"));
    }
    if days.last {
        parts.push("the last day of the month".to_owned());
    }
    if days.last_weekday {
        parts.push("the last weekday (Monday to Friday) of the month".to_owned());
    }
    listed(&parts)
}

fn of_week(days: &OfWeek) -> String {
    let mut parts = names(&days.plain.to_vec());
    let nth = (1..).zip(&days.nth).map(|(n, days)| (ordinal(n), days.to_vec()));
    for (which, days) in nth.chain([("last".to_owned(), days.last.to_vec())]) {
        if !days.is_empty() {
            parts.push(format!("the {which} {} of the month", listed(&names(&days))));
        }
    }
    listed(&parts)
}

/// Names of weekdays, from Monday on; three or more in a row as a range.
fn names(values: &[u16]) -> Vec<String> {
    let mut days: Vec<u16> = values.iter().map(|day| if *day == 0 { 7 } else { *day }).collect();
    days.sort_unstable();
    let name = |day: u16| NAMES[usize::from(day % 7)];
    days.chunk_by(|a, b| a + 1 == *b)
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{} to {}", name(*first), name(*last))],
            _ => run.iter().map(|day| name(*day).to_owned()).collect(),
        })
        .collect()
}
