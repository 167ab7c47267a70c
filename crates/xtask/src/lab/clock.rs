//! Wall clock time as milliseconds since 1970 in UTC, read and written without the product's code.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY_MS: i64 = 86_400_000;

/// A moment on the calendar, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CivilTime {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    /// 0 is Sunday.
    pub(crate) weekday: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) millisecond: u32,
}

#[expect(clippy::disallowed_methods, reason = "whoever judges a scheduler from outside needs a clock of its own")]
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    i64::try_from(since.as_millis()).expect("it is not the far future")
}

#[expect(clippy::disallowed_methods, reason = "faults have a length")]
pub(crate) fn pause(ms: i64) {
    std::thread::sleep(Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
}

/// Asks again until it is so, or the time is up.
pub(crate) fn within(ms: i64, mut is_so: impl FnMut() -> bool) -> bool {
    let until = now_ms() + ms;
    loop {
        if is_so() {
            return true;
        }
        if now_ms() > until {
            return false;
        }
        pause(25);
    }
}

pub(crate) fn civil(ms: i64) -> CivilTime {
    let days = ms.div_euclid(DAY_MS);
    let in_day = ms.rem_euclid(DAY_MS);
    let (year, month, day) = date_of(days);
    let part = |unit: i64, modulo: i64| u32::try_from(in_day / unit % modulo).expect("it is not negative");
    CivilTime {
        year,
        month,
        day,
        weekday: u32::try_from((days + 4).rem_euclid(7)).expect("it is not negative"),
        hour: part(3_600_000, 24),
        minute: part(60_000, 60),
        second: part(1_000, 60),
        millisecond: part(1, 1_000),
    }
}

pub(crate) fn rfc3339(ms: i64) -> String {
    let CivilTime { year, month, day, hour, minute, second, millisecond, .. } = civil(ms);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

/// `2026-11-18T00:49:43.508Z`; the fraction may be missing or longer.
pub(crate) fn parse_rfc3339(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let days = days_of(date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let seconds = time.next()?? * 3_600 + time.next()?? * 60 + time.next()??;
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    Some(days * DAY_MS + seconds * 1_000 + fraction.parse::<i64>().ok()?)
}

/// Days since 1970-01-01 in the Gregorian calendar, counted in eras of 400 years that begin in March.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let small = |value: i64| u32::try_from(value).expect("it is a month or a day");
    let (month, day) = (small((from_march + 2) % 12 + 1), small(of_year - (153 * from_march + 2) / 5 + 1));
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2026-11-18T00:49:43.508Z", 1_794_962_983_508),
            ("2024-02-29T23:59:59.999Z", 1_709_251_199_999),
        ] {
            assert_eq!((rfc3339(ms).as_str(), parse_rfc3339(text)), (text, Some(ms)));
        }
        assert_eq!(parse_rfc3339("2026-11-18T00:49:43Z"), Some(1_794_962_983_000));
        assert_eq!(parse_rfc3339("2026-11-18T00:49:43.5081239Z"), Some(1_794_962_983_508));
        assert_eq!((parse_rfc3339("-"), parse_rfc3339("2026-11-18")), (None, None));
    }

    #[test]
    fn days_have_their_names() {
        assert_eq!(civil(1_794_962_983_508).weekday, 3, "18 November 2026 is a Wednesday");
        assert_eq!(civil(0).weekday, 4, "1970 began on a Thursday");
    }
}
