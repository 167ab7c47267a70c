//! On which days of a month a cron expression runs.
//!
//! Vixie's rule: with both a day of month and a day of week given, either is enough, unless a `+` before the weekday
//! asks for both. `W` never leaves its month, and a month that has no such day (`31W` in April) has none.

use super::field::{self, DAY, Steps, WEEKDAY};
use super::values::Values;

const SATURDAY: u16 = 6;
const SUNDAY: u16 = 0;
const NTH_MAX: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::schedule) struct Days {
    pub(in crate::schedule) month: OfMonth,
    pub(in crate::schedule) week: OfWeek,
    /// Written with `+`: a day must be one of both.
    pub(in crate::schedule) both: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::schedule) struct OfMonth {
    /// The field is `*` or `?`.
    pub(in crate::schedule) any: bool,
    pub(in crate::schedule) plain: Values,
    /// `15W`
    pub(in crate::schedule) nearest_weekday: Values,
    /// `L`
    pub(in crate::schedule) last: bool,
    /// `LW`
    pub(in crate::schedule) last_weekday: bool,
}

/// Sunday is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::schedule) struct OfWeek {
    /// The field is `*` or `?`.
    pub(in crate::schedule) any: bool,
    pub(in crate::schedule) plain: Values,
    /// `5#1` to `5#5`
    pub(in crate::schedule) nth: [Values; NTH_MAX],
    /// `5L`
    pub(in crate::schedule) last: Values,
}

/// A month as the rules see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Month {
    pub(super) length: u16,
    /// The weekday of its first day.
    pub(super) begins_on: u16,
}

impl Month {
    fn weekday(self, day: u16) -> u16 {
        (self.begins_on + day - 1) % 7
    }

    /// The day from Monday to Friday nearest to `day`, in this month.
    fn nearest_weekday(self, day: u16) -> u16 {
        match self.weekday(day) {
            SATURDAY if day > 1 => day - 1,
            SATURDAY => day + 2,
            SUNDAY if day < self.length => day + 1,
            SUNDAY => day - 2,
            _ => day,
        }
    }
}

impl Days {
    pub(super) fn parse(month: &str, week: &str) -> Result<Days, String> {
        let (both, days) = match week.strip_prefix('+') {
            Some(days) => (true, days),
            None => (false, week),
        };
        Ok(Days { month: OfMonth::parse(month)?, week: OfWeek::parse(days)?, both })
    }

    pub(super) fn of(&self, month: Month) -> Values {
        let wanted = |day: &u16| match (self.month.any, self.week.any) {
            (true, true) => true,
            (true, false) => self.week.contains(*day, month),
            (false, true) => self.month.contains(*day, month),
            (false, false) if self.both => self.month.contains(*day, month) && self.week.contains(*day, month),
            (false, false) => self.month.contains(*day, month) || self.week.contains(*day, month),
        };
        (1..=month.length).filter(wanted).collect()
    }
}

impl OfMonth {
    fn parse(field: &str) -> Result<OfMonth, String> {
        let mut days = OfMonth { any: matches!(field, "*" | "?"), ..OfMonth::default() };
        for part in field::list(&DAY, field, read_day)? {
            match part {
                DayTerm::Last => days.last = true,
                DayTerm::LastWeekday => days.last_weekday = true,
                DayTerm::NearestWeekday(day) => days.nearest_weekday.add(day),
                DayTerm::Plain(steps) => steps.values().for_each(|day| days.plain.add(day)),
            }
        }
        Ok(days)
    }

    fn contains(&self, day: u16, month: Month) -> bool {
        let nearest = |named: u16| {
            named <= month.length && self.nearest_weekday.contains(named) && month.nearest_weekday(named) == day
        };
        // The nearest day from Monday to Friday is at most two days away.
        self.plain.contains(day)
            || (self.last && day == month.length)
            || (self.last_weekday && day == month.nearest_weekday(month.length))
            || (day.saturating_sub(2).max(1)..=day + 2).any(nearest)
    }
}

enum DayTerm {
    Last,
    LastWeekday,
    NearestWeekday(u16),
    Plain(Steps),
}

fn read_day(part: &str) -> Result<DayTerm, String> {
    match part {
        "?" => field::steps(&DAY, "*").map(DayTerm::Plain),
        "L" => Ok(DayTerm::Last),
        "LW" => Ok(DayTerm::LastWeekday),
        _ if part.starts_with("L-") => Err("days before the last are not supported; use L, LW or a day".to_owned()),
        _ => match part.strip_suffix('W') {
            Some(day) => field::value(&DAY, day).map(DayTerm::NearestWeekday),
            None => field::steps(&DAY, part).map(DayTerm::Plain),
        },
    }
}

impl OfWeek {
    fn parse(field: &str) -> Result<OfWeek, String> {
        let mut days = OfWeek { any: matches!(field, "*" | "?"), ..OfWeek::default() };
        for (steps, which) in field::list(&WEEKDAY, field, read_weekday)? {
            let set = match which {
                Which::Every => &mut days.plain,
                Which::Nth(n) => &mut days.nth[n - 1],
                Which::Last => &mut days.last,
            };
            steps.values().for_each(|day| set.add(day % 7));
        }
        Ok(days)
    }

    fn contains(&self, day: u16, month: Month) -> bool {
        let weekday = month.weekday(day);
        self.plain.contains(weekday)
            || self.nth[usize::from((day - 1) / 7)].contains(weekday)
            || (self.last.contains(weekday) && day + 7 > month.length)
    }
}

/// Which of the weekdays of a month.
enum Which {
    Every,
    Nth(usize),
    Last,
}

fn read_weekday(part: &str) -> Result<(Steps, Which), String> {
    if part == "?" {
        return Ok((field::steps(&WEEKDAY, "*")?, Which::Every));
    }
    if part == "L" {
        return Err("L needs a weekday before it: 5L is the last Friday".to_owned());
    }
    if let Some((days, which)) = part.split_once('#') {
        return Ok((field::steps(&WEEKDAY, days)?, which_of(which)?));
    }
    if let Some(day) = part.strip_suffix('L') {
        let day = field::value(&WEEKDAY, day)?;
        return Ok((Steps { first: day, last: day, step: 1 }, Which::Last));
    }
    Ok((field::steps(&WEEKDAY, part)?, Which::Every))
}

fn which_of(text: &str) -> Result<Which, String> {
    if text == "L" {
        return Ok(Which::Last);
    }
    let nth = text.parse().ok().filter(|nth| (1..=NTH_MAX).contains(nth) && text.len() == 1);
    nth.map(Which::Nth).ok_or_else(|| format!("after # comes 1 to {NTH_MAX}, or L for the last"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(month: &str, week: &str, length: u16, begins_on: u16) -> Vec<u16> {
        Days::parse(month, week).unwrap().of(Month { length, begins_on }).to_vec()
    }

    #[test]
    fn the_nearest_weekday_stays_in_its_month() {
        assert_eq!(days("1W", "*", 31, SATURDAY), [3]);
        assert_eq!(days("1W", "*", 31, SUNDAY), [2]);
        assert_eq!(days("31W", "*", 31, 4), [30], "the 31st is a Saturday");
        assert_eq!(days("31W", "*", 31, 5), [29], "the 31st is a Sunday");
        assert_eq!(days("L,LW", "*", 31, 5), [29, 31]);
    }

    #[test]
    fn a_month_without_the_day_has_no_weekday_nearest_to_it() {
        for begins_on in 0..7 {
            assert!(days("31W", "*", 30, begins_on).is_empty());
            assert!(days("30W,31W", "*", 28, begins_on).is_empty());
            assert!(days("29W", "*", 28, begins_on).is_empty());
            assert_eq!(days("29W", "*", 29, begins_on).len(), 1);
        }
    }

    #[test]
    fn the_last_of_several_weekdays_includes_sunday() {
        // A month of 31 days that begins on a Monday: its last Friday is the 26th, Saturday 27th, Sunday 28th.
        assert_eq!(days("*", "FRI-SUN#L", 31, 1), [26, 27, 28]);
        assert_eq!(days("*", "5-7#L", 31, 1), [26, 27, 28]);
        assert_eq!(days("*", "7L", 31, 1), [28]);
    }
}
