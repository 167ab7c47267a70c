//! Forecasts as stories: what fires, what meets, when it is quiet.

use super::*;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(1_900_800_000_000 + ms).unwrap()
}

fn job(label: &str, minutes: u64, fires: &[i64]) -> PlannedJob {
    let took = (minutes > 0).then(|| LearnedDuration::said(Millis::from_secs(60 * minutes)));
    let fires: Vec<Timestamp> = fires.iter().map(|ms| at(*ms)).collect();
    let count = count(fires.len());
    PlannedJob { id: None, label: label.to_owned(), pool: Some(0), took, fires, count, is_steady: false, at_once: 9 }
}

fn foresee(jobs: &[PlannedJob], pools: &[ForecastPool], bounds: &[Timestamp]) -> Forecast {
    forecast(jobs, pools, bounds, at(0))
}

fn hours(count: i64) -> Vec<Timestamp> {
    (0..=count).map(|hour| at(hour * HOUR)).collect()
}

fn pool(slots: u32) -> Vec<ForecastPool> {
    vec![ForecastPool { name: "fast".to_owned(), slots }]
}

#[test]
fn fires_are_counted_where_they_fall_and_runs_where_they_are_likely_to_be() {
    let jobs = [job("backup", 90, &[0]), job("report", 10, &[HOUR + 5 * MINUTE, 2 * HOUR])];
    let found = foresee(&jobs, &pool(5), &hours(4));
    assert_eq!(
        found.bins.iter().map(|bin| (bin.fires, bin.peak)).collect::<Vec<_>>(),
        [(1, 1), (1, 2), (1, 1), (0, 0)]
    );
    assert_eq!((found.fires, found.is_exact, found.peak(), found.empty_bins()), (3, true, 2, 1));
    assert_eq!(found.pools[0].peak_at, Some(at(HOUR + 5 * MINUTE)));
    assert!(found.saturations.is_empty());
    assert_eq!(
        found.jobs.iter().map(|job| (job.label.as_str(), job.fires)).collect::<Vec<_>>(),
        [("backup", 1), ("report", 2)]
    );
}

#[test]
fn a_pool_that_is_asked_for_more_than_it_has_is_named_with_its_time() {
    let jobs = [job("a", 30, &[0]), job("b", 30, &[10 * MINUTE]), job("c", 5, &[20 * MINUTE])];
    let found = foresee(&jobs, &pool(1), &hours(1));
    let [one] = found.saturations.as_slice() else { panic!("{:?}", found.saturations) };
    assert_eq!((one.from, one.to, one.peak), (at(10 * MINUTE), at(30 * MINUTE), 3));
    assert_eq!(found.saturated_ms(), 20 * 60_000);
    // One that goes on beyond the window ends with it.
    let late = foresee(&[job("a", 90, &[0]), job("b", 90, &[0])], &pool(1), &hours(1));
    assert_eq!(late.saturations[0].to, at(HOUR));
}

#[test]
fn jobs_that_fire_in_the_same_minute_are_named_once_with_how_often() {
    let day = 24 * HOUR;
    let nightly: Vec<i64> = (0..7).map(|n| n * day).collect();
    let jobs = [
        job("backup", 5, &nightly),
        job("report", 5, &nightly.iter().map(|ms| ms + 20_000).collect::<Vec<_>>()),
        job("weekly", 5, &[3 * day]),
        job("alone", 5, &[HOUR]),
    ];
    let found = foresee(&jobs, &pool(9), &hours(7 * 24)).collisions;
    let said: Vec<(u32, u32, String)> = found.iter().map(|one| (one.count, one.times, one.jobs.join(" "))).collect();
    assert_eq!(said, [(3, 1, "backup report weekly".to_owned()), (2, 6, "backup report".to_owned())]);
    assert_eq!(found[1].at, at(0));
}

#[test]
fn a_job_that_fires_before_it_is_over_meets_itself() {
    let found = foresee(&[job("slow", 20, &[0, 15 * MINUTE, HOUR])], &pool(9), &hours(2)).overlaps;
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.at, one.times, one.apart.ms()), (at(15 * MINUTE), 1, 15 * 60_000));
}

#[test]
fn quiet_times_are_what_is_left_between_runs_longest_first() {
    let found = foresee(&[job("a", 60, &[HOUR, 5 * HOUR]), job("b", 0, &[4 * HOUR])], &pool(9), &hours(8));
    let quiet: Vec<(Timestamp, Timestamp)> = found.quiet.iter().map(|quiet| (quiet.from, quiet.to)).collect();
    let between = |from: i64, to: i64| (at(from * HOUR), at(to * HOUR));
    assert_eq!(quiet, [between(2, 4), between(6, 8), between(0, 1), between(4, 5)]);
}

#[test]
fn a_job_that_fires_all_the_time_is_a_share_of_a_slot_and_its_count_is_the_least() {
    // Every ten seconds for two seconds: a fifth of a slot.
    let fires: Vec<i64> = (1..=100).map(|n| n * 10_000).collect();
    let took = Some(LearnedDuration::said(Millis::from_secs(2)));
    let steady = PlannedJob { is_steady: true, took, ..job("beat", 0, &fires) };
    let many: Vec<PlannedJob> = (0..9).map(|_| steady.clone()).collect();
    let found = foresee(&many, &pool(1), &hours(24));
    assert!(!found.is_exact && found.steady_jobs == 9 && found.fires == 900);
    assert_eq!(found.pools[0].peak, 2, "nine fifths of a slot are two slots");
    assert!(found.collisions.is_empty() && found.quiet.len() == 1);
}

#[test]
fn what_lies_before_the_beginning_is_neither_quiet_nor_loaded() {
    let found = forecast(&[job("a", 10, &[3 * HOUR])], &pool(1), &hours(8), at(2 * HOUR));
    assert_eq!((found.quiet[0].from, found.quiet[1].from), (at(3 * HOUR + 10 * MINUTE), at(2 * HOUR)));
    assert_eq!(found.bins.iter().map(|bin| bin.peak).collect::<Vec<_>>(), [0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn a_moment_of_too_much_is_none_and_what_follows_soon_is_one() {
    let many: Vec<PlannedJob> = (0..9).map(|_| job("moment", 0, &[0])).collect();
    assert!(foresee(&many, &pool(1), &hours(1)).saturations.is_empty());
    let twice = [job("a", 5, &[0, 5 * MINUTE + 20_000]), job("b", 5, &[0, 5 * MINUTE + 20_000])];
    let found = foresee(&twice, &pool(1), &hours(1)).saturations;
    assert_eq!(found.iter().map(|one| (one.from, one.to)).collect::<Vec<_>>(), [(at(0), at(10 * MINUTE + 20_000))]);
}

#[test]
fn a_duration_is_learned_from_the_middle_of_the_last_runs() {
    let seconds = |all: &[u64]| all.iter().map(|one| Millis::from_secs(*one)).collect();
    assert_eq!(LearnedDuration::learn(Vec::new()), None);
    let learned = LearnedDuration::learn(seconds(&[9, 1, 2, 100])).unwrap();
    assert_eq!((learned.typical, learned.longest, learned.runs), (Millis::from_secs(2), Millis::from_secs(100), 4));
}

#[test]
fn nothing_planned_is_one_quiet_time_and_no_peak() {
    let found = foresee(&[], &pool(3), &hours(24));
    assert_eq!((found.fires, found.peak(), found.quiet.len(), found.unknown_durations), (0, 0, 1, 0));
    assert_eq!(found.pools[0].peak_at, None);
}

#[test]
fn a_job_that_runs_one_at_a_time_takes_one_slot_however_often_it_fires() {
    let serial = PlannedJob { at_once: 1, ..job("slow", 50, &[0, 10 * MINUTE, 20 * MINUTE]) };
    assert_eq!(foresee(&[serial], &pool(1), &hours(1)).pools[0].peak, 1);
}

#[test]
fn the_nights_in_which_clocks_are_set_are_found() {
    let (from, to) = ("2026-03-01T00:00:00Z".parse().unwrap(), "2026-04-30T00:00:00Z".parse().unwrap());
    let found = clock_changes([("Europe/Berlin", 3), ("UTC", 9), ("America/New_York", 1), ("No/Where", 1)], from, to);
    let said: Vec<(String, &str, i32)> =
        found.iter().map(|one| (one.at.to_string(), one.timezone.as_str(), one.by_secs)).collect();
    assert_eq!(
        said,
        [
            ("2026-03-08T07:00:00.000Z".to_owned(), "America/New_York", 3_600),
            ("2026-03-29T01:00:00.000Z".to_owned(), "Europe/Berlin", 3_600)
        ]
    );
    let autumn = clock_changes(
        [("Europe/Berlin", 3)],
        "2026-10-24T00:00:00Z".parse().unwrap(),
        "2026-10-26T00:00:00Z".parse().unwrap(),
    );
    assert_eq!(autumn[0].by_secs, -3_600);
}
