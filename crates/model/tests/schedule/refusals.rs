//! A schedule that cannot work is refused when it is saved, with the field and what to do instead.

use ordo_model::limits::{CRON_MAX_BYTES, EVERY_MAX, EXCLUSIONS_MAX, JITTER_MAX};
use ordo_model::schedule::{Dst, Exclusion, Rule, Schedule, ScheduleError};
use ordo_model::{Millis, Timestamp};

fn schedule(rule: Rule) -> Schedule {
    Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() }
}

fn cron_rule(expr: &str, timezone: &str) -> Rule {
    Rule::Cron { expr: expr.to_owned(), timezone: timezone.to_owned(), dst: Dst::default() }
}

fn every(text: &str) -> Schedule {
    schedule(Rule::Every { every: text.parse().unwrap() })
}

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn exclusion(json: &str) -> Exclusion {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[track_caller]
fn refused(schedule: &Schedule, field: &str, part: &str) {
    let ScheduleError { field: at, message } = schedule.validate().expect_err("should have been refused");
    assert_eq!(at, field, "{message}");
    assert!(message.contains(part), "{message:?} does not say {part:?}");
}

#[test]
fn everything_the_dialect_promises_is_accepted() {
    for expr in [
        "0 2 * * *",
        "*/5 * * * *",
        "0 0 L * *",
        "0 0 LW * *",
        "0 0 L,LW * *",
        "0 0 15W * *",
        "0 0 * * 5#2",
        "0 0 * * FRI#L",
        "0 0 * * 1L",
        "0 0 13 * +FRI",
        "0 0 ? * MON",
        "30 0 2 * * *",
        "0 0 0 1 1 * 2099",
        "0 0 0 1 1 * 9999",
        "0/15 * * * *",
        "0 0/15 8/2 1/7 JAN/3 MON/2 2026/2",
        "0 9-17 * jan-mar mon-fri",
        "@hourly",
        "@daily",
        "@midnight",
        "@weekly",
        "@monthly",
        "@yearly",
        "@annually",
        "@DAILY",
        "  0   2 * * *  ",
        "0 0 29 2 *",
    ] {
        assert_eq!(schedule(cron_rule(expr, "UTC")).validate(), Ok(()), "{expr}");
    }
}

#[test]
fn a_malformed_expression_is_refused_with_the_field_that_is_wrong() {
    for (expr, part) in [
        ("", "empty"),
        ("   ", "empty"),
        ("* * *", "has 3 fields; write 5"),
        ("* * * * * * * *", "has 8 fields"),
        ("61 * * * *", "the minute field \"61\": the value is out of bounds (allowed: 0-59"),
        ("0 24 * * *", "the hour field \"24\""),
        ("0 0 32 * *", "the day of month field \"32\""),
        ("0 0 * 13 *", "the month field \"13\""),
        ("0 0 * * 8", "the day of week field \"8\""),
        ("60 0 0 * * *", "the second field \"60\""),
        ("0 0 0 1 1 * 10000", "the year field \"10000\""),
        ("0 0 0 1 1 * 1969", "the year field \"1969\": the value is out of bounds (allowed: 1970-9999"),
        ("*/0 * * * *", "a step cannot be 0"),
        ("/15 * * * *", "a value is missing"),
        ("*/x * * * *", "\"X\" is not a step"),
        ("*/+5 * * * *", "is not a step"),
        ("+5 * * * *", "this is not a value"),
        ("? * * * *", "\"?\" stands only for a day"),
        ("*,5 * * * *", "write it alone"),
        ("30-10 * * * *", "runs backwards; write 30-59,0-10"),
        ("0 22-2 * * *", "the range 22-2 runs backwards; write 22-23,0-2"),
        ("0 0 * * FRI-MON", "the range FRI-MON runs backwards; write FRI,SAT,SUN,MON"),
        ("0 0 * NOV-FEB *", "write NOV-DEC,JAN-FEB"),
        ("0 0 * * 7/2", "write 0/2 or SUN/2"),
        ("0 0 15W5 * *", "\"W\" has no meaning here"),
        ("0 0 15WL * *", "\"WL\" has no meaning here"),
        ("0 0 * * 5#2L", "after # comes 1 to 5, or L"),
        ("0 0 * * 5LL", "\"L\" has no meaning here"),
        ("1,,2 * * * *", "a value is missing"),
        ("a * * * *", "\"A\" has no meaning here"),
        ("0 0 * MON *", "the month field \"MON\": \"MON\" has no meaning here"),
        ("0 0 * * JAN", "the day of week field \"JAN\""),
        ("0 0 * * MONDAY", "\"MONDAY\" has no meaning here; write MON"),
        ("0 0 * * 1MON", "no meaning here"),
        ("0 0 * * L", "5L is the last Friday"),
        ("0 0 L-3 * *", "days before the last"),
        ("H * * * *", "\"jitter\""),
        ("0 0 * * 5#6", "day of week"),
        ("$ * * * *", "a character that has no meaning"),
        ("ä * * * *", "a character that has no meaning"),
        ("@reboot", "manual or webhook"),
        ("@every 5m", "use \"every\": \"5m\""),
        ("@every", "use \"every\": \"5m\""),
        ("@every_second", "use \"every\": \"1s\""),
        ("@every-minute", "use \"every\": \"1m\""),
        ("@every_10_seconds", "use \"every\": \"10s\""),
        ("@every 2 weeks", "use \"every\": \"2 weeks\""),
        ("@every_2_fortnights", "use \"every\": \"28d\""),
        ("@every 1h30m", "use \"every\": \"1h30m\""),
        ("@minutely", "use \"every\": \"1m\""),
        ("@fortnightly", "use \"every\": \"14d\""),
        ("@weekdays", "use @hourly"),
    ] {
        refused(&schedule(cron_rule(expr, "UTC")), "cron", part);
    }
    refused(&schedule(cron_rule(&"0,".repeat(CRON_MAX_BYTES), "UTC")), "cron", "bytes; at most");
}

#[test]
fn an_expression_that_never_occurs_is_refused() {
    for expr in ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 29 2 * 2027"] {
        refused(&schedule(cron_rule(expr, "Europe/Berlin")), "cron", "never occurs");
    }
}

#[test]
fn an_unknown_zone_is_refused_with_the_one_that_was_meant() {
    refused(&schedule(cron_rule("0 2 * * *", "Europe/Berln")), "timezone", "did you mean \"Europe/Berlin\"?");
    refused(&schedule(cron_rule("0 2 * * *", "")), "timezone", "IANA name");
    refused(&schedule(cron_rule("0 2 * * *", "+02:00")), "timezone", "IANA name");
}

#[test]
fn an_interval_has_limits() {
    refused(&every("0s"), "every", "not between 1ms and");
    refused(&schedule(Rule::Every { every: Millis::from_ms(EVERY_MAX.ms() + 1) }), "every", "not between");
    assert_eq!(every("1ms").validate(), Ok(()));
    assert_eq!(schedule(Rule::Every { every: EVERY_MAX }).validate(), Ok(()));
}

#[test]
fn the_end_comes_after_the_start_and_leaves_room() {
    let mut daily = schedule(cron_rule("0 2 * * *", "UTC"));
    daily.start = Some(instant("2026-01-01T00:00:00Z"));
    daily.end = daily.start;
    refused(&daily, "end", "not after the start");
    daily.end = Some(instant("2026-01-01T01:00:00Z"));
    refused(&daily, "end", "no occurrence between");
    daily.end = Some(instant("2026-01-01T02:00:00.001Z"));
    assert_eq!(daily.validate(), Ok(()));

    let mut once = schedule(Rule::At { at: instant("2026-01-01T00:00:00Z") });
    once.start = Some(instant("2026-01-02T00:00:00Z"));
    refused(&once, "start", "no occurrence");
}

#[test]
fn jitter_is_limited_and_shorter_than_the_interval() {
    let mut ten = every("10s");
    ten.jitter = Some(Millis::from_secs(10));
    refused(&ten, "jitter", "not shorter than the interval 10s");
    ten.jitter = Some(Millis::from_ms(9_999));
    assert_eq!(ten.validate(), Ok(()));
    let mut daily = schedule(cron_rule("0 2 * * *", "UTC"));
    daily.jitter = Some(Millis::from_ms(JITTER_MAX.ms() + 1));
    refused(&daily, "jitter", "more than 1d");
}

#[test]
fn an_empty_or_backward_window_is_refused() {
    for (json, part) in [
        (r#"{"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}"#, "not after its beginning"),
        (r#"{"from": "2026-01-02T00:00:00Z", "to": "2026-01-02T00:00:00Z"}"#, "not after its beginning"),
        (r#"{"days": []}"#, "list of days is empty"),
        (r#"{"dates": []}"#, "list of dates is empty"),
        (r#"{"from": "22:00", "to": "22:00"}"#, "both 22:00"),
        (r#"{"to": "00:00"}"#, "24:00"),
        (r#"{"from": "24:00"}"#, "00:00"),
        (r#"{"days": ["sat"], "timezone": "Europe/Berln"}"#, "did you mean"),
    ] {
        let mut ten = every("10s");
        ten.exclude = vec![exclusion(json)];
        refused(&ten, "exclude", part);
    }
    let mut ten = every("10s");
    ten.exclude = vec![exclusion(r#"{"days": ["sat"]}"#); EXCLUSIONS_MAX + 1];
    refused(&ten, "exclude", "at most 32");
}

#[test]
fn a_schedule_that_excludes_all_of_itself_is_refused() {
    let mut saturdays = schedule(cron_rule("0 2 * * SAT", "Europe/Berlin"));
    saturdays.exclude = vec![exclusion(r#"{"days": ["sat"]}"#)];
    refused(&saturdays, "exclude", "nothing is left");
    let mut ten = every("10s");
    ten.exclude = vec![exclusion(r#"{"from": "00:00", "to": "12:00"}"#), exclusion(r#"{"from": "12:00"}"#)];
    refused(&ten, "exclude", "nothing is left");
    let mut once = schedule(Rule::At { at: instant("2026-12-25T10:00:00Z") });
    once.exclude = vec![exclusion(r#"{"dates": ["2026-12-25"]}"#)];
    refused(&once, "exclude", "nothing is left");
}

#[test]
fn an_exclusion_that_is_none_of_the_three_says_what_it_may_be() {
    for (json, part) in [
        ("{}", "needs from and to"),
        (r#"{"timezone": "UTC"}"#, "needs from and to"),
        (r#"{"from": "22:00", "too": "23:00"}"#, "unknown field `too`"),
        (r#"{"dates": ["2026-12-25"], "from": "22:00"}"#, "whole days"),
        (r#"{"dates": ["25.12.2026"]}"#, "write it as 2026-12-25"),
        (r#"{"dates": ["2026-02-30"]}"#, "not a date"),
        (r#"{"days": ["caturday"]}"#, "not a day of the week"),
        (r#"{"days": ["sat"], "from": "25:00"}"#, "not a time of day"),
        (r#"{"from": "24:01"}"#, "not a time of day"),
        (r#"{"from": "7:00"}"#, "not a time of day"),
        (r#"{"from": "2026-01-01T00:00:00Z"}"#, "two times"),
        (r#"{"from": "2026-01-01T00:00:00Z", "to": "06:00"}"#, "two times"),
        (r#"{"from": "tomorrow morning", "to": "2026-01-01T00:00:00Z"}"#, "not a time"),
    ] {
        let error = serde_json::from_str::<Exclusion>(json).expect_err(json).to_string();
        assert!(error.contains(part), "{json}: {error}");
    }
}

#[test]
fn an_exclusion_is_written_as_it_is_read() {
    for json in [
        r#"{"from":"2026-01-01T00:00:00.000Z","to":"2026-01-02T00:00:00.000Z"}"#,
        r#"{"days":["sat","sun"]}"#,
        r#"{"days":["sat","sun"],"from":"22:00","to":"06:00"}"#,
        r#"{"from":"22:00:30","to":"24:00","timezone":"Europe/Berlin"}"#,
        r#"{"dates":["2026-12-25","2026-12-26"],"timezone":"Europe/Berlin"}"#,
    ] {
        assert_eq!(serde_json::to_string(&exclusion(json)).unwrap(), json);
    }
    assert_eq!(exclusion(r#"{"days": ["Saturday", "SUN"]}"#), exclusion(r#"{"days": ["sat", "sun"]}"#));
}

#[test]
fn a_schedule_that_was_never_validated_has_no_occurrences_and_does_not_panic() {
    let broken = schedule(cron_rule("nonsense", "Nowhere/Land"));
    let from = instant("2026-01-01T00:00:00Z");
    assert_eq!(broken.first_at_or_after(from, uuid::Uuid::nil()), None);
    assert!(broken.preview(from, 3, uuid::Uuid::nil()).is_empty());
    assert!(broken.between(from, Timestamp::MAX, 3, uuid::Uuid::nil()).is_empty());
}
