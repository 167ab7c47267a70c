//! A schedule says in English what it does, and nothing else.

use ordo_model::schedule::{Dst, Rule, Schedule};
use ordo_model::{Millis, Timestamp};

fn schedule(rule: Rule) -> Schedule {
    Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() }
}

fn cron(expr: &str, timezone: &str) -> String {
    schedule(Rule::Cron { expr: expr.to_owned(), timezone: timezone.to_owned(), dst: Dst::default() }).describe()
}

#[test]
fn an_interval_and_a_single_time_are_plain_english() {
    let every = |text: &str| schedule(Rule::Every { every: text.parse().unwrap() }).describe();
    assert_eq!(every("10s"), "every 10 seconds");
    assert_eq!(every("1s"), "every second");
    assert_eq!(every("1ms"), "every millisecond");
    assert_eq!(every("24h"), "every day");
    assert_eq!(every("90m"), "every 90 minutes");
    assert_eq!(every("1h0m1s"), "every 3601 seconds");
    let at: Timestamp = "2026-11-15T19:30:00Z".parse().unwrap();
    assert_eq!(schedule(Rule::At { at }).describe(), "once at 2026-11-15 19:30:00 UTC");
}

#[test]
fn a_cron_expression_is_described_by_what_it_matches() {
    for (expr, text) in [
        ("30 2 * * 1", "At 02:30, only on Monday"),
        ("30 2 * * *", "At 02:30"),
        ("* * * * *", "Every minute"),
        ("* * * * * *", "Every second"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("*/10 * * * *", "Every 10 minutes"),
        ("0 * * * *", "Every hour"),
        ("0 */2 * * *", "Every 2 hours"),
        ("5 * * * *", "At minute 5 of every hour"),
        ("5,35 * * * *", "At minutes 5 and 35 of every hour"),
        ("0-30/5 * * * *", "At minutes 0, 5, 10, 15, 20, 25 and 30 of every hour"),
        ("0-59/5 * * * *", "Every 5 minutes"),
        ("*/7 * * * *", "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("0 9-17 * * MON-FRI", "At minute 0 during hours 9 to 17, only on Monday to Friday"),
        ("*/15 9-17 * * *", "Every 15 minutes during hours 9 to 17"),
        ("* 2 * * *", "Every minute during hour 2"),
        ("15 30 2 * * *", "At 02:30:15"),
        ("15 * * * * *", "At second 15 of every minute"),
        ("* 30 2 * * *", "Every second of minute 30 during hour 2"),
        ("0 2,14 * * *", "At 02:00 and 14:00"),
        ("0 0 1,15 * *", "At 00:00, on days 1 and 15 of the month"),
        ("0 0 L * *", "At 00:00, on the last day of the month"),
        ("0 0 LW * *", "At 00:00, on the last weekday (Monday to Friday) of the month"),
        ("0 0 15W * *", "At 00:00, on the weekday (Monday to Friday) nearest day 15 of the month"),
        ("0 0 * * FRI#2", "At 00:00, only on the 2nd Friday of the month"),
        ("0 0 * * 5L", "At 00:00, only on the last Friday of the month"),
        ("0 0 * * 7L", "At 00:00, only on the last Sunday of the month"),
        ("0 0 * * SUNL", "At 00:00, only on the last Sunday of the month"),
        ("0 0 * * FRI-SUN", "At 00:00, only on Friday to Sunday"),
        ("0 0 * * 6,0", "At 00:00, only on Saturday and Sunday"),
        ("0 0 13 * FRI", "At 00:00, on day 13 of the month or on Friday"),
        ("0 0 13 * +FRI", "At 00:00, on day 13 of the month if it is Friday"),
        ("0 0 13 * 0-6", "At 00:00"),
        ("0 0 1 JAN,JUN *", "At 00:00, on day 1 of the month, only in January and June"),
        ("0 0 0 1 1 * 2027", "At 00:00, on day 1 of the month, only in January, only in 2027"),
        ("0/15 * * * *", "Every 15 minutes"),
        ("1/2 * * * *", "At minutes 1, 3, 5 and so on up to 59 of every hour"),
        ("0 1/2 * * *", "At minute 0 during hours 1, 3, 5 and so on up to 23"),
        ("0,2,4,7,9,12,15,18,21,23,25,40 * * * *", "At minutes 0, 2, 4, 7, 9, 12, 15, 18, 21 and 3 more of every hour"),
        (
            "0 0 0 1 1 * */2",
            "At 00:00, on day 1 of the month, only in January, only in 1970, 1972, 1974 and so on up to 9998",
        ),
        ("0 0 0 1 1 * 2027/1", "At 00:00, on day 1 of the month, only in January, only in 2027 to 9999"),
        ("0 0 0 1 1 * */1", "At 00:00, on day 1 of the month, only in January"),
        ("0 0 1W,15W * *", "At 00:00, on the weekday (Monday to Friday) nearest days 1 and 15 of the month"),
        ("0 0 * * MON#1,FRI#1", "At 00:00, only on the 1st Monday and Friday of the month"),
        ("@weekly", "At 00:00, only on Sunday"),
        ("@midnight", "At 00:00"),
    ] {
        assert_eq!(cron(expr, "UTC"), format!("{text} (UTC)"), "{expr}");
    }
}

#[test]
fn a_sentence_stays_short_whatever_the_fields_name() {
    // Seconds, minutes, hours, days and years as scattered as 200 bytes allow.
    let scattered =
        |last: u16| (0..=last).filter(|n| n % 7 < 3 && n % 5 > 0).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let years = (1970..2100).step_by(3).map(|year| year.to_string()).take(36).collect::<Vec<_>>().join(",");
    for expr in [
        format!("{} {} {} * * *", scattered(59), scattered(59), scattered(23)),
        format!("*/7 */7 */5 1/2 1/5 +MON#1,TUE#2,WED#3,THU#4,FRI#5,SAT#1,SUNL {}", &years[..99]),
        "1/2 1/2 1/2 1/2,L,LW,1W,15W,31W 1/2 1/2,MON#1,TUE#2,WED#3,THU#4,FRI#5,SATL */3".to_owned(),
        "0 0 0 1 1 * */2".to_owned(),
        format!("0 0 0 1 1 * {years}"),
    ] {
        let sentence = cron(&expr, "UTC");
        assert!(!sentence.starts_with("not a schedule"), "{expr}: {sentence}");
        assert!(sentence.len() <= 800, "{} bytes for {expr}: {sentence}", sentence.len());
    }
}

#[test]
fn the_zone_and_the_limits_are_part_of_the_sentence() {
    let mut nightly = schedule(Rule::Cron {
        expr: "30 2 * * 1".to_owned(),
        timezone: "Europe/Berlin".to_owned(),
        dst: Dst::default(),
    });
    assert_eq!(nightly.describe(), "At 02:30, only on Monday (Europe/Berlin)");
    nightly.jitter = Some(Millis::from_secs(30));
    nightly.end = Some("2027-01-01T00:00:00Z".parse().unwrap());
    nightly.exclude = vec![serde_json::from_str(r#"{"dates": ["2026-12-25"]}"#).unwrap()];
    assert_eq!(
        nightly.describe(),
        "At 02:30, only on Monday (Europe/Berlin), until 2027-01-01 00:00:00 UTC, up to 30s later, \
         except in one excluded window"
    );
}

#[test]
fn a_schedule_that_is_none_says_so() {
    assert!(cron("61 * * * *", "UTC").starts_with("not a schedule: cron: the minute field \"61\""));
}
