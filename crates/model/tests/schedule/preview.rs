//! A preview shows what is due after a moment: all of it, and nothing from before.

use ordo_model::schedule::{Dst, Rule, Schedule};
use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

const JOB: Uuid = Uuid::from_u128(7);

fn schedule(rule: Rule) -> Schedule {
    Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() }
}

fn daily() -> Schedule {
    schedule(Rule::Cron { expr: "0 2 * * *".to_owned(), timezone: "UTC".to_owned(), dst: Dst::default() })
}

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn nominals(schedule: &Schedule, after: &str, n: usize) -> Vec<String> {
    let shown = schedule.preview(instant(after), n, JOB);
    shown.iter().map(|preview| preview.occurrence.nominal.to_string()[..19].to_owned()).collect()
}

#[test]
fn what_is_due_at_the_moment_itself_does_not_come_after_it() {
    assert_eq!(nominals(&daily(), "2026-11-15T01:59:59.999Z", 2), ["2026-11-15T02:00:00", "2026-11-16T02:00:00"]);
    assert_eq!(nominals(&daily(), "2026-11-15T02:00:00Z", 2), ["2026-11-16T02:00:00", "2026-11-17T02:00:00"]);
    let at = schedule(Rule::At { at: instant("2026-11-15T02:00:00Z") });
    assert_eq!(nominals(&at, "2026-11-15T01:00:00Z", 2), ["2026-11-15T02:00:00"]);
    assert!(nominals(&at, "2026-11-15T02:00:00Z", 2).is_empty());
    let every = Schedule {
        start: Some(instant("2026-11-15T00:00:00Z")),
        ..schedule(Rule::Every { every: Millis::from_hours(1) })
    };
    assert_eq!(nominals(&every, "2026-11-15T03:00:00Z", 1), ["2026-11-15T04:00:00"]);
}

#[test]
fn pages_that_begin_where_the_last_one_ended_show_each_occurrence_once() {
    let first = nominals(&daily(), "2026-11-15T00:00:00Z", 3);
    let second = nominals(&daily(), &format!("{}Z", first[2]), 3);
    assert_eq!([first, second].concat(), nominals(&daily(), "2026-11-15T00:00:00Z", 6));
}

#[test]
fn the_moment_may_lie_in_the_past_or_in_the_far_future() {
    assert_eq!(nominals(&daily(), "1970-01-01T00:00:00Z", 1), ["1970-01-01T02:00:00"]);
    assert_eq!(nominals(&daily(), "2999-12-31T12:00:00Z", 1), ["3000-01-01T02:00:00"]);
    assert_eq!(nominals(&daily(), "7777-07-07T02:00:00Z", 1), ["7777-07-08T02:00:00"]);
    assert_eq!(nominals(&daily(), "9999-12-30T02:00:00Z", 9), ["9999-12-31T02:00:00"]);
    assert!(nominals(&daily(), "9999-12-31T23:59:59Z", 9).is_empty());
}

#[test]
fn what_jitter_has_delayed_beyond_the_moment_is_still_to_come() {
    let jittered = Schedule { jitter: Some(Millis::from_hours(6)), ..daily() };
    let tonight = jittered.first_at_or_after(instant("2026-11-15T00:00:00Z"), JOB).unwrap();
    assert!(tonight.due > tonight.nominal, "the job of this test is delayed by its jitter");
    let before = Timestamp::from_ms(tonight.due.ms() - 1).unwrap();
    assert_eq!(jittered.preview(before, 1, JOB)[0].occurrence, tonight);
    let next = jittered.next_after(tonight.nominal, JOB).unwrap();
    assert_eq!(jittered.preview(tonight.due, 1, JOB)[0].occurrence, next);
}
