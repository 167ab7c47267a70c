//! A cron expression as a pattern of wall-clock seconds. It knows no zone; see `dst` for what a clock change does.
//!
//! Invariant: a search looks at months and years, never at one second after the other, and ends: a calendar without a
//! match in 400 years has none.

mod days;
mod expression;
mod field;
mod values;

use days::Month;
pub(super) use days::{Days, OfMonth, OfWeek};
use jiff::civil::Date;
pub(super) use values::{Toward, Values, Years};

use super::zone::DAY_SECS;

/// After so many years the calendar repeats itself to the weekday.
const CALENDAR_CYCLE_YEARS: i16 = 400;
const EPOCH: Date = jiff::civil::date(1970, 1, 1);

#[derive(Debug, Clone)]
pub(super) struct CronPattern {
    pub(super) seconds: Values,
    pub(super) minutes: Values,
    pub(super) hours: Values,
    /// An hour field of `*` or `*/n` as a whole: a beat rather than times of day.
    pub(super) is_interval: bool,
    pub(super) days: Days,
    pub(super) months: Values,
    pub(super) years: Years,
}

impl CronPattern {
    pub(super) fn parse(expr: &str) -> Result<CronPattern, String> {
        expression::parse(expr)
    }

    /// The match nearest to the wall-clock second, which may be that second itself.
    pub(super) fn nearest(&self, wall: i64, toward: Toward) -> Option<i64> {
        let (day, second) = (wall.div_euclid(DAY_SECS), wall.rem_euclid(DAY_SECS));
        let today = date_of(day)?;
        if self.runs_on(today)
            && let Some(time) = self.time(u32::try_from(second).ok()?, toward)
        {
            return Some(day * DAY_SECS + time);
        }
        let next = match toward {
            Toward::Future => today.tomorrow().ok()?,
            Toward::Past => today.yesterday().ok()?,
        };
        let edge = match toward {
            Toward::Future => 0,
            Toward::Past => 86_399,
        };
        Some(day_number(self.date(next, toward)?) * DAY_SECS + self.time(edge, toward)?)
    }

    pub(super) fn at_or_after(&self, wall: i64) -> Option<i64> {
        self.nearest(wall, Toward::Future)
    }

    pub(super) fn at_or_before(&self, wall: i64) -> Option<i64> {
        self.nearest(wall, Toward::Past)
    }

    pub(super) fn matches(&self, wall: i64) -> bool {
        self.at_or_after(wall) == Some(wall)
    }

    fn runs_on(&self, date: Date) -> bool {
        self.years.contains(date.year())
            && self.months.contains(number(date.month()))
            && self.days.of(month_of(date)).contains(number(date.day()))
    }

    /// The nearest time of day, in seconds.
    fn time(&self, second: u32, toward: Toward) -> Option<i64> {
        let [hour, minute, second] =
            [second / 3_600, second / 60 % 60, second % 60].map(|part| u16::try_from(part).unwrap_or_default());
        let at = |hour: u16, minute: u16, second: u16| {
            Some(i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second))
        };
        if self.hours.contains(hour) {
            if self.minutes.contains(minute)
                && let Some(second) = self.seconds.nearest(second, toward)
            {
                return at(hour, minute, second);
            }
            if let Some(minute) = self.minutes.beyond(minute, toward) {
                return at(hour, minute, self.seconds.outermost(toward)?);
            }
        }
        let hour = self.hours.beyond(hour, toward)?;
        at(hour, self.minutes.outermost(toward)?, self.seconds.outermost(toward)?)
    }

    /// The nearest date on which the pattern runs.
    fn date(&self, from: Date, toward: Toward) -> Option<Date> {
        let first = self.month_from(from.year(), number(from.month()), toward);
        let months = std::iter::successors(first, |(year, month)| self.month_beyond(*year, *month, toward));
        for (year, month) in months.take_while(|(year, _)| self.may_still_come(from.year(), *year)) {
            let begin = Date::new(year, i8::try_from(month).ok()?, 1).ok()?;
            let same_month = (begin.year(), begin.month()) == (from.year(), from.month());
            let days = self.days.of(month_of(begin));
            let day = if same_month { days.nearest(number(from.day()), toward) } else { days.outermost(toward) };
            if let Some(day) = day {
                return Date::new(year, begin.month(), i8::try_from(day).ok()?).ok();
            }
        }
        None
    }

    fn month_from(&self, year: i16, month: u16, toward: Toward) -> Option<(i16, u16)> {
        match self.months.nearest(month, toward).filter(|_| self.years.contains(year)) {
            Some(month) => Some((year, month)),
            None => self.month_in_another_year(year, toward),
        }
    }

    fn month_beyond(&self, year: i16, month: u16, toward: Toward) -> Option<(i16, u16)> {
        match self.months.beyond(month, toward) {
            Some(month) => Some((year, month)),
            None => self.month_in_another_year(year, toward),
        }
    }

    fn month_in_another_year(&self, year: i16, toward: Toward) -> Option<(i16, u16)> {
        Some((self.years.beyond(year, toward)?, self.months.outermost(toward)?))
    }

    fn may_still_come(&self, from: i16, year: i16) -> bool {
        match self.years {
            Years::Every => year.abs_diff(from) <= CALENDAR_CYCLE_YEARS.unsigned_abs(),
            Years::Of(_) => true,
        }
    }
}

/// Wall-clock days are counted as if the wall clock showed UTC.
fn date_of(day: i64) -> Option<Date> {
    EPOCH.checked_add(jiff::Span::new().try_days(day).ok()?).ok()
}

fn day_number(date: Date) -> i64 {
    EPOCH.duration_until(date).as_secs() / DAY_SECS
}

fn month_of(date: Date) -> Month {
    Month {
        length: number(date.days_in_month()),
        begins_on: number(date.first_of_month().weekday().to_sunday_zero_offset()),
    }
}

/// Days, months and weekdays are never negative.
fn number(part: i8) -> u16 {
    u16::try_from(part).unwrap_or_default()
}
