//! A cron expression by its definition: does this part of this field name this value?
//!
//! Nothing is searched and nothing is clever: every value is asked about, and every day on its own.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday, date};

pub(crate) struct Expression {
    pub(crate) text: String,
    fields: [String; 7],
    /// Times of day in seconds, in order.
    times: Vec<i64>,
    /// The days since 1970 on which it runs, in order.
    days: Vec<i64>,
}

impl Expression {
    /// The expression on the days since 1970 from `first` to `last`.
    pub(crate) fn new(text: String, first: i64, last: i64) -> Expression {
        let mut fields: Vec<String> = text.to_uppercase().split_whitespace().map(str::to_owned).collect();
        if fields.len() == 5 {
            fields.insert(0, "0".to_owned());
        }
        if fields.len() == 6 {
            fields.push("*".to_owned());
        }
        let fields: [String; 7] = fields.try_into().unwrap();
        let times = (0..24)
            .filter(|hour| names(&fields[2], *hour, 0, 23))
            .flat_map(|hour| (0..60).map(move |minute| (hour, minute)))
            .filter(|(_, minute)| names(&fields[1], *minute, 0, 59))
            .flat_map(|(hour, minute)| (0..60).map(move |second| (hour, minute, second)))
            .filter(|(_, _, second)| names(&fields[0], *second, 0, 59))
            .map(|(hour, minute, second)| hour * 3_600 + minute * 60 + second)
            .collect();
        let mut expression = Expression { text, fields, times, days: Vec::new() };
        expression.days = (first..=last).filter(|day| expression.runs_on(date(1970, 1, 1) + day.days())).collect();
        expression
    }

    pub(crate) fn times(&self) -> &[i64] {
        &self.times
    }

    /// The hour field as a whole is `*` or `*/n`.
    pub(crate) fn is_interval(&self) -> bool {
        let hour = &self.fields[2];
        hour == "*" || hour.strip_prefix("*/").is_some_and(|step| step.parse::<u16>().is_ok())
    }

    /// The days from `first` to `last` on which it runs.
    pub(crate) fn days(&self, first: i64, last: i64) -> &[i64] {
        let (from, to) = (self.days.partition_point(|day| *day < first), self.days.partition_point(|day| *day <= last));
        &self.days[from..to]
    }

    fn runs_on(&self, date: Date) -> bool {
        let [_, _, _, day, month, weekday, year] = &self.fields;
        let year = names(year, date.year().into(), 1970, 9999);
        year && names(&months_as_numbers(month), date.month().into(), 1, 12) && self.is_a_day(date, day, weekday)
    }

    fn is_a_day(&self, date: Date, day: &str, weekday: &str) -> bool {
        let (both, weekday) = (weekday.starts_with('+'), weekday.trim_start_matches('+'));
        let of_month = day.split(',').any(|part| names_day(part, date));
        let of_week = weekday.split(',').any(|part| names_weekday(part, date));
        let (any_day, any_weekday) = (matches!(day, "*" | "?"), matches!(weekday, "*" | "?"));
        match (any_day, any_weekday) {
            (true, true) => true,
            (true, false) => of_week,
            (false, true) => of_month,
            (false, false) if both => of_month && of_week,
            (false, false) => of_month || of_week,
        }
    }
}

/// Whether a list of numbers, ranges and steps names the value.
fn names(field: &str, value: i64, min: i64, max: i64) -> bool {
    field.split(',').any(|part| {
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(number(step))));
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first), number(last)),
            None if range == "*" => (min, max),
            None if step.is_some() => (number(range), max),
            None => (number(range), number(range)),
        };
        first <= value && value <= last && (value - first) % step.unwrap_or(1) == 0
    })
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no number"))
}

fn names_day(part: &str, date: Date) -> bool {
    let length = date.days_in_month();
    let weekdays = || (1..=length).filter(|day| is_weekday(date, *day));
    match part {
        "*" | "?" => true,
        "L" => date.day() == length,
        "LW" => Some(date.day()) == weekdays().next_back(),
        _ => match part.strip_suffix('W') {
            None => names(part, date.day().into(), 1, 31),
            Some(day) => {
                let day = i8::try_from(number(day)).unwrap();
                let nearest = weekdays().min_by_key(|weekday| (*weekday - day).abs());
                // A month that does not have the day has no weekday nearest to it.
                day <= length && nearest == Some(date.day())
            }
        },
    }
}

fn is_weekday(month: Date, day: i8) -> bool {
    let weekday = month.with().day(day).build().unwrap().weekday();
    !matches!(weekday, Weekday::Saturday | Weekday::Sunday)
}

fn names_weekday(part: &str, date: Date) -> bool {
    let (days, which) = match part.split_once('#') {
        Some((days, which)) => (days.to_owned(), which),
        None => match part.strip_suffix('L') {
            Some(day) => (day.to_owned(), "L"),
            None => (part.to_owned(), ""),
        },
    };
    let weekday: i64 = date.weekday().to_sunday_zero_offset().into();
    let days = weekdays_as_numbers(&days);
    let named = match days.as_str() {
        "*" | "?" => true,
        // Sunday is 0, and as the end of a range 7.
        days => names(days, weekday, 0, 6) || (weekday == 0 && !days.contains('*') && names(days, 7, 0, 6)),
    };
    named
        && match which {
            "" => true,
            "L" => is_nth(date, -1),
            nth => is_nth(date, nth.parse().unwrap()),
        }
}

fn is_nth(date: Date, nth: i8) -> bool {
    date.nth_weekday_of_month(nth, date.weekday()).is_ok_and(|nth| nth == date)
}

fn months_as_numbers(field: &str) -> String {
    let names = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    names.iter().zip(1..).fold(field.to_owned(), |text, (name, number)| text.replace(name, &number.to_string()))
}

fn weekdays_as_numbers(part: &str) -> String {
    let part = part.replace("SUN-SUN", "SUN").replace("-SUN", "-7");
    let names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
    names.iter().zip(0..).fold(part, |text, (name, number)| text.replace(name, &number.to_string()))
}
