//! The judge is judged: a correct history passes, and each way to falsify it is found under its name.

use serde_json::{Value, json};

use super::super::calendar::Rhythm;
use super::super::evidence::EvidenceFile;
use super::super::follower::FollowedEvents;
use super::super::jobs::{BlockRule, CustomerDeed, DeedKind, JobWork, OrderedJob, TortureJob};
use super::super::stream::{JobRecord, StreamEvent};
use super::{Breach, FaultSpan, TargetEnd, TrialRecord, judge};
use crate::lab::clock::rfc3339;

/// The first of eight beats, one a second.
const T0: i64 = 1_794_962_983_000;
const BEATS: i64 = 8;

fn event(version: u64, at: i64, kind: &str, data: Value) -> StreamEvent {
    StreamEvent { version, at, kind: kind.to_owned(), data }
}

fn cause(nominal: i64) -> Value {
    json!({ "type": "schedule", "occurrence": { "nominal": rfc3339(nominal) } })
}

fn story() -> Vec<StreamEvent> {
    let mut events = vec![event(1, T0 - 2_000, "JobScheduled", json!({}))];
    for beat in 0..BEATS {
        let (at, run) = (T0 + beat * 1_000, format!("r{beat}"));
        let next = || events.len() as u64 + 1;
        let triggered = event(next(), at + 1, "JobTriggered", json!({ "run_id": run, "cause": cause(at) }));
        let started =
            event(next() + 1, at + 1, "JobStarted", json!({ "run_id": run, "attempt": 1, "token": 10 + beat }));
        let executed = event(next() + 2, at + 90, "JobExecuted", json!({ "run_id": run, "attempt": 1 }));
        events.extend([triggered, started, executed]);
    }
    events
}

fn written() -> String {
    let line = |word: &str, beat: i64, after: i64| {
        let at = T0 + beat * 1_000;
        format!("{word} job r{beat} 1 {} {} {}\n", 10 + beat, rfc3339(at), at + after)
    };
    (0..BEATS).map(|beat| line("begin", beat, 5) + &line("end", beat, 80)).collect()
}

fn trial() -> TrialRecord {
    let plan = TortureJob {
        label: "tail-1".to_owned(),
        rhythm: Rhythm::Every { start: T0, every: 1_000, end: Some(T0 + BEATS * 1_000) },
        block: BlockRule::Serial,
        misfire: "do_nothing",
        work: JobWork::Shell { ms: 0, fails_first: false },
        idempotent: false,
        max_attempts: 1,
        group: "default",
        is_tail: true,
    };
    let created =
        CustomerDeed { kind: DeedKind::Create, invoked: T0 - 2_010, completed: Some(T0 - 1_990), accepted: true };
    let record = JobRecord {
        id: "job".to_owned(),
        label: "tail-1".to_owned(),
        next_tick_at: None,
        read_at: T0 + 40_000,
        events: story(),
    };
    let mut followed = FollowedEvents::default();
    followed.versions.insert("ordo-job-job".to_owned(), 1 + 3 * BEATS as u64);
    TrialRecord {
        name: "redb",
        seed: 1,
        from: T0 - 3_000,
        healed_at: T0 + 1_000,
        calm_from: T0 + 2_000,
        to: T0 + 41_000,
        jobs: vec![OrderedJob { plan, id: Some("job".to_owned()), deeds: vec![created] }],
        records: vec![record],
        evidence: EvidenceFile::parse(&written()),
        faults: Vec::new(),
        clock: Vec::new(),
        seen_ends: [("r2".to_owned(), "completed".to_owned())].into(),
        followed,
        complaints: Vec::new(),
        left_out: Vec::new(),
    }
}

fn events(trial: &mut TrialRecord) -> &mut Vec<StreamEvent> {
    &mut trial.records[0].events
}

fn renumber(trial: &mut TrialRecord) {
    for (version, event) in (1..).zip(events(trial)) {
        event.version = version;
    }
}

/// Takes the events of a beat away, as if it had never been.
fn forget(trial: &mut TrialRecord, run: &str) {
    events(trial).retain(|event| event.run() != Some(run));
    trial.evidence.executions.retain(|(of, _), _| of != run);
    trial.seen_ends.remove(run);
    renumber(trial);
}

/// Writes a record of skipped occurrences instead of the beats from `first` to `last`.
fn skip(trial: &mut TrialRecord, first: i64, last: i64, reason: &str, count: u64, at: i64) {
    (first..=last).for_each(|beat| forget(trial, &format!("r{beat}")));
    let (from, to) = (T0 + first * 1_000, T0 + last * 1_000);
    let gap = json!({ "from": rfc3339(from), "to": rfc3339(to), "count": count });
    let version = events(trial).len() as u64 + 1;
    events(trial).push(event(
        version,
        at,
        "JobSkipped",
        json!({ "run_id": "s", "reason": reason, "cause": cause(to), "gap": gap }),
    ));
}

fn properties(trial: &TrialRecord) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = judge(trial).breaches.iter().map(|breach: &Breach| breach.property).collect();
    found.dedup();
    found
}

#[test]
fn a_correct_history_passes_and_its_account_closes() {
    let judgement = judge(&trial());
    assert!(judgement.breaches.is_empty(), "{:?}", judgement.breaches);
    let account = &judgement.account;
    assert_eq!((account.targets, account.on_time, account.unexplained, account.executions), (8, 8, 0, 8));
    assert_eq!(account.lateness(100), 5);
}

#[test]
fn a_range_of_skipped_occurrences_closes_the_account_too() {
    let mut trial = trial();
    skip(&mut trial, 0, 1, "misfire", 2, T0 + 12_500);
    let judgement = judge(&trial);
    assert!(judgement.breaches.is_empty(), "{:?}", judgement.breaches);
    assert_eq!(
        (judgement.account.on_time, judgement.account.skipped["misfire"], judgement.account.unexplained),
        (6, 2, 0)
    );
}

#[test]
fn what_is_due_when_it_is_read_is_still_due_and_not_lost() {
    let mut trial = trial();
    forget(&mut trial, "r7");
    trial.records[0].read_at = T0 + 7_200;
    trial.records[0].next_tick_at = Some(T0 + 7_000);
    let judgement = judge(&trial);
    assert!(judgement.breaches.is_empty(), "{:?}", judgement.breaches);
    assert_eq!((judgement.account.on_time, judgement.account.still_due), (7, 1));
    // The next time it will look at is a later one: then this one is lost.
    trial.records[0].next_tick_at = Some(T0 + 8_000);
    assert_eq!(properties(&trial), ["P1"]);
}

#[test]
fn a_clock_that_ran_ahead_excuses_what_came_early_by_as_much() {
    let mut trial = trial();
    trial.evidence.executions.get_mut(&("r4".to_owned(), 1)).unwrap().began -= 1_500;
    assert!(properties(&trial).contains(&"P6"));
    trial.clock.push(super::ClockSpan { from: T0, ahead_ms: 2_000 });
    assert!(!properties(&trial).contains(&"P6"));
}

/// A way to falsify a history, and the property that must catch it.
type Tamper = (&'static str, &'static str, fn(&mut TrialRecord));

const TAMPERS: [Tamper; 23] = [
    ("P1", "an occurrence is lost", |trial| forget(trial, "r3")),
    ("P1", "a range says more than there were", |trial| skip(trial, 0, 1, "misfire", 3, T0 + 12_500)),
    ("P2", "an occurrence that nobody promised", |trial| {
        let data = json!({ "run_id": "x", "reason": "misfire", "cause": cause(T0 + 500) });
        events(trial).push(event(26, T0 + 20_000, "JobSkipped", data));
    }),
    ("P2", "a misfire that was in time", |trial| skip(trial, 0, 1, "misfire", 2, T0 + 4_000)),
    ("P2", "a pause that nobody asked for", |trial| skip(trial, 0, 1, "paused", 2, T0 + 12_500)),
    ("P2", "a run that nobody recorded", |trial| {
        *trial = TrialRecord {
            evidence: EvidenceFile::parse(&(written() + &format!("begin job x 1 99 - {}\n", T0 + 9_000))),
            ..self::trial()
        };
    }),
    ("P3", "an occurrence is fired twice", |trial| {
        let again = events(trial)[1..4].iter().map(|event| {
            let mut event = event.clone();
            event.data["run_id"] = json!("again");
            event.data["token"] = json!(999);
            event
        });
        let again: Vec<_> = again.collect();
        events(trial).extend(again);
        renumber(trial);
        trial.followed.versions.insert("ordo-job-job".to_owned(), 99);
    }),
    ("P3", "an occurrence is fired and skipped", |trial| {
        let data = json!({ "run_id": "x", "reason": "overlap", "cause": cause(T0) });
        events(trial).push(event(26, T0 + 500, "JobSkipped", data));
    }),
    ("P4", "a fence that does not grow", |trial| events(trial)[5].data["token"] = json!(10)),
    ("P4", "an attempt begins twice", |trial| {
        trial.evidence = EvidenceFile::parse(&(written() + written().lines().next().unwrap()));
    }),
    ("P4", "a report of an attempt that is not the latest", |trial| events(trial)[3].data["attempt"] = json!(2)),
    ("P4", "an attempt that was given back was begun all the same", |trial| {
        events(trial)[3].kind = "RunReturned".to_owned();
    }),
    ("P5", "two runs of a serial job at once", |trial| {
        trial.evidence.executions.get_mut(&("r1".to_owned(), 1)).unwrap().ended = Some(T0 + 2_500);
    }),
    ("P6", "a run begins early", |trial| trial.evidence.executions.get_mut(&("r4".to_owned(), 1)).unwrap().began -= 6),
    ("P7", "completed without having been done", |trial| {
        trial.evidence.executions.get_mut(&("r4".to_owned(), 1)).unwrap().ended = None;
    }),
    ("P7", "an end that changes", |trial| {
        trial.seen_ends.insert("r5".to_owned(), "failed".to_owned());
    }),
    ("P7", "an event after the end", |trial| {
        events(trial).push(event(26, T0 + 9_000, "JobFailed", json!({ "run_id": "r0", "attempt": 1 })));
    }),
    ("P8", "one attempt too many", |trial| {
        let failed =
            event(4, T0 + 50, "JobFailed", json!({ "run_id": "r0", "attempt": 1, "retry_at": rfc3339(T0 + 250) }));
        let started = event(5, T0 + 250, "JobStarted", json!({ "run_id": "r0", "attempt": 2, "token": 10 }));
        events(trial)[2].data["token"] = json!(9);
        events(trial)[3].data["attempt"] = json!(2);
        events(trial).splice(3..3, [failed, started]);
        renumber(trial);
    }),
    ("P8", "a backoff that is half of what the job asked for", |trial| {
        trial.jobs[0].plan.max_attempts = 2;
        let failed =
            event(4, T0 + 50, "JobFailed", json!({ "run_id": "r0", "attempt": 1, "retry_at": rfc3339(T0 + 150) }));
        let started = event(5, T0 + 150, "JobStarted", json!({ "run_id": "r0", "attempt": 2, "token": 10 }));
        events(trial).splice(3..3, [failed, started]);
        renumber(trial);
    }),
    ("P8", "attempts that are not counted one by one", |trial| {
        events(trial)[2].data["attempt"] = json!(2);
        events(trial)[3].data["attempt"] = json!(2);
    }),
    ("P9", "an acknowledged job is gone", |trial| trial.records.clear()),
    ("P10", "a hole in a stream", |trial| drop(events(trial).remove(3))),
    ("P11", "late although all was well", |trial| {
        trial.evidence.executions.get_mut(&("r5".to_owned(), 1)).unwrap().began += 6_000;
    }),
];

#[test]
fn every_way_to_falsify_a_history_is_found_under_its_name() {
    for (property, what, tamper) in TAMPERS {
        let mut trial = trial();
        tamper(&mut trial);
        let found = properties(&trial);
        assert!(found.contains(&property), "{what}: {property} is not among {found:?}");
    }
}

#[test]
fn an_attempt_that_was_given_up_may_go_on_only_where_something_cut_it_off() {
    let mut trial = trial();
    trial.name = "postgres";
    trial.jobs[0].plan.max_attempts = 2;
    trial.jobs[0].plan.is_tail = false;
    let again = [
        event(4, T0 + 50, "JobFailed", json!({ "run_id": "r0", "attempt": 1, "retry_at": rfc3339(T0 + 250) })),
        event(5, T0 + 250, "JobStarted", json!({ "run_id": "r0", "attempt": 2, "token": 11 })),
        event(6, T0 + 600, "JobExecuted", json!({ "run_id": "r0", "attempt": 2 })),
    ];
    events(&mut trial).splice(3..4, again);
    for event in events(&mut trial).iter_mut().filter(|event| event.run() != Some("r0") && event.kind == "JobStarted") {
        event.data["token"] = json!(event.data["token"].as_i64().unwrap() + 10);
    }
    renumber(&mut trial);
    trial.followed.versions.insert("ordo-job-job".to_owned(), 27);
    let lines: String = written().lines().skip(2).map(|line| line.to_owned() + "\n").collect();
    let fences: String = (1..BEATS)
        .rev()
        .fold(lines, |text, beat| text.replace(&format!(" 1 {} ", 10 + beat), &format!(" 1 {} ", 20 + beat)));
    let first = |word: &str, attempt: u32, fence: u32, at: i64| {
        format!("{word} job r0 {attempt} {fence} {} {at}\n", rfc3339(T0))
    };
    let zombie = first("begin", 1, 10, T0 + 5)
        + &first("begin", 2, 11, T0 + 260)
        + &first("end", 1, 10, T0 + 400)
        + &first("end", 2, 11, T0 + 550);
    trial.evidence = EvidenceFile::parse(&(zombie + &fences));
    assert_eq!(properties(&trial), ["P4"]);
    trial.faults.push(FaultSpan { what: "cut".to_owned(), from: T0, to: T0 + 100 });
    assert_eq!(properties(&trial), Vec::<&str>::new(), "{:?}", judge(&trial).breaches);
    assert_eq!(judge(&trial).targets[0].end, TargetEnd::OnTime { late_ms: 5 });
}
