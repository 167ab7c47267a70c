//! What a cron expression means: its dialect, as stories of real dates.

use ordo_model::schedule::{Dst, Rule, Schedule};
use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

const JOB: Uuid = Uuid::nil();

fn cron(expr: &str, timezone: &str) -> Schedule {
    let rule = Rule::Cron { expr: expr.to_owned(), timezone: timezone.to_owned(), dst: Dst::default() };
    let schedule = Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() };
    schedule.validate().unwrap_or_else(|error| panic!("{expr}: {error}"));
    schedule
}

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The next `n` times, as much of them as `shown`.
fn next(expr: &str, from: &str, n: usize, shown: std::ops::Range<usize>) -> Vec<String> {
    let found = cron(expr, "UTC").between(instant(from), Timestamp::MAX, n, JOB);
    found.iter().map(|occurrence| occurrence.nominal.to_string()[shown.clone()].to_owned()).collect()
}

#[test]
fn a_list_of_hours_is_times_of_day_even_if_a_step_is_in_it() {
    // Berlin: on 2026-03-29 02:30 does not exist, on 2026-10-25 it comes twice.
    for expr in ["30 2,*/12 * * *", "30 */12,2 * * *", "30 0,2,12 * * *", "30 0/12,2 * * *"] {
        let on = |from: &str, to: &str| -> Vec<String> {
            let found = cron(expr, "Europe/Berlin").between(instant(from), instant(to), 99, JOB);
            found.iter().map(|occurrence| occurrence.nominal.to_string()[11..16].to_owned()).collect()
        };
        assert_eq!(on("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"), ["23:30", "01:00", "10:30"], "{expr} in spring");
        assert_eq!(on("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"), ["22:30", "00:30", "11:30"], "{expr} in autumn");
    }
}

#[test]
fn a_start_and_a_step_go_to_the_end_of_the_field() {
    let minutes = |expr| next(expr, "2026-01-01T00:00:00Z", 5, 11..19);
    assert_eq!(minutes("0/15 * * * *"), ["00:00:00", "00:15:00", "00:30:00", "00:45:00", "01:00:00"]);
    assert_eq!(minutes("10/20 * * * *"), ["00:10:00", "00:30:00", "00:50:00", "01:10:00", "01:30:00"]);
    assert_eq!(minutes("55/20 * * * *")[..2], ["00:55:00", "01:55:00"]);
    assert_eq!(minutes("30/15 0 0 * * *")[..3], ["00:00:30", "00:00:45", "00:00:30"]);
    assert_eq!(minutes("0 8/6 * * *"), ["08:00:00", "14:00:00", "20:00:00", "08:00:00", "14:00:00"]);
    let days = |expr| next(expr, "2026-01-01T00:00:00Z", 4, 0..10);
    assert_eq!(days("0 0 20/5 * *"), ["2026-01-20", "2026-01-25", "2026-01-30", "2026-02-20"]);
    assert_eq!(days("0 0 1 SEP/2 *"), ["2026-09-01", "2026-11-01", "2027-09-01", "2027-11-01"]);
    // Monday, Wednesday, Friday: the week ends with Saturday.
    assert_eq!(days("0 0 * * MON/2"), ["2026-01-02", "2026-01-05", "2026-01-07", "2026-01-09"]);
    assert_eq!(days("0 0 0 1 1 * 2027/3"), ["2027-01-01", "2030-01-01", "2033-01-01", "2036-01-01"]);
}

#[test]
fn years_are_counted_from_1970_and_go_to_9999() {
    let years = |expr, from| next(expr, from, 3, 0..4);
    assert_eq!(years("0 0 0 1 1 * */4", "2026-01-01T00:00:00Z"), ["2026", "2030", "2034"]);
    assert_eq!(years("0 0 0 1 1 * */7", "1970-01-01T00:00:00Z"), ["1970", "1977", "1984"]);
    assert_eq!(years("0 0 1 1 *", "2999-06-01T00:00:00Z"), ["3000", "3001", "3002"]);
    assert_eq!(years("0 0 1 1 *", "9997-06-01T00:00:00Z"), ["9998", "9999"]);
    assert_eq!(years("0 0 0 1 1 * 9999", "2026-01-01T00:00:00Z"), ["9999"]);
    assert_eq!(next("0 0 29 2 +MON", "8000-01-01T00:00:00Z", 2, 0..10), ["8016-02-29", "8044-02-29"]);
}

#[test]
fn the_weekday_nearest_to_a_day_exists_only_in_months_that_have_the_day() {
    let days = |expr, n| next(expr, "2026-01-01T00:00:00Z", n, 0..10);
    // 2026-01-31 and 2026-10-31 are Saturdays, 2026-05-31 is a Sunday; the other 31sts are weekdays.
    assert_eq!(
        days("0 0 31W * *", 7),
        ["2026-01-30", "2026-03-31", "2026-05-29", "2026-07-31", "2026-08-31", "2026-10-30", "2026-12-31"]
    );
    // February has no 30th; 2026-05-30 is a Saturday, 2026-08-30 a Sunday.
    assert_eq!(days("0 0 30W 1-5,8 *", 5), ["2026-01-30", "2026-03-30", "2026-04-30", "2026-05-29", "2026-08-31"]);
    assert_eq!(days("0 0 29W 2 *", 2), ["2028-02-29", "2032-02-27"]);
    // Whoever wants the last weekday of every month writes LW.
    assert_eq!(days("0 0 LW * *", 3), ["2026-01-30", "2026-02-27", "2026-03-31"]);
}

#[test]
fn the_last_of_a_range_of_weekdays_includes_sunday() {
    assert_eq!(next("0 0 * 8 FRI-SUN#L", "2026-08-01T00:00:00Z", 3, 0..10), ["2026-08-28", "2026-08-29", "2026-08-30"]);
}

#[test]
fn sunday_begins_a_range_and_ends_one() {
    let days = |expr| next(expr, "2026-11-16T00:00:00Z", 3, 0..10);
    assert_eq!(days("0 0 * * SUN-MON"), ["2026-11-16", "2026-11-22", "2026-11-23"]);
    assert_eq!(days("0 0 * * SAT-SUN"), ["2026-11-21", "2026-11-22", "2026-11-28"]);
    assert_eq!(days("0 0 * * SUN-SUN"), ["2026-11-22", "2026-11-29", "2026-12-06"]);
}

#[test]
fn the_end_of_9999_may_be_the_time_the_start_and_the_end() {
    let last = instant("9999-12-31T23:59:59Z");
    let plain = |rule| Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() };
    let once = plain(Rule::At { at: last });
    assert_eq!(once.validate(), Ok(()));
    assert_eq!(once.first_at_or_after(instant("2026-01-01T00:00:00Z"), JOB).unwrap().nominal, last);
    let until = Schedule { end: Some(last), ..cron("0 0 31 12 *", "UTC") };
    assert_eq!(until.validate(), Ok(()));
    let from = Schedule { start: Some(last), ..plain(Rule::Every { every: Millis::from_secs(1) }) };
    assert_eq!(from.validate(), Ok(()));
    assert_eq!(from.first_at_or_after(Timestamp::MIN, JOB).unwrap().nominal, last);
    for (zone, at) in [("UTC", "9999-12-31T23:59:59.000Z"), ("America/New_York", "9999-12-31T23:59:59.000Z")] {
        let every_second = cron("* * * * * *", zone);
        assert_eq!(every_second.first_at_or_after(last, JOB).unwrap().nominal.to_string(), at);
        assert_eq!(every_second.preview(instant("9999-12-31T23:59:58Z"), 9, JOB).len(), 1);
    }
    let shown = cron("30 18 31 12 *", "America/New_York").preview(instant("9999-12-31T00:00:00Z"), 1, JOB);
    assert_eq!(shown[0].local, "9999-12-31T18:30:00-05:00[America/New_York]");
}
