//! A cron expression as a pattern of wall-clock seconds. It knows no zone; see `dst` for what a clock change does.
//!
//! croner does the matching and the search, over a plain calendar (`jiff::civil::DateTime`). Its own walk through a
//! zone is not used. It knows one policy only, and in version 4.0.2 it runs a 01:30 job again at 03:00 when the clock
//! jumps from 02:00 to 03:00, treats `0 2,3 * * *` as an interval, and gives up on a gap of more than two hours
//! (Pacific/Apia skipped all of 2011-12-30).

use croner::Cron;
use croner::parser::CronParser;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::cron_text::{self, FIELDS};

/// "Every year" as croner is told it. It keeps a flag per year; with `*`, 5,000 of them, parsing takes four times as long.
const EVERY_YEAR: &str = "1970-2999";

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    cron: Cron,
    /// Second to year, as croner reads them.
    fields: [String; FIELDS],
}

impl Pattern {
    pub(super) fn parse(expr: &str) -> Result<Pattern, String> {
        let fields = cron_text::fields(expr)?;
        let cron = CronParser::new().parse(&for_croner(&fields)).map_err(|_| cron_text::blame(&fields))?;
        Ok(Pattern { cron, fields })
    }

    /// The first match at or after the wall-clock second. There is none after 2999, unless the year field names one.
    pub(super) fn at_or_after(&self, wall: i64) -> Option<i64> {
        let found = self.cron.find_next_occurrence(&calendar(wall)?, true).ok()?;
        seconds(found)
    }

    pub(super) fn at_or_before(&self, wall: i64) -> Option<i64> {
        let found = self.cron.find_previous_occurrence(&calendar(wall)?, true).ok()?;
        seconds(found)
    }

    pub(super) fn matches(&self, wall: i64) -> bool {
        calendar(wall).is_some_and(|wall| self.cron.is_time_matching(&wall).unwrap_or(false))
    }

    /// An hour field of `*` or `*/n`: a beat rather than times of day.
    pub(super) fn is_interval(&self) -> bool {
        self.cron.pattern.hours.from_wildcard
    }

    pub(super) fn croner(&self) -> &croner::CronPattern {
        &self.cron.pattern
    }

    pub(super) fn is_every_year(&self) -> bool {
        self.fields[cron_text::YEAR] == "*"
    }

    pub(super) fn day_of_month(&self) -> &str {
        &self.fields[cron_text::DAY]
    }

    pub(super) fn day_of_week(&self) -> &str {
        &self.fields[cron_text::WEEKDAY]
    }
}

fn for_croner(fields: &[String; FIELDS]) -> String {
    let mut fields: [&str; FIELDS] = std::array::from_fn(|place| fields[place].as_str());
    if fields[cron_text::YEAR] == "*" {
        fields[cron_text::YEAR] = EVERY_YEAR;
    }
    fields.join(" ")
}

/// Wall-clock seconds are counted as if the wall clock showed UTC.
fn calendar(wall: i64) -> Option<DateTime> {
    Some(Offset::UTC.to_datetime(jiff::Timestamp::from_second(wall).ok()?))
}

fn seconds(wall: DateTime) -> Option<i64> {
    Some(Offset::UTC.to_timestamp(wall).ok()?.as_second())
}
