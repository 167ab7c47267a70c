//! Schedules without strings: what they say is checked when they are made, not when the job is scheduled.
//!
//! Invariant: a schedule that can be held is one that the engine takes; only its time may have passed by then.

use std::str::FromStr;
use std::time::Duration;

use ordo_model::job::Trigger;
use ordo_model::schedule::{Dst, Exclusion, Repeated, Rule, Schedule, Skipped, Weekday};
use ordo_model::{Millis, Timestamp, zones};

use super::Error;

/// A time zone of the IANA database.
///
/// ```
/// use ordo::ZoneName;
///
/// let berlin = ZoneName::new("Europe/Berlin")?;
/// assert_eq!(berlin.as_str(), "Europe/Berlin");
/// assert!(ZoneName::new("Europe/Atlantis").is_err());
/// # Ok::<(), ordo::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneName(String);

impl ZoneName {
    /// The zone of this name, such as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there is none.
    pub fn new(name: &str) -> Result<ZoneName, Error> {
        match zones::current().get(name) {
            Some(_) => Ok(ZoneName(name.to_owned())),
            None => Err(Error::Invalid(format!("there is no time zone {name:?}"))),
        }
    }

    /// Coordinated universal time, whose clocks never change.
    pub fn utc() -> ZoneName {
        ZoneName("UTC".to_owned())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ZoneName {
    type Err = Error;

    fn from_str(name: &str) -> Result<ZoneName, Error> {
        ZoneName::new(name)
    }
}

/// Again and again after the same time.
///
/// ```
/// use std::time::Duration;
/// use ordo::{Every, Timestamp};
///
/// let often = Every::new(Duration::from_secs(30))?;
/// let spread = Every::hours(1)?.jitter(Duration::from_secs(300));
/// let aligned = Every::minutes(15)?.starting("2027-01-01T00:00:00Z".parse().unwrap());
/// assert!(Every::new(Duration::ZERO).is_err());
/// # Ok::<(), ordo::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Every(Schedule);

impl Every {
    /// Every so often, for the first time after one interval.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the interval is shorter than a millisecond or longer than ten years.
    pub fn new(interval: Duration) -> Result<Every, Error> {
        checked(plain(Rule::Every { every: millis(interval) })).map(Every)
    }

    /// Every so many seconds.
    ///
    /// # Errors
    ///
    /// As [`Every::new`].
    pub fn seconds(count: u64) -> Result<Every, Error> {
        Every::new(Duration::from_secs(count))
    }

    /// Every so many minutes.
    ///
    /// # Errors
    ///
    /// As [`Every::new`].
    pub fn minutes(count: u64) -> Result<Every, Error> {
        Every::new(Duration::from_secs(count.saturating_mul(60)))
    }

    /// Every so many hours.
    ///
    /// # Errors
    ///
    /// As [`Every::new`].
    pub fn hours(count: u64) -> Result<Every, Error> {
        Every::new(Duration::from_secs(count.saturating_mul(3_600)))
    }

    /// The first time is then, and all others are counted from it.
    #[must_use]
    pub fn starting(mut self, at: Timestamp) -> Every {
        self.0.start = Some(at);
        self
    }

    /// None at or after this time.
    #[must_use]
    pub fn until(mut self, end: Timestamp) -> Every {
        self.0.end = Some(end);
        self
    }

    /// Each time up to so much later, by an amount that is always the same for the same job and time.
    #[must_use]
    pub fn jitter(mut self, most: Duration) -> Every {
        self.0.jitter = Some(millis(most));
        self
    }

    /// None inside these times.
    #[must_use]
    pub fn except(mut self, exclusion: Exclusion) -> Every {
        self.0.exclude.push(exclusion);
        self
    }
}

/// By the clock on the wall of a time zone.
///
/// ```
/// use ordo::{Cron, Skipped, Weekday, ZoneName};
///
/// let berlin = ZoneName::new("Europe/Berlin")?;
/// let nightly = Cron::daily(2, 30)?.zone(berlin.clone());
/// let digest = Cron::weekly(Weekday::Mon, 9, 0)?.zone(berlin.clone());
/// let invoices = Cron::monthly(1, 6, 0)?.zone(berlin.clone()).when_skipped(Skipped::Skip);
/// let odd: Cron = "*/7 8-18 * * MON-FRI".parse()?;
/// assert_eq!(nightly.expression(), "30 2 * * *");
/// assert!("61 * * * *".parse::<Cron>().is_err());
/// assert!(Cron::daily(24, 0).is_err());
/// # Ok::<(), ordo::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cron(Schedule);

impl Cron {
    /// By an expression with five fields, or six with seconds first; in UTC until a [zone](Cron::zone) is given.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] says what is wrong with the expression.
    pub fn new(expression: &str) -> Result<Cron, Error> {
        let rule = Rule::Cron { expr: expression.to_owned(), timezone: "UTC".to_owned(), dst: Dst::default() };
        checked(plain(rule)).map(Cron)
    }

    /// Every hour, at this minute.
    ///
    /// # Errors
    ///
    /// As [`Cron::new`], like all of these.
    pub fn hourly(minute: u8) -> Result<Cron, Error> {
        Cron::new(&format!("{minute} * * * *"))
    }

    /// Every day at this time.
    ///
    /// # Errors
    ///
    /// As [`Cron::new`].
    pub fn daily(hour: u8, minute: u8) -> Result<Cron, Error> {
        Cron::new(&format!("{minute} {hour} * * *"))
    }

    /// Every week on this day at this time.
    ///
    /// # Errors
    ///
    /// As [`Cron::new`].
    pub fn weekly(day: Weekday, hour: u8, minute: u8) -> Result<Cron, Error> {
        let day = match day {
            Weekday::Mon => "MON",
            Weekday::Tue => "TUE",
            Weekday::Wed => "WED",
            Weekday::Thu => "THU",
            Weekday::Fri => "FRI",
            Weekday::Sat => "SAT",
            Weekday::Sun => "SUN",
        };
        Cron::new(&format!("{minute} {hour} * * {day}"))
    }

    /// Every month on this day at this time. Months without the day are left out: see [`Cron::month_end`].
    ///
    /// # Errors
    ///
    /// As [`Cron::new`].
    pub fn monthly(day: u8, hour: u8, minute: u8) -> Result<Cron, Error> {
        Cron::new(&format!("{minute} {hour} {day} * *"))
    }

    /// On the last day of every month at this time.
    ///
    /// # Errors
    ///
    /// As [`Cron::new`].
    pub fn month_end(hour: u8, minute: u8) -> Result<Cron, Error> {
        Cron::new(&format!("{minute} {hour} L * *"))
    }

    /// The zone whose clock counts.
    #[must_use]
    pub fn zone(mut self, zone: ZoneName) -> Cron {
        if let Rule::Cron { timezone, .. } = &mut self.0.rule {
            *timezone = zone.0;
        }
        self
    }

    /// What happens to a time that the zone's clocks jump over.
    #[must_use]
    pub fn when_skipped(mut self, skipped: Skipped) -> Cron {
        if let Rule::Cron { dst, .. } = &mut self.0.rule {
            dst.skipped = skipped;
        }
        self
    }

    /// What happens to a time that the zone's clocks show twice.
    #[must_use]
    pub fn when_repeated(mut self, repeated: Repeated) -> Cron {
        if let Rule::Cron { dst, .. } = &mut self.0.rule {
            dst.repeated = repeated;
        }
        self
    }

    /// None before this time.
    #[must_use]
    pub fn starting(mut self, at: Timestamp) -> Cron {
        self.0.start = Some(at);
        self
    }

    /// None at or after this time.
    #[must_use]
    pub fn until(mut self, end: Timestamp) -> Cron {
        self.0.end = Some(end);
        self
    }

    /// Each time up to so much later, by an amount that is always the same for the same job and time.
    #[must_use]
    pub fn jitter(mut self, most: Duration) -> Cron {
        self.0.jitter = Some(millis(most));
        self
    }

    /// None inside these times.
    #[must_use]
    pub fn except(mut self, exclusion: Exclusion) -> Cron {
        self.0.exclude.push(exclusion);
        self
    }

    /// As it is written.
    pub fn expression(&self) -> &str {
        match &self.0.rule {
            Rule::Cron { expr, .. } => expr,
            Rule::At { .. } | Rule::Every { .. } => "",
        }
    }
}

impl FromStr for Cron {
    type Err = Error;

    fn from_str(expression: &str) -> Result<Cron, Error> {
        Cron::new(expression)
    }
}

/// Once, at this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(pub Timestamp);

impl From<Every> for Trigger {
    fn from(every: Every) -> Trigger {
        Trigger::Scheduled(every.0)
    }
}

impl From<Cron> for Trigger {
    fn from(cron: Cron) -> Trigger {
        Trigger::Scheduled(cron.0)
    }
}

impl From<At> for Trigger {
    fn from(At(at): At) -> Trigger {
        Trigger::Scheduled(plain(Rule::At { at }))
    }
}

fn plain(rule: Rule) -> Schedule {
    Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() }
}

fn checked(schedule: Schedule) -> Result<Schedule, Error> {
    schedule.validate().map_err(|error| Error::Invalid(format!("{}: {}", error.field, error.message)))?;
    Ok(schedule)
}

pub(super) fn millis(length: Duration) -> Millis {
    Millis::from_ms(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}
