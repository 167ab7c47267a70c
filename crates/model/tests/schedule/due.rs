//! What is due after a silence, however long: nothing is lost, nothing is stepped through.

use std::time::Instant;

use ordo_model::limits::GAP_COUNT_MAX;
use ordo_model::schedule::{Dst, Due, Occurrence, Repeated, Rule, Schedule, Skipped};
use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

const JOB: Uuid = Uuid::from_u128(0x0123_4567_89ab_cdef);
/// Far above what an answer takes, far below what stepping through would.
const QUICK_MS: u128 = 20_000;

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn every(text: &str, start: &str) -> Schedule {
    let rule = Rule::Every { every: text.parse().unwrap() };
    Schedule { rule, start: Some(instant(start)), end: None, jitter: None, exclude: Vec::new() }
}

fn cron(expr: &str, zone: &str) -> Schedule {
    let rule = Rule::Cron { expr: expr.to_owned(), timezone: zone.to_owned(), dst: Dst::default() };
    Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() }
}

fn first(schedule: &Schedule, from: &str) -> Occurrence {
    schedule.first_at_or_after(instant(from), JOB).unwrap()
}

/// A guard against a search without an end, no measure of speed.
#[allow(clippy::disallowed_methods, reason = "a guard against a search without an end needs a clock")]
fn quickly<T>(what: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let answer = what();
    assert!(begun.elapsed().as_millis() < QUICK_MS, "took {:?}", begun.elapsed());
    answer
}

#[test]
fn nothing_is_due_before_its_time() {
    let hourly = every("1h", "2026-01-01T00:00:00Z");
    let first = first(&hourly, "2026-01-01T00:30:00Z");
    let due = hourly.due(first, instant("2026-01-01T00:59:59.999Z"), 5, JOB);
    assert_eq!(due, Due { older: None, newest: Vec::new(), next: Some(first) });
}

#[test]
fn one_that_is_due_now_is_given_with_the_one_after_it() {
    let hourly = every("1h", "2026-01-01T00:00:00Z");
    let first = first(&hourly, "2026-01-01T00:30:00Z");
    let due = hourly.due(first, instant("2026-01-01T01:00:00Z"), 5, JOB);
    assert_eq!((due.older, due.newest), (None, vec![first]));
    assert_eq!(due.next.unwrap().nominal, instant("2026-01-01T02:00:00Z"));
}

#[test]
fn ten_years_of_milliseconds_are_counted_at_once() {
    let busy = every("1ms", "2016-01-01T00:00:00Z");
    let now = instant("2026-01-01T00:00:00Z");
    let due = quickly(|| busy.due(first(&busy, "2016-01-01T00:00:00Z"), now, 3, JOB));
    let older = due.older.unwrap();
    assert_eq!(older.count, now.since(instant("2016-01-01T00:00:00Z")).ms() + 1 - 3);
    assert!(older.exact);
    assert_eq!(due.newest.iter().map(|o| now.since(o.nominal).ms()).collect::<Vec<_>>(), [2, 1, 0]);
    assert_eq!(older.to, now.minus(Millis::from_ms(3)));
    assert_eq!(due.next.unwrap().nominal, now.plus(Millis::from_ms(1)));
}

#[test]
fn weekends_are_left_out_of_the_count_without_stepping_through_them() {
    let mut busy = every("1ms", "2024-01-01T00:00:00Z"); // a Monday
    busy.exclude = vec![serde_json::from_str(r#"{"days": ["sat", "sun"]}"#).unwrap()];
    let now = instant("2025-01-06T00:00:00Z"); // a Monday, 53 weeks later
    let due = quickly(|| busy.due(first(&busy, "2024-01-01T00:00:00Z"), now, 2, JOB));
    let older = due.older.unwrap();
    assert_eq!((older.count, older.exact), (53 * 5 * 86_400_000 - 1, true));
    assert_eq!(due.newest[0].nominal, instant("2025-01-03T23:59:59.999Z"));
    assert_eq!(due.newest[1].nominal, now);
}

#[test]
fn a_count_that_would_take_too_long_is_a_lower_bound() {
    let mut busy = every("1ms", "1970-01-01T00:00:00Z");
    busy.exclude = vec![serde_json::from_str(r#"{"from": "12:00", "to": "12:30"}"#).unwrap()];
    let now = instant("2026-01-01T12:15:00Z");
    let due = quickly(|| busy.due(first(&busy, "1970-01-01T00:00:00Z"), now, 1, JOB));
    assert!(!due.older.unwrap().exact);
    assert_eq!(due.newest[0].nominal, instant("2026-01-01T11:59:59.999Z"));
    assert_eq!(due.next.unwrap().nominal, instant("2026-01-01T12:30:00Z"));
}

#[test]
fn a_year_of_seconds_by_cron_is_not_walked_through() {
    let busy = cron("* * * * * *", "Europe/Berlin");
    let now = instant("2026-01-01T00:00:00Z");
    let due = quickly(|| busy.due(first(&busy, "2025-01-01T00:00:00Z"), now, 100, JOB));
    let older = due.older.unwrap();
    assert!(!older.exact && older.count >= GAP_COUNT_MAX);
    assert_eq!(older.to, now.minus(Millis::from_secs(100)));
    assert_eq!(due.newest.len(), 100);
    assert_eq!(due.newest[99].nominal, now);
    assert_eq!(due.next.unwrap().nominal, now.plus(Millis::from_secs(1)));
}

#[test]
fn a_gap_that_can_be_counted_is_counted_exactly() {
    let nightly = cron("30 2 * * *", "Europe/Berlin");
    let due = nightly.due(first(&nightly, "2025-01-01T00:00:00Z"), instant("2026-01-01T00:00:00Z"), 1, JOB);
    let older = due.older.unwrap();
    assert_eq!((older.count, older.exact), (364, true));
}

#[test]
fn keeping_none_leaves_one_gap() {
    let hourly = every("1h", "2026-01-01T00:00:00Z");
    let due = hourly.due(first(&hourly, "2026-01-01T00:00:00Z"), instant("2026-01-01T05:00:00Z"), 0, JOB);
    let older = due.older.unwrap();
    assert_eq!(
        (older.from, older.to, older.count),
        (instant("2026-01-01T00:00:00Z"), instant("2026-01-01T05:00:00Z"), 6)
    );
    assert!(due.newest.is_empty());
}

#[test]
fn a_finished_schedule_has_no_next() {
    let mut hourly = every("1h", "2026-01-01T00:00:00Z");
    hourly.end = Some(instant("2026-01-01T03:00:00Z"));
    let due = hourly.due(first(&hourly, "2026-01-01T00:00:00Z"), instant("2026-06-01T00:00:00Z"), 2, JOB);
    assert_eq!(due.newest.last().unwrap().nominal, instant("2026-01-01T02:00:00Z"));
    assert_eq!((due.older.unwrap().count, due.next), (1, None));
    let at = Schedule { rule: Rule::At { at: instant("2026-01-01T00:00:00Z") }, start: None, end: None, ..hourly };
    let due = at.due(first(&at, "2025-01-01T00:00:00Z"), instant("2026-06-01T00:00:00Z"), 2, JOB);
    assert_eq!((due.newest.len(), due.older, due.next), (1, None, None));
}

#[test]
fn an_occurrence_of_a_schedule_that_has_changed_is_still_given() {
    let hourly = every("1h", "2026-01-01T00:00:00Z");
    let odd = Occurrence { nominal: instant("2026-01-01T00:17:00Z"), due: instant("2026-01-01T00:17:00Z") };
    let due = hourly.due(odd, instant("2026-01-01T01:00:00Z"), 5, JOB);
    assert_eq!(
        due.newest.iter().map(|o| o.nominal).collect::<Vec<_>>(),
        [odd.nominal, instant("2026-01-01T01:00:00Z")]
    );
}

#[test]
fn jitter_delays_within_its_length_and_never_reorders_an_interval() {
    let mut hourly = every("1h", "2026-01-01T00:00:00Z");
    hourly.jitter = Some(Millis::from_ms(3_599_999));
    let day = hourly.between(instant("2026-01-01T00:00:00Z"), Timestamp::MAX, 1_000, JOB);
    assert!(day.iter().all(|o| o.due >= o.nominal && o.due.since(o.nominal).ms() < 3_599_999));
    assert!(day.is_sorted_by(|a, b| a.due < b.due));
    let other = hourly.between(instant("2026-01-01T00:00:00Z"), Timestamp::MAX, 1_000, Uuid::from_u128(9));
    assert_ne!(day, other);
}

#[test]
fn an_occurrence_that_jitter_overtook_waits_for_its_predecessor() {
    let mut minutely = cron("* * * * *", "UTC");
    minutely.jitter = Some(Millis::from_hours(1));
    let all = minutely.between(instant("2026-01-01T00:00:00Z"), Timestamp::MAX, 60, JOB);
    let slow = all.windows(2).find(|pair| pair[0].due > pair[1].due).unwrap();
    let due = minutely.due(slow[0], slow[1].due, 10, JOB);
    assert_eq!(due, Due { older: None, newest: Vec::new(), next: Some(slow[0]) });
    let due = minutely.due(slow[0], slow[0].due, 10, JOB);
    assert_eq!(due.newest[..2], *slow);
}

#[test]
fn the_pass_of_a_repeated_hour_that_was_not_chosen_stays_out_when_looking_back() {
    // Berlin, 2026-10-25: 02:00 to 03:00 comes twice, at 00:00Z and at 01:00Z.
    for (repeated, fired) in [
        (Repeated::First, vec!["2026-10-25T00:00:00Z"]),
        (Repeated::Last, vec!["2026-10-25T01:00:00Z"]),
        (Repeated::Both, vec!["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"]),
    ] {
        let dst = Dst { skipped: Skipped::Shift, repeated };
        let rule = Rule::Cron { expr: "0 2 * * *".to_owned(), timezone: "Europe/Berlin".to_owned(), dst };
        let nightly = Schedule { rule, ..cron("0 2 * * *", "UTC") };
        let before = first(&nightly, "2026-10-24T00:00:00Z");
        let due = nightly.due(before, instant("2026-10-25T12:00:00Z"), 10, JOB);
        let found: Vec<Timestamp> = due.newest.iter().skip(1).map(|occurrence| occurrence.nominal).collect();
        assert_eq!(found, fired.into_iter().map(instant).collect::<Vec<_>>(), "{repeated:?}");
    }
}

#[test]
fn a_window_in_the_second_pass_of_an_hour_excludes_nothing_of_the_first() {
    let mut five = every("5m", "2026-10-24T00:00:00Z");
    let json = r#"{"from": "01:00", "to": "02:15", "timezone": "Europe/Berlin"}"#;
    five.exclude = vec![serde_json::from_str(json).unwrap()];
    // 02:10 in the second pass; the last one outside the window was 02:55 in the first.
    let due = five.due(first(&five, "2026-10-24T23:00:00Z"), instant("2026-10-25T01:10:00Z"), 1, JOB);
    assert_eq!(due.newest[0].nominal, instant("2026-10-25T00:55:00Z"));
    assert_eq!(due.next.unwrap().nominal, instant("2026-10-25T01:15:00Z"));
}
