//! Times as people write and read them: in their zone, or in the one they name.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use ordo_model::{Millis, Timestamp, zones};

use crate::error::{Error, Result};

/// This machine's zone, or UTC where it cannot be known.
pub(crate) fn local() -> TimeZone {
    TimeZone::try_system().unwrap_or(TimeZone::UTC)
}

pub(crate) fn named(name: &str) -> Option<TimeZone> {
    zones::current().get(name)
}

/// The zone somebody asked for, or this machine's.
pub(crate) fn asked(name: Option<&str>) -> Result<TimeZone> {
    let Some(name) = name else { return Ok(local()) };
    named(name).ok_or_else(|| {
        Error::misused(format!("unknown time zone {name:?}"))
            .hint("write it as in the IANA database: Europe/Berlin, America/New_York, UTC")
    })
}

/// `2026-12-24T18:00:00Z`, `2026-12-24 18:00` or `18:00` (the next one) in the zone.
pub(crate) fn parse(flag: &str, text: &str, zone: &TimeZone, now: Timestamp) -> Result<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let refuse = |why: String| {
        Error::misused(format!("{flag}: {why}"))
            .hint("write 2026-12-24T18:00:00Z, or \"2026-12-24 18:00\" or 18:00 with --tz for another zone than this machine's")
    };
    let wall = match (text.parse::<DateTime>(), clock(text)) {
        (_, Some(time)) => next_at(time, zone, now),
        (Ok(wall), None) => Some(wall),
        (Err(_), None) => None,
    };
    let wall = wall.ok_or_else(|| refuse(format!("{text:?} is not a time")))?;
    Timestamp::in_zone(wall, zone).map_err(|error| refuse(error.to_string()))
}

/// A time of day alone: `18:00`, `7:30:15`.
fn clock(text: &str) -> Option<Time> {
    let looks_like_one = text.len() <= 8 && text.contains(':') && !text.contains('-');
    looks_like_one.then(|| format!("{text:0>5}").parse().ok()).flatten()
}

fn next_at(time: Time, zone: &TimeZone, now: Timestamp) -> Option<DateTime> {
    let here = now.to_jiff().to_zoned(zone.clone()).datetime();
    let today = here.date().to_datetime(time);
    if today > here { Some(today) } else { here.date().tomorrow().ok().map(|day| day.to_datetime(time)) }
}

/// A time, or a duration before now.
pub(crate) fn since(flag: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    match text.parse::<Millis>() {
        Ok(ago) => Ok(now.minus(ago)),
        Err(_) => parse(flag, text, &local(), now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, zone: &str) -> String {
        let now = "2026-11-15T17:30:00Z".parse().unwrap();
        parse("--at", text, &named(zone).unwrap(), now).map_or_else(|_| "refused".into(), |at| at.to_string())
    }

    #[test]
    fn a_time_is_read_in_its_own_offset_or_in_the_zone() {
        assert_eq!(read("2026-12-24T18:00:00+02:00", "Europe/Berlin"), "2026-12-24T16:00:00.000Z");
        assert_eq!(read("2026-12-24 18:00", "Europe/Berlin"), "2026-12-24T17:00:00.000Z");
        assert_eq!(read("2026-12-24T18:00:05", "UTC"), "2026-12-24T18:00:05.000Z");
        assert_eq!(read("2026-12-24", "UTC"), "2026-12-24T00:00:00.000Z");
        assert_eq!(read("9999-12-31 23:59:59", "UTC"), "9999-12-31T23:59:59.000Z");
        assert_eq!(read("tomorrow", "UTC"), "refused");
    }

    #[test]
    fn a_time_of_day_is_the_next_one() {
        assert_eq!(read("18:00", "UTC"), "2026-11-15T18:00:00.000Z");
        assert_eq!(read("17:00", "UTC"), "2026-11-16T17:00:00.000Z");
        assert_eq!(read("7:05", "Europe/Berlin"), "2026-11-16T06:05:00.000Z");
    }
}
