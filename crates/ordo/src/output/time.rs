//! Times and lengths of time as people read them: never ambiguous, always with a zone.

use jiff::tz::TimeZone;
use ordo_model::{Millis, Timestamp};
use serde_json::Value;

/// `2026-11-15 20:01:30 UTC`
pub(crate) fn absolute(at: Timestamp, zone: &TimeZone) -> String {
    if !at.has_local_times() {
        return at.to_string();
    }
    let zoned = at.to_jiff().to_zoned(zone.clone());
    let form = if at.ms() % 1_000 == 0 { "%Y-%m-%d %H:%M:%S %Z" } else { "%Y-%m-%d %H:%M:%S%.3f %Z" };
    zoned.strftime(form).to_string()
}

/// `in 10s`, `3m ago`, `now`
pub(crate) fn relative(at: Timestamp, now: Timestamp) -> String {
    match at.ms().cmp(&now.ms()) {
        std::cmp::Ordering::Greater => format!("in {}", rough(at.since(now))),
        std::cmp::Ordering::Less => format!("{} ago", rough(now.since(at))),
        std::cmp::Ordering::Equal => "now".to_owned(),
    }
}

/// The same for what has happened: a clock elsewhere that is ahead does not put it into the future.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    relative(at.min(now), now)
}

/// `2026-11-15 20:01:30 UTC (in 10s)`
pub(crate) fn both(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    format!("{} ({})", absolute(at, zone), relative(at, now))
}

/// The two largest units, rounded: people do not wait for `3d 4h 12m 7s 311ms`.
pub(crate) fn rough(length: Millis) -> String {
    const STEPS: [(u64, u64); 5] =
        [(86_400_000, 3_600_000), (3_600_000, 60_000), (60_000, 1_000), (1_000, 1_000), (1, 1)];
    let ms = length.ms();
    // Just below a second is a second; from there on whole seconds do.
    let ms = if ms >= 950 { ms.saturating_add(500) / 1_000 * 1_000 } else { ms };
    let (_, unit) = STEPS.into_iter().find(|(size, _)| ms >= *size).unwrap_or((1, 1));
    Millis::from_ms((ms + unit / 2) / unit * unit).to_string()
}

/// A time inside JSON.
pub(crate) fn of(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_shown_in_two_units() {
        for (ms, said) in [
            (0, "0s"),
            (7, "7ms"),
            (949, "949ms"),
            (960, "1s"),
            (9_980, "10s"),
            (61_400, "1m1s"),
            (3_725_000, "1h2m"),
            (86_399_900, "1d"),
            (273_600_000, "3d4h"),
        ] {
            assert_eq!(rough(Millis::from_ms(ms)), said, "{ms}");
        }
    }

    #[test]
    fn a_time_says_its_zone() {
        let at: Timestamp = "2026-11-15T19:01:30Z".parse().unwrap();
        assert_eq!(absolute(at, &TimeZone::UTC), "2026-11-15 19:01:30 UTC");
        assert_eq!(
            absolute(at, &ordo_model::zones::current().get("Europe/Berlin").unwrap()),
            "2026-11-15 20:01:30 CET"
        );
        assert_eq!(absolute(Timestamp::MAX, &TimeZone::UTC), "9999-12-31T23:59:59.999Z");
        assert_eq!(relative(at, at.minus(Millis::from_secs(10))), "in 10s");
        assert_eq!(relative(at, at.plus(Millis::from_secs(90))), "1m30s ago");
        assert_eq!(ago(at, at.plus(Millis::from_secs(90))), "1m30s ago");
        assert_eq!(ago(at, at.minus(Millis::from_secs(10))), "now");
    }
}
