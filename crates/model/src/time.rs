//! Instants and lengths of time, to the millisecond.
//!
//! Invariant: a `Timestamp` lies between 1970 and the end of 9999, both in UTC. What does not fit is refused, never
//! wrapped. jiff's instants end 26 hours earlier, so that each has a wall-clock time in every zone; what lies behind
//! that is read and written over its calendar, which has no such end.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::quoted;

/// An instant: milliseconds since 1970 in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// 9999-12-31T23:59:59.999Z
const LAST_MS: i64 = 253_402_300_799_999;
const EPOCH: DateTime = jiff::civil::datetime(1970, 1, 1, 0, 0, 0, 0);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    #[error("the time lies outside 1970-01-01 to 9999-12-31")]
    OutOfRange,
    #[error("not a time: {0} (write it as 2026-11-15T19:30:00Z)")]
    NotATime(String),
    #[error("not a duration: {0} (write it as 500ms, 10s, 1h30m, 30d or PT5M)")]
    NotADuration(String),
}

impl Timestamp {
    pub const MIN: Timestamp = Timestamp(0);
    pub const MAX: Timestamp = Timestamp(LAST_MS);

    pub fn from_ms(ms: i64) -> Result<Timestamp, TimeError> {
        if (0..=LAST_MS).contains(&ms) { Ok(Timestamp(ms)) } else { Err(TimeError::OutOfRange) }
    }

    pub const fn ms(self) -> i64 {
        self.0
    }

    /// Later by `length`, or nothing when that would be after 9999.
    pub fn checked_add(self, length: Millis) -> Option<Timestamp> {
        let ms = self.0.checked_add(i64::try_from(length.ms()).ok()?)?;
        Timestamp::from_ms(ms).ok()
    }

    /// Later by `length`, at most the end of 9999.
    #[must_use]
    pub fn plus(self, length: Millis) -> Timestamp {
        self.checked_add(length).unwrap_or(Timestamp::MAX)
    }

    /// Earlier by `length`, at least 1970.
    #[must_use]
    pub fn minus(self, length: Millis) -> Timestamp {
        let ms = i64::try_from(length.ms()).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(ms).max(0))
    }

    /// Later by so many milliseconds, or earlier if they are negative; from 1970 to 9999.
    #[must_use]
    pub fn moved(self, by_ms: i64) -> Timestamp {
        let length = Millis::from_ms(by_ms.unsigned_abs());
        if by_ms < 0 { self.minus(length) } else { self.plus(length) }
    }

    /// How long after `earlier` this is; zero when it is not after it.
    pub fn since(self, earlier: Timestamp) -> Millis {
        Millis::from_ms(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// For reading it in a zone; in the last 26 hours of 9999, the last moment that has a time in every zone.
    pub fn to_jiff(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX)
    }

    /// Whether it is [`Timestamp::to_jiff`] exactly, and so has a time in every zone.
    pub fn has_local_times(self) -> bool {
        self.to_jiff().as_millisecond() == self.0
    }

    /// The instant at which the clocks of a zone show `wall`; at a change of the clock the one jiff calls compatible.
    pub fn in_zone(wall: DateTime, zone: &TimeZone) -> Result<Timestamp, TimeError> {
        match wall.to_zoned(zone.clone()) {
            Ok(zoned) => Timestamp::from_jiff(zoned.timestamp()),
            Err(_) => Timestamp::from_civil(wall, zone.to_offset(jiff::Timestamp::MAX)),
        }
    }

    /// As in RFC 3339. Events, snapshots and answers are full of them: no formatter in between.
    fn text(self) -> InstantText {
        let utc = self.to_civil();
        let mut text = InstantText(*b"0000-00-00T00:00:00.000Z");
        text.put(4, 4, utc.year().into());
        text.put(7, 2, utc.month().into());
        text.put(10, 2, utc.day().into());
        text.put(13, 2, utc.hour().into());
        text.put(16, 2, utc.minute().into());
        text.put(19, 2, utc.second().into());
        text.put(23, 3, utc.millisecond().into());
        text
    }

    /// The date and time in UTC.
    fn to_civil(self) -> DateTime {
        EPOCH.checked_add(SignedDuration::from_millis(self.0)).unwrap_or(DateTime::MAX)
    }

    /// The instant at which a clock that is ahead of UTC by `offset` shows `wall`.
    fn from_civil(wall: DateTime, offset: Offset) -> Result<Timestamp, TimeError> {
        let utc = wall.checked_sub(SignedDuration::from_secs(i64::from(offset.seconds())));
        let since = EPOCH.duration_until(utc.map_err(|_| TimeError::OutOfRange)?);
        i64::try_from(since.as_millis()).map_err(|_| TimeError::OutOfRange).and_then(Timestamp::from_ms)
    }

    pub fn from_jiff(at: jiff::Timestamp) -> Result<Timestamp, TimeError> {
        Timestamp::from_ms(at.as_millisecond())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

/// `2026-11-15T19:30:00.000Z`: every instant between 1970 and the end of 9999 takes as many characters.
struct InstantText([u8; 24]);

impl InstantText {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Writes `number` with leading zeros so that it ends before `end`.
    fn put(&mut self, end: usize, digits: usize, number: i64) {
        let mut rest = number.unsigned_abs();
        for place in (end - digits..end).rev() {
            self.0[place] = b"0123456789"[(rest % 10) as usize];
            rest /= 10;
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Timestamp, TimeError> {
        let refuse = || TimeError::NotATime(quoted(text));
        if let Ok(at) = text.trim().parse::<jiff::Timestamp>() {
            return Timestamp::from_jiff(at);
        }
        // Not a time, or one in the last hours of 9999.
        let pieces = Pieces::parse(text.trim()).map_err(|_| refuse())?;
        let offset = pieces.to_numeric_offset().ok_or_else(refuse)?;
        let wall = pieces.date().to_datetime(pieces.time().unwrap_or(Time::midnight()));
        Timestamp::from_civil(wall, offset)
    }
}

/// A text; in a binary format its milliseconds as eight bytes, which no text format can be mistaken for.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(self.text().as_str()),
            false => serializer.serialize_bytes(&self.0.to_be_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimestampVisitor)
    }
}

struct TimestampVisitor;

impl Visitor<'_> for TimestampVisitor {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Timestamp, E> {
        let ms =
            bytes.try_into().map(i64::from_be_bytes).map_err(|_| E::invalid_length(bytes.len(), &"eight bytes"))?;
        Timestamp::from_ms(ms).map_err(E::custom)
    }
}

/// A length of time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(u64);

impl Millis {
    pub const ZERO: Millis = Millis(0);

    pub const fn from_ms(ms: u64) -> Millis {
        Millis(ms)
    }
    pub const fn from_secs(secs: u64) -> Millis {
        Millis(secs.saturating_mul(1_000))
    }
    pub const fn from_hours(hours: u64) -> Millis {
        Millis(hours.saturating_mul(3_600_000))
    }
    pub const fn from_days(days: u64) -> Millis {
        Millis(days * 86_400_000)
    }
    pub const fn ms(self) -> u64 {
        self.0
    }
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }

    #[must_use]
    pub fn saturating_mul(self, by: u64) -> Millis {
        Millis(self.0.saturating_mul(by))
    }
}

/// `1h30m`, `500ms`, `2d`: the shortest form that reads back to the same length.
impl Millis {
    fn text(self) -> LengthText {
        const UNITS: [(u64, &str); 5] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
        let mut text = LengthText { bytes: [0; LengthText::BYTES_MAX], len: 0 };
        if self.0 == 0 {
            text.put(0, "s");
        }
        let mut rest = self.0;
        for (size, unit) in UNITS {
            if rest >= size {
                text.put(rest / size, unit);
                rest %= size;
            }
        }
        text
    }
}

/// `1h30m`: with every event of a job that has lengths they are written anew.
struct LengthText {
    bytes: [u8; LengthText::BYTES_MAX],
    len: usize,
}

impl LengthText {
    /// `213503982334d14h25m51s615ms`
    const BYTES_MAX: usize = 27;

    fn put(&mut self, number: u64, unit: &str) {
        let (from, mut rest) = (self.len, number);
        loop {
            self.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes[from..self.len].reverse();
        unit.bytes().for_each(|byte| self.push(byte));
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).expect("digits and units are text")
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl fmt::Debug for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Millis {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Millis, TimeError> {
        let refuse = || TimeError::NotADuration(quoted(text));
        let span: jiff::Span = text.trim().parse().map_err(|_| refuse())?;
        let length = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| refuse())?;
        u64::try_from(length.as_millis()).map(Millis).map_err(|_| refuse())
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_written_as_it_is_read() {
        for text in ["1ms", "500ms", "10s", "1h30m", "30d", "1d2h3m4s5ms", "0s"] {
            assert_eq!(text.parse::<Millis>().unwrap().to_string(), text);
        }
        assert_eq!("PT5M".parse::<Millis>().unwrap().to_string(), "5m");
        assert_eq!("90s".parse::<Millis>().unwrap().to_string(), "1m30s");
        assert_eq!(Millis(u64::MAX).to_string(), "213503982334d14h25m51s615ms");
        assert_eq!(Millis::ZERO.to_string(), "0s");
    }

    #[test]
    fn a_length_beyond_all_bounds_is_the_longest_there_is() {
        assert_eq!(Millis::from_secs(u64::MAX), Millis(u64::MAX));
        assert_eq!(Millis::from_hours(u64::MAX), Millis(u64::MAX));
    }

    #[test]
    fn nonsense_and_negative_lengths_are_refused() {
        for text in ["", "ten", "-5s", "5", "1y2"] {
            assert!(text.parse::<Millis>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_outside_1970_to_9999_is_refused_not_wrapped() {
        assert!("1969-12-31T23:59:59Z".parse::<Timestamp>().is_err());
        assert!(Timestamp::from_ms(-1).is_err());
        assert!(Timestamp::from_ms(LAST_MS + 1).is_err());
        assert!("+010000-01-01T00:00:00Z".parse::<Timestamp>().is_err());
    }

    #[test]
    fn an_instant_is_written_as_jiff_writes_it() {
        let steps = (0..LAST_MS - 200_000_000).step_by(9_876_543_210);
        for at in steps.chain([0, 1, 999, 951_782_399_999, 951_782_400_000, 4_107_542_400_000]) {
            let at = Timestamp::from_ms(at).unwrap();
            assert_eq!(at.to_string(), format!("{:.3}", at.to_jiff()));
        }
    }

    #[test]
    fn the_last_moments_of_9999_are_times_like_others() {
        for text in [
            "9999-12-30T22:00:00.000Z",
            "9999-12-30T22:00:01.000Z",
            "9999-12-31T00:00:00.000Z",
            "9999-12-31T23:59:59.000Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            let at: Timestamp = text.parse().unwrap();
            assert_eq!(at.to_string(), text);
            let json = serde_json::to_string(&at).unwrap();
            assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), at);
        }
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
        let read = |text: &str| text.parse::<Timestamp>().map(|at| at.to_string());
        assert_eq!(read("9999-12-31T23:59:59+01:00").unwrap(), "9999-12-31T22:59:59.000Z");
        assert_eq!(read("9999-12-31T20:00:00-03:00").unwrap(), "9999-12-31T23:00:00.000Z");
        assert_eq!(read("9999-12-31T23:59:59-00:01"), Err(TimeError::OutOfRange));
        for wrong in ["9999-12-31T23:59:59", "9999-12-32T00:00:00Z", "9999-12-31"] {
            assert!(matches!(read(wrong), Err(TimeError::NotATime(_))), "{wrong}");
        }
        assert!(Timestamp::MAX.checked_add(Millis::from_ms(1)).is_none());
        let wall: DateTime = "9999-12-31T23:59:59".parse().unwrap();
        let in_zone = |wall, zone: TimeZone| Timestamp::in_zone(wall, &zone).map(|at| at.to_string());
        assert_eq!(in_zone(wall, TimeZone::UTC).unwrap(), "9999-12-31T23:59:59.000Z");
        assert_eq!(in_zone(wall, TimeZone::fixed(Offset::constant(9))).unwrap(), "9999-12-31T14:59:59.000Z");
        assert_eq!(in_zone(wall, TimeZone::fixed(Offset::constant(-1))), Err(TimeError::OutOfRange));
        assert!(in_zone("1969-12-31T23:59:59".parse().unwrap(), TimeZone::UTC).is_err());
    }

    #[test]
    fn a_time_is_printed_in_utc_with_milliseconds() {
        let at: Timestamp = "2026-11-15T20:20:00+01:00".parse().unwrap();
        assert_eq!(at.to_string(), "2026-11-15T19:20:00.000Z");
        assert_eq!(serde_json::to_string(&at).unwrap(), "\"2026-11-15T19:20:00.000Z\"");
    }
}
