//! Exclusions as they are written: a range of time, a window of the week, or whole days.
//!
//! Invariant: what is read is one of the three and nothing else; a mixture is refused with a reason.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Timestamp;

/// A window in which nothing is due.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Exclusion {
    /// From one instant to another (the latter not included).
    Range(RangeExclusion),
    /// The same hours every week or every day.
    Weekly(WeeklyExclusion),
    /// Whole days of the local calendar.
    Dates(DatesExclusion),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RangeExclusion {
    pub from: Timestamp,
    pub to: Timestamp,
}

/// Wall-clock times from `from` up to `to` on the given days. With `to` not after `from` the window ends on the day
/// after; `days` are those on which it begins. In a repeated hour both passes are excluded.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WeeklyExclusion {
    /// None: every day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<Vec<Weekday>>,
    /// None: from midnight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<TimeOfDay>,
    /// None: up to the next midnight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<TimeOfDay>,
    /// None: the zone of the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DatesExclusion {
    pub dates: Vec<LocalDate>,
    /// None: the zone of the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

impl Weekday {
    pub const ALL: [Weekday; 7] =
        [Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri, Weekday::Sat, Weekday::Sun];

    pub const fn name(self) -> &'static str {
        match self {
            Weekday::Mon => "Monday",
            Weekday::Tue => "Tuesday",
            Weekday::Wed => "Wednesday",
            Weekday::Thu => "Thursday",
            Weekday::Fri => "Friday",
            Weekday::Sat => "Saturday",
            Weekday::Sun => "Sunday",
        }
    }
}

/// `sat`, `Sat` or `saturday`.
impl FromStr for Weekday {
    type Err = String;

    fn from_str(text: &str) -> Result<Weekday, String> {
        Weekday::ALL
            .into_iter()
            .find(|day| text.eq_ignore_ascii_case(day.name()) || text.eq_ignore_ascii_case(&day.name()[..3]))
            .ok_or_else(|| format!("not a day of the week: {text:?} (write mon, tue, wed, thu, fri, sat or sun)"))
    }
}

/// A time on the wall clock: seconds since midnight, 24:00 included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(u32);

impl TimeOfDay {
    pub const fn seconds(self) -> u32 {
        self.0
    }
}

/// `22:00`, `22:00:30` or `24:00`.
impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeOfDay, String> {
        let refuse = || format!("not a time of day: {text:?} (write it as 22:00)");
        let mut seconds = 0;
        let parts: Vec<&str> = text.split(':').collect();
        if !(2..=3).contains(&parts.len()) {
            return Err(refuse());
        }
        for (part, (size, most)) in parts.iter().zip([(3_600, 24), (60, 59), (1, 59)]) {
            let digits = part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
            let value: u32 = part.parse().ok().filter(|value| digits && *value <= most).ok_or_else(refuse)?;
            seconds += value * size;
        }
        if seconds <= 86_400 { Ok(TimeOfDay(seconds)) } else { Err(refuse()) }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second) = (self.0 / 3_600, self.0 / 60 % 60, self.0 % 60);
        write!(f, "{hour:02}:{minute:02}")?;
        if second > 0 { write!(f, ":{second:02}") } else { Ok(()) }
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A day of the calendar, `2026-12-25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalDate(jiff::civil::Date);

impl LocalDate {
    /// Days since 1970-01-01.
    pub(super) fn day_number(self) -> i64 {
        let midnight = jiff::tz::Offset::UTC.to_timestamp(self.0.to_datetime(jiff::civil::Time::midnight()));
        midnight.map_or(i64::MAX, |at| at.as_second().div_euclid(86_400))
    }
}

impl FromStr for LocalDate {
    type Err = String;

    fn from_str(text: &str) -> Result<LocalDate, String> {
        let refuse = || format!("not a date: {text:?} (write it as 2026-12-25)");
        if text.len() != 10 {
            return Err(refuse());
        }
        text.parse().map(LocalDate).map_err(|_| refuse())
    }
}

impl fmt::Display for LocalDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for LocalDate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Every field an exclusion may have; which of them are there says which kind it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExclusionForm {
    days: Option<Vec<String>>,
    dates: Option<Vec<String>>,
    from: Option<String>,
    to: Option<String>,
    timezone: Option<String>,
}

impl<'de> Deserialize<'de> for Exclusion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Exclusion::try_from(ExclusionForm::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl TryFrom<ExclusionForm> for Exclusion {
    type Error = String;

    fn try_from(written: ExclusionForm) -> Result<Exclusion, String> {
        let ExclusionForm { days, dates, from, to, timezone } = written;
        if let Some(dates) = dates {
            if days.is_some() || from.is_some() || to.is_some() {
                return Err("an exclusion of dates excludes whole days: it has no days, from or to".to_owned());
            }
            return Ok(Exclusion::Dates(DatesExclusion { dates: parse_all(&dates)?, timezone }));
        }
        if let (None, None, Some(from), Some(to)) = (&days, &timezone, &from, &to)
            && !is_time_of_day(from)
            && !is_time_of_day(to)
        {
            let instant = |text: &str| text.parse::<Timestamp>().map_err(|error| error.to_string());
            return Ok(Exclusion::Range(RangeExclusion { from: instant(from)?, to: instant(to)? }));
        }
        if days.is_none() && from.is_none() && to.is_none() {
            return Err("an exclusion needs from and to (times, or times of day), days, or dates".to_owned());
        }
        if days.is_none() && [&from, &to].into_iter().flatten().any(|text| !is_time_of_day(text)) {
            return Err("an exclusion has two times (from and to, without timezone) or two times of day".to_owned());
        }
        Ok(Exclusion::Weekly(WeeklyExclusion {
            days: days.map(|days| parse_all(&days)).transpose()?,
            from: from.map(|from| from.parse()).transpose()?,
            to: to.map(|to| to.parse()).transpose()?,
            timezone,
        }))
    }
}

fn is_time_of_day(text: &str) -> bool {
    text.len() <= "22:00:00".len()
}

fn parse_all<T: FromStr<Err = String>>(texts: &[String]) -> Result<Vec<T>, String> {
    texts.iter().map(|text| text.parse()).collect()
}
