//! What a change of the clock does to a cron schedule: the promises of design.md, as stories of real days.

use ordo_model::schedule::{Dst, DstNote, Repeated, Rule, Schedule, Skipped};
use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

const JOB: Uuid = Uuid::nil();
const BERLIN: &str = "Europe/Berlin";

fn cron(expr: &str, zone: &str, skipped: Skipped, repeated: Repeated) -> Schedule {
    let dst = Dst { skipped, repeated };
    let rule = Rule::Cron { expr: expr.to_owned(), timezone: zone.to_owned(), dst };
    let schedule = Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() };
    schedule.validate().unwrap_or_else(|error| panic!("{expr} in {zone}: {error}"));
    schedule
}

/// The local times from one moment, it included, to another, as `29 03:00+02:00`.
fn local(schedule: &Schedule, from: &str, to: &str) -> Vec<String> {
    let (from, to): (Timestamp, Timestamp) = (instant(from), instant(to));
    let shown = schedule.preview(from.minus(Millis::from_ms(1)), 1_000, JOB);
    let within = shown.into_iter().filter(|preview| preview.occurrence.nominal < to);
    within
        .map(|preview| format!("{} {}{}", &preview.local[8..10], &preview.local[11..16], &preview.local[19..25]))
        .collect()
}

fn instant(text: &str) -> Timestamp {
    let text = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    text.parse().unwrap()
}

/// 2026-03-29: 02:00 becomes 03:00. 2026-10-25: 03:00 becomes 02:00.
fn spring(schedule: &Schedule) -> Vec<String> {
    local(schedule, "2026-03-28T22:00:00Z", "2026-03-29T22:00:00Z")
}
fn autumn(schedule: &Schedule) -> Vec<String> {
    local(schedule, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z")
}

#[test]
fn the_defaults_are_what_croner_does_where_the_design_agrees() {
    let of = |expr| cron(expr, BERLIN, Skipped::default(), Repeated::default());
    assert_eq!(spring(&of("30 2 * * *")), ["29 03:00+02:00"]);
    assert_eq!(autumn(&of("30 2 * * *")), ["25 02:30+02:00"]);
    let both_hours: Vec<String> =
        autumn(&of("*/30 * * * *")).into_iter().filter(|time| time.starts_with("25 02:")).collect();
    assert_eq!(both_hours, ["25 02:00+02:00", "25 02:30+02:00", "25 02:00+01:00", "25 02:30+01:00"]);
    assert_eq!(spring(&of("*/30 1-3 * * *")), ["29 01:00+01:00", "29 01:30+01:00", "29 03:00+02:00", "29 03:30+02:00"]);
}

#[test]
fn a_skipped_time_is_moved_to_the_shift_or_left_out() {
    for repeated in [Repeated::First, Repeated::Last, Repeated::Both] {
        assert_eq!(spring(&cron("30 2 * * *", BERLIN, Skipped::Shift, repeated)), ["29 03:00+02:00"]);
        assert!(spring(&cron("30 2 * * *", BERLIN, Skipped::Skip, repeated)).is_empty());
    }
}

#[test]
fn several_skipped_times_of_a_day_become_one() {
    assert_eq!(spring(&cron("*/10 2 * * *", BERLIN, Skipped::Shift, Repeated::First)), ["29 03:00+02:00"]);
    let with_three = cron("30 2,3 * * *", BERLIN, Skipped::Shift, Repeated::First);
    assert_eq!(spring(&with_three), ["29 03:00+02:00", "29 03:30+02:00"]);
}

#[test]
fn a_time_just_before_the_skipped_hour_runs_once() {
    // croner 4.0.2, asked in the zone, would run each of these again at 03:00.
    for (expr, only) in
        [("0 1 * * *", "29 01:00+01:00"), ("30 1 * * *", "29 01:30+01:00"), ("59 1 * * *", "29 01:59+01:00")]
    {
        assert_eq!(spring(&cron(expr, BERLIN, Skipped::Shift, Repeated::First)), [only]);
    }
}

#[test]
fn a_repeated_time_runs_first_last_or_both() {
    let of = |expr, repeated| autumn(&cron(expr, BERLIN, Skipped::Shift, repeated));
    assert_eq!(of("30 2 * * *", Repeated::First), ["25 02:30+02:00"]);
    assert_eq!(of("30 2 * * *", Repeated::Last), ["25 02:30+01:00"]);
    assert_eq!(of("30 2 * * *", Repeated::Both), ["25 02:30+02:00", "25 02:30+01:00"]);
    assert_eq!(
        of("0,30 2,3 * * *", Repeated::First),
        ["25 02:00+02:00", "25 02:30+02:00", "25 03:00+01:00", "25 03:30+01:00"]
    );
    assert_eq!(
        of("0,30 2,3 * * *", Repeated::Last),
        ["25 02:00+01:00", "25 02:30+01:00", "25 03:00+01:00", "25 03:30+01:00"]
    );
    assert_eq!(
        of("0,30 2 * * *", Repeated::Both),
        ["25 02:00+02:00", "25 02:30+02:00", "25 02:00+01:00", "25 02:30+01:00"]
    );
}

#[test]
fn an_interval_keeps_its_beat_whatever_the_policy() {
    for skipped in [Skipped::Shift, Skipped::Skip] {
        for repeated in [Repeated::First, Repeated::Last, Repeated::Both] {
            let half_hourly = cron("*/30 * * * *", BERLIN, skipped, repeated);
            for day in ["2026-03-29", "2026-10-25"] {
                let from = instant(day);
                let beat = half_hourly.between(from, Timestamp::MAX, 48, JOB);
                let elapsed = beat.last().unwrap().nominal.since(beat[0].nominal);
                assert_eq!(elapsed.ms(), 47 * 30 * 60_000, "{day} {skipped:?} {repeated:?}");
            }
        }
    }
}

#[test]
fn an_interval_of_hours_follows_the_wall_clock() {
    let two_hourly = cron("0 */2 * * *", BERLIN, Skipped::Shift, Repeated::First);
    assert_eq!(spring(&two_hourly)[..2], ["29 00:00+01:00", "29 04:00+02:00"]);
    assert_eq!(autumn(&two_hourly)[..4], ["25 00:00+02:00", "25 02:00+02:00", "25 02:00+01:00", "25 04:00+01:00"]);
}

#[test]
fn a_day_that_a_country_skipped_is_made_up_for_at_its_end() {
    // Samoa went from 2011-12-29 straight to 2011-12-31.
    let noon = cron("0 12 * * *", "Pacific/Apia", Skipped::Shift, Repeated::First);
    let days = local(&noon, "2011-12-29T00:00:00Z", "2011-12-31T12:00:00Z");
    assert_eq!(days, ["29 12:00-10:00", "31 00:00+14:00", "31 12:00+14:00"]);
    let noon = cron("0 12 * * *", "Pacific/Apia", Skipped::Skip, Repeated::First);
    assert_eq!(local(&noon, "2011-12-29T00:00:00Z", "2011-12-31T12:00:00Z"), ["29 12:00-10:00", "31 12:00+14:00"]);
}

#[test]
fn midnight_may_be_the_skipped_hour() {
    // São Paulo, 2018-11-04: 00:00 became 01:00.
    let midnight = cron("0 0 * * *", "America/Sao_Paulo", Skipped::Shift, Repeated::First);
    let days = local(&midnight, "2018-11-03T12:00:00Z", "2018-11-05T12:00:00Z");
    assert_eq!(days, ["04 01:00-02:00", "05 00:00-02:00"]);
}

#[test]
fn half_an_hour_may_be_skipped_or_repeated() {
    // Lord Howe: 2026-10-04 02:00 became 02:30; 2026-04-05 02:00 became 01:30.
    let of = |expr, repeated| cron(expr, "Australia/Lord_Howe", Skipped::Shift, repeated);
    assert_eq!(
        local(&of("15 2 * * *", Repeated::First), "2026-10-03T12:00:00Z", "2026-10-04T12:00:00Z"),
        ["04 02:30+11:00"]
    );
    assert_eq!(
        local(&of("45 1 * * *", Repeated::Both), "2026-04-04T12:00:00Z", "2026-04-05T12:00:00Z"),
        ["05 01:45+11:00", "05 01:45+10:30"]
    );
}

#[test]
fn a_preview_marks_what_the_clock_does() {
    let note = |expr, repeated, from| {
        cron(expr, BERLIN, Skipped::Shift, repeated)
            .preview(instant(from), 2, JOB)
            .into_iter()
            .map(|p| p.note)
            .collect::<Vec<_>>()
    };
    assert_eq!(note("30 2 * * *", Repeated::First, "2026-03-28"), [None, Some(DstNote::Shifted)]);
    assert_eq!(
        note("30 2 * * *", Repeated::Both, "2026-10-25"),
        [Some(DstNote::RepeatedFirst), Some(DstNote::RepeatedLast)]
    );
    assert_eq!(note("0 12 * * *", Repeated::First, "2026-03-28"), [None, Some(DstNote::ClockChanges)]);
    assert_eq!(note("0 1 * * *", Repeated::First, "2026-10-24"), [Some(DstNote::ClockChanges), None]);
    assert_eq!(note("0 3 * * *", Repeated::First, "2026-03-29"), [Some(DstNote::ClockChanges), None]);
}

#[test]
fn a_preview_is_bounded_and_written_with_zone_and_offset() {
    let daily = cron("0 3 * * *", BERLIN, Skipped::Shift, Repeated::First);
    let preview = daily.preview(instant("2026-03-29"), usize::MAX, JOB);
    assert_eq!(preview.len(), ordo_model::limits::PREVIEW_MAX);
    assert_eq!(preview[0].local, "2026-03-29T03:00:00+02:00[Europe/Berlin]");
    assert_eq!(
        serde_json::to_value(&preview[0]).unwrap(),
        serde_json::json!({
            "nominal": "2026-03-29T01:00:00.000Z", "due": "2026-03-29T01:00:00.000Z",
            "local": "2026-03-29T03:00:00+02:00[Europe/Berlin]", "note": "clock_changes",
        })
    );
}

#[test]
fn a_rare_date_is_found_across_decades_of_clock_changes() {
    let leap_monday = cron("0 0 29 2 +MON", BERLIN, Skipped::Shift, Repeated::First);
    let found = leap_monday.first_at_or_after(instant("2026-01-01"), JOB).unwrap();
    assert_eq!(found.nominal.to_string(), "2044-02-28T23:00:00.000Z");
}
