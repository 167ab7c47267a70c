//! Schedules against an independent judge: a brute-force walk over every second of real days in real zones.
//!
//! The judge (`oracle`) shares no code with the model: its own field matcher, its own reading of the DST policies,
//! its own exclusion test. It walks instants; the model walks wall clocks.

#![allow(clippy::disallowed_methods, reason = "the judge shares nothing with the model, not even its zones")]

mod oracle;
mod pick;

use ordo_model::schedule::{Due, Exclusion, Gap, Occurrence, Rule, Schedule};
use ordo_model::testing::proptest_config;
use ordo_model::{Millis, Timestamp};
use proptest::prelude::*;
use uuid::Uuid;

fn instant(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms).expect("tests stay between 1970 and 9999")
}

fn schedule(rule: Rule, exclude: Vec<Exclusion>) -> Schedule {
    Schedule { rule, start: None, end: None, jitter: None, exclude }
}

fn nominals(occurrences: &[Occurrence]) -> Vec<i64> {
    occurrences.iter().map(|occurrence| occurrence.nominal.ms()).collect()
}

/// The definition of `due`, step by step.
fn due_by_definition(schedule: &Schedule, first: Occurrence, now: Timestamp, keep: usize, job: Uuid) -> Due {
    let mut taken = Vec::new();
    let mut next = Some(first);
    while let Some(occurrence) = next.filter(|occurrence| occurrence.due <= now) {
        taken.push(occurrence);
        next = schedule.next_after(occurrence.nominal, job);
    }
    let newest = taken.split_off(taken.len().saturating_sub(keep));
    let older = taken.first().zip(taken.last()).map(|(first, last)| Gap {
        from: first.nominal,
        to: last.nominal,
        count: taken.len() as u64,
        exact: true,
    });
    Due { older, newest, next }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..proptest_config() })]

    #[test]
    fn a_cron_schedule_occurs_exactly_when_the_judge_says(
        change in pick::change(),
        fields in pick::fields(),
        dst in pick::dst(),
        lead_mins in 0..2_160i64,
    ) {
        let from = change.second - lead_mins * 60;
        let to = from + 3 * 86_400;
        let expected = oracle::cron(&fields, change.zone, dst, from, to);
        let schedule = schedule(pick::rule(&fields, change.zone, dst), Vec::new());
        let found = schedule.between(instant(from * 1_000), instant(to * 1_000), usize::MAX, Uuid::nil());
        prop_assert_eq!(nominals(&found), expected, "{} in {} from {}", fields.text(), change.zone, instant(from * 1_000));
    }

    #[test]
    fn a_cron_schedule_with_seconds_occurs_exactly_when_the_judge_says(
        change in pick::change(),
        fields in pick::fields_with_seconds(),
        dst in pick::dst(),
    ) {
        let (from, to) = (change.second - 5_400, change.second + 5_400);
        let expected = oracle::cron(&fields, change.zone, dst, from, to);
        let schedule = schedule(pick::rule(&fields, change.zone, dst), Vec::new());
        let found = schedule.between(instant(from * 1_000), instant(to * 1_000), usize::MAX, Uuid::nil());
        prop_assert_eq!(nominals(&found), expected, "{} in {}", fields.text(), change.zone);
    }

    /// For a beat everywhere, and for one time of day where the clock goes back. (What lies between, `0 2,3 * * *`,
    /// croner treats as a beat and we do not; where the clock goes forward, croner runs a 01:30 job again at 03:00.)
    #[test]
    fn the_default_policy_is_croners_own_where_croner_keeps_it(
        change in pick::change(),
        fields in pick::fields(),
        lead_mins in 0..2_160i64,
    ) {
        let rules = jiff::tz::TimeZone::get(change.zone).unwrap();
        let from = instant((change.second - lead_mins * 60) * 1_000);
        let one_time = fields.minutes.is_one() && fields.hours.is_one();
        prop_assume!(fields.hours.text.starts_with('*') || (one_time && !oracle::jumps_forward(&rules, change.second)));
        let cron: croner::Cron = fields.text().parse().unwrap();
        let expected: Vec<i64> = cron
            .iter_from(from.to_jiff().to_zoned(rules), croner::Direction::Forward)
            .map(|zoned| zoned.timestamp().as_millisecond())
            .take(20)
            .collect();
        let schedule = schedule(pick::rule(&fields, change.zone, Default::default()), Vec::new());
        let found = schedule.between(from, Timestamp::MAX, 20, Uuid::nil());
        let last = change.second * 1_000 + 5 * 86_400_000; // further on lies the next change
        let near = |found: Vec<i64>| found.into_iter().filter(|ms| *ms < last).collect::<Vec<_>>();
        prop_assert_eq!(near(nominals(&found)), near(expected), "{} in {} from {}", fields.text(), change.zone, from);
    }

    #[test]
    fn excluded_windows_take_out_what_lies_in_them_and_nothing_else(
        change in pick::change(),
        fields in pick::fields(),
        dst in pick::dst(),
        exclude in pick::exclusions(),
    ) {
        let (from, to) = (change.second - 2 * 86_400, change.second + 3 * 86_400);
        let exclude: Vec<Exclusion> = exclude.into_iter().map(|exclusion| exclusion.around(change.second)).collect();
        let mut expected = oracle::cron(&fields, change.zone, dst, from, to);
        expected.retain(|ms| !exclude.iter().any(|exclusion| oracle::excludes(exclusion, change.zone, *ms)));
        let schedule = schedule(pick::rule(&fields, change.zone, dst), exclude);
        let found = schedule.between(instant(from * 1_000), instant(to * 1_000), usize::MAX, Uuid::nil());
        prop_assert_eq!(nominals(&found), expected, "{} in {}", fields.text(), change.zone);
    }

    #[test]
    fn an_interval_never_drifts(
        change in pick::change(),
        every_ms in prop_oneof![60_000..20_000_000i64, Just(61_001), Just(3_600_000)],
        exclude in pick::exclusions(),
        offset_ms in 0..100_000_000i64,
    ) {
        let start = change.second * 1_000 - 172_800_000;
        let (from, to) = (start + offset_ms, start + offset_ms + 345_600_000);
        let exclude: Vec<Exclusion> = exclude.into_iter().map(|exclusion| exclusion.around(change.second)).collect();
        let expected: Vec<i64> = (0..)
            .map(|n| start + n * every_ms)
            .skip_while(|ms| *ms < from)
            .take_while(|ms| *ms < to)
            .filter(|ms| !exclude.iter().any(|exclusion| oracle::excludes(exclusion, "UTC", *ms)))
            .collect();
        let every = Millis::from_ms(every_ms.unsigned_abs());
        let schedule = Schedule { start: Some(instant(start)), ..schedule(Rule::Every { every }, exclude) };
        let found = schedule.between(instant(from), instant(to), usize::MAX, Uuid::nil());
        prop_assert_eq!(nominals(&found), expected);
    }

    #[test]
    fn what_is_due_is_what_stepping_through_finds(
        change in pick::change(),
        rule in pick::any_rule(),
        dst in pick::dst(),
        exclude in pick::exclusions(),
        jitter in pick::jitter(),
        end_after in proptest::option::of(0..200_000i64),
        waited_ms in prop_oneof![0..600_000i64, 0..300_000_000i64],
        keep in 0..6usize,
        job in any::<u128>(),
    ) {
        let job = Uuid::from_u128(job);
        let begin = change.second - 86_400;
        let schedule = Schedule {
            rule: rule.in_zone(change.zone, dst),
            start: Some(instant(begin * 1_000)),
            end: end_after.map(|secs| instant((begin + 1 + secs) * 1_000)),
            jitter: rule.allows(jitter),
            exclude: exclude.into_iter().map(|exclusion| exclusion.around(change.second)).collect(),
        };
        let Some(first) = schedule.first_at_or_after(instant(begin * 1_000), job) else { return Ok(()) };
        let now = instant(first.nominal.ms() + waited_ms);
        let found = schedule.due(first, now, keep, job);
        prop_assert_eq!(found, due_by_definition(&schedule, first, now, keep, job));
    }

    #[test]
    fn going_backwards_meets_the_same_occurrences(
        change in pick::change(),
        fields in pick::fields(),
        dst in pick::dst(),
        exclude in pick::exclusions(),
        lead_mins in 0..2_160i64,
    ) {
        let from = change.second - lead_mins * 60;
        let now = instant((change.second + 86_400 - 1) * 1_000);
        let exclude = exclude.into_iter().map(|exclusion| exclusion.around(change.second)).collect();
        let schedule = schedule(pick::rule(&fields, change.zone, dst), exclude);
        let forwards = schedule.between(instant(from * 1_000), now, usize::MAX, Uuid::nil());
        let Some(first) = forwards.first() else { return Ok(()) };
        let backwards = schedule.due(*first, now, usize::MAX, Uuid::nil()).newest;
        prop_assert_eq!(nominals(&backwards), nominals(&forwards), "{} in {}", fields.text(), change.zone);
    }

    #[test]
    fn a_jitter_longer_than_the_interval_loses_and_reorders_nothing(
        step_mins in 1..10u32,
        jitter_secs in 60..7_200u64,
        waited_secs in 0..20_000i64,
        keep in 0..6usize,
        job in any::<u128>(),
    ) {
        let job = Uuid::from_u128(job);
        let expr = format!("*/{step_mins} * * * *");
        let rule = Rule::Cron { expr, timezone: "UTC".to_owned(), dst: Default::default() };
        let schedule = Schedule { jitter: Some(Millis::from_secs(jitter_secs)), ..schedule(rule, Vec::new()) };
        let first = schedule.first_at_or_after(instant(1_780_000_000_000), job).unwrap();
        let now = instant(first.due.ms() + waited_secs * 1_000);
        let found = schedule.due(first, now, keep, job);
        prop_assert_eq!(found, due_by_definition(&schedule, first, now, keep, job));
    }

    #[test]
    fn occurrences_strictly_increase_and_first_and_next_agree(
        change in pick::change(),
        rule in pick::any_rule(),
        dst in pick::dst(),
        exclude in pick::exclusions(),
        probe_ms in 0..259_200_000i64,
    ) {
        let begin = change.second * 1_000 - 86_400_000;
        let exclude = exclude.into_iter().map(|exclusion| exclusion.around(change.second)).collect();
        let schedule = Schedule { start: Some(instant(begin)), ..schedule(rule.in_zone(change.zone, dst), exclude) };
        let found = nominals(&schedule.between(instant(begin), Timestamp::MAX, 40, Uuid::nil()));
        prop_assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
        let probe = begin + probe_ms;
        let first = schedule.first_at_or_after(instant(probe), Uuid::nil()).map(|first| first.nominal.ms());
        prop_assert_eq!(first, schedule.next_after(instant(probe - 1), Uuid::nil()).map(|next| next.nominal.ms()));
        if found.last().is_some_and(|last| probe <= *last) {
            prop_assert_eq!(first, found.iter().copied().find(|ms| *ms >= probe));
        }
    }

    #[test]
    fn any_text_is_refused_or_works_but_never_panics(expr in "[0-9*/,LW#+?@A-Za-z -]{0,24}") {
        let rule = Rule::Cron { expr, timezone: "Europe/Berlin".to_owned(), dst: Default::default() };
        let schedule = schedule(rule, Vec::new());
        if schedule.compile().is_ok() {
            prop_assert!(!schedule.describe().starts_with("not a schedule"));
        }
    }
}
