//! A named zone as a row of segments in which its clock runs evenly.
//!
//! Invariant: inside a segment `wall = instant + offset`; a clock change lies exactly on the border of two segments.
//! The rules come from the database of this process (`zones`), which is in memory: no disk.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::zones;

/// Seconds before every change of a clock and after it: no zone reaches this far.
const BEFORE_ALL: i64 = -400_000_000_000;
const AFTER_ALL: i64 = 400_000_000_000;
/// jiff ends two days before the year 10000, so that every zone can still be written down.
const JIFF_FIRST: i64 = -377_705_023_201;
const JIFF_LAST: i64 = 253_402_207_200;
const NEAR_NAME_MAX_EDITS: usize = 3;

pub(super) const DAY_SECS: i64 = 86_400;

#[derive(Debug, Clone)]
pub(super) struct Zone {
    rules: TimeZone,
    /// UTC and the like never change: their segments need no search.
    fixed: Option<i64>,
}

/// From one change of the clock to the next, in seconds since 1970. `before` and `after` are the neighbours' offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OffsetSegment {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) before: i64,
    pub(super) offset: i64,
    pub(super) after: i64,
}

impl Zone {
    /// The zone of that IANA name, or why there is none.
    pub(super) fn get(name: &str) -> Result<Zone, String> {
        let rules = zones::current().get(name).ok_or_else(|| unknown(name))?;
        let fixed = rules.to_fixed_offset().ok().map(|offset| i64::from(offset.seconds()));
        Ok(Zone { rules, fixed })
    }

    /// `2026-03-29T03:00:00+02:00[Europe/Berlin]`
    pub(super) fn shown(&self, second: i64) -> String {
        if second <= JIFF_LAST {
            return at(second).to_zoned(self.rules.clone()).to_string();
        }
        let offset = self.offset_at(second);
        let epoch = jiff::civil::datetime(1970, 1, 1, 0, 0, 0, 0);
        let wall = epoch.checked_add(jiff::SignedDuration::from_secs(second + offset)).unwrap_or(DateTime::MAX);
        let (sign, ahead) = if offset < 0 { ('-', -offset) } else { ('+', offset) };
        let name = self.rules.iana_name().unwrap_or("UTC");
        format!("{wall}{sign}{:02}:{:02}[{name}]", ahead / 3_600, ahead / 60 % 60)
    }

    /// The segment that holds the instant.
    pub(super) fn segment(&self, second: i64) -> OffsetSegment {
        if let Some(offset) = self.fixed {
            return OffsetSegment { start: BEFORE_ALL, end: AFTER_ALL, before: offset, offset, after: offset };
        }
        let offset = self.offset_at(second);
        let (start, before) = match self.rules.preceding(at(second + 1)).next() {
            Some(change) => {
                let start = change.timestamp().as_second();
                (start, self.offset_at(start - 1))
            }
            None => (BEFORE_ALL, offset),
        };
        let (end, after) = match self.rules.following(at(second)).next() {
            Some(change) => (change.timestamp().as_second(), i64::from(change.offset().seconds())),
            None => (AFTER_ALL, offset),
        };
        OffsetSegment { start, end, before, offset, after }
    }

    fn offset_at(&self, second: i64) -> i64 {
        i64::from(self.rules.to_offset(at(second)).seconds())
    }
}

impl OffsetSegment {
    pub(super) fn is_last(&self) -> bool {
        self.end == AFTER_ALL
    }

    pub(super) fn starts_with_a_gap(&self) -> bool {
        self.before < self.offset
    }

    pub(super) fn wall(&self, second: i64) -> i64 {
        second + self.offset
    }
}

/// The instant in jiff's words; beyond jiff's range, the end of that range.
pub(super) fn at(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(second.clamp(JIFF_FIRST, JIFF_LAST)).expect("clamped to jiff's range")
}

fn unknown(name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    match nearest_name(&short) {
        Some(near) => format!("there is no time zone {short:?}; did you mean {near:?}?"),
        None => format!("there is no time zone {short:?}; write an IANA name such as \"Europe/Berlin\" or \"UTC\""),
    }
}

/// The name that is meant: the same city elsewhere, or the fewest edits away.
fn nearest_name(wrong: &str) -> Option<String> {
    let wrong = wrong.trim().to_lowercase().replace(' ', "_");
    let allowed = NEAR_NAME_MAX_EDITS.min(wrong.chars().count() / 3);
    let city = city_of(&wrong).to_owned();
    zones::current()
        .names()
        .filter_map(|name| {
            let known = name.to_lowercase();
            let edits = if city.len() > 3 && city_of(&known) == city { 0 } else { edits(&wrong, &known) };
            (edits <= allowed).then(|| (edits, !known.contains('/'), name.to_owned()))
        })
        .min()
        .map(|(_, _, name)| name)
}

fn city_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// How many characters to insert, delete or replace to get from one word to the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_zone_is_answered_with_the_one_that_was_meant() {
        for (wrong, meant) in [
            ("Europe/Berln", "Europe/Berlin"),
            ("europe berlin", "Europe/Berlin"),
            ("Berlin", "Europe/Berlin"),
            ("Asia/Sydney", "Australia/Sydney"),
            ("America/New York", "America/New_York"),
            ("America/NewYork", "America/New_York"),
        ] {
            assert!(unknown(wrong).contains(&format!("{meant:?}")), "{wrong}: {}", unknown(wrong));
        }
        assert!(unknown("qqqqqqqqqqqq").contains("IANA name"));
    }

    #[test]
    fn segments_meet_at_the_change_of_the_clock() {
        let berlin = Zone::get("Europe/Berlin").unwrap();
        let spring = 1_774_746_000; // 2026-03-29T01:00:00Z
        let (winter, summer) = (berlin.segment(spring - 1), berlin.segment(spring));
        assert_eq!((winter.end, winter.offset, winter.after), (spring, 3_600, 7_200));
        assert_eq!((summer.start, summer.before, summer.offset), (spring, 3_600, 7_200));
        assert!(summer.starts_with_a_gap() && !winter.starts_with_a_gap());
    }

    #[test]
    fn a_zone_without_changes_is_one_segment() {
        let utc = Zone::get("UTC").unwrap().segment(0);
        assert_eq!((utc.start, utc.end), (BEFORE_ALL, AFTER_ALL));
        assert!(utc.is_last());
    }
}
