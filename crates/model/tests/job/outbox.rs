//! What a job publishes: only what is worth a notification, and each thing once.

use crate::story::*;
use ordo_model::job::{Command, Job, Notice, SkipReason, Timeliness};
use ordo_model::limits::OUTBOX_FLUSH_DELAY;
use serde_json::json;

fn notices(job: &Job) -> Vec<&'static str> {
    job.outbox.entries().iter().map(|entry| entry.what.name()).collect()
}

fn publish(job: &mut Story) {
    let through = job.job.outbox.last_version().expect("there is something to hand on");
    job.ask(Command::Published { through });
}

#[test]
fn a_job_that_completes_in_time_notifies_nobody() {
    let mut job = given(json!({"trigger": every("10s")}));
    for _ in 0..3 {
        job.later("10s").wake_and_start();
        let run = job.newest();
        job.completes(run);
    }
    assert!(job.job.outbox.is_empty());
    let snapshot = serde_json::to_string(&job.job).unwrap_or_default();
    for word in ["outbox", "missed_in_row", "overran", "followed"] {
        assert!(!snapshot.contains(word), "{word} costs bytes in {snapshot}");
    }
}

#[test]
fn a_run_that_failed_for_good_stays_in_the_outbox_until_it_was_published() {
    let mut job = given(json!({"retry": {"max_attempts": 2, "backoff": "1s"}}));
    let run = job.trigger_and_start();
    job.fails(run, "boom");
    assert!(job.job.outbox.is_empty(), "it is tried again");
    job.later("1s").wake_and_start().fails(run, "bang");
    let entry = &job.job.outbox.entries()[0];
    assert_eq!(entry.what, Notice::Failed { run_id: run, reason: "bang".into(), failures_in_row: 1 });
    assert_eq!(entry.version, job.job.version, "it stands for the event that ended the run");
    assert_eq!(job.job.next_wake(OUTBOX_FLUSH_DELAY), Some(job.now.plus(OUTBOX_FLUSH_DELAY)));
    assert_eq!(job.job.next_turn(), None, "nothing is to be decided");
    let before = job.job.updated_at;
    job.later("1s");
    publish(&mut job);
    assert_eq!(
        (job.events(), job.job.next_wake(OUTBOX_FLUSH_DELAY), job.job.updated_at),
        (vec!["Published"], None, before)
    );
    job.ask(Command::Published { through: 99 });
    assert_eq!(job.events(), Vec::<&str>::new(), "twice is once");
}

#[test]
fn the_first_completed_run_after_failures_is_a_recovery() {
    let mut job = given(json!({}));
    for _ in 0..2 {
        let run = job.trigger_and_start();
        job.fails(run, "boom");
    }
    publish(&mut job);
    let run = job.trigger_and_start();
    job.completes(run);
    assert_eq!(job.job.outbox.entries()[0].what, Notice::Recovered { run_id: run, failures: 2, missed: 0 });
    publish(&mut job);
    let run = job.trigger_and_start();
    job.completes(run);
    assert!(job.job.outbox.is_empty());
}

#[test]
fn lateness_is_announced_and_a_missed_occurrence_is_made_good_by_the_next_completed_run() {
    let mut job = given(json!({"trigger": every("1h")}));
    job.at("1h7s").wake_and_start();
    let late = &job.job.outbox.entries()[0].what;
    assert!(matches!(late, Notice::Late { timeliness: Timeliness::Late, .. }) && !late.is_missed());
    let run = job.newest();
    job.completes(run);
    publish(&mut job);
    job.at("2h1m").wake_and_start();
    assert!(job.job.outbox.entries()[0].what.is_missed());
    let run = job.newest();
    job.completes(run);
    assert_eq!(notices(&job.job), ["JobLate", "JobRecovered"]);
}

#[test]
fn what_was_skipped_is_announced_unless_somebody_asked_for_it() {
    let mut job = given(json!({"trigger": every("1h"), "misfire": "do_nothing"}));
    job.at("5h1m").wake();
    let skipped = &job.job.outbox.entries()[0].what;
    assert!(matches!(skipped, Notice::Skipped { reason: SkipReason::Misfire, gap: Some(gap), .. } if gap.count == 5));
    let mut job = given(json!({"trigger": every("1h")}));
    job.pause().at("5h").resume();
    assert_eq!(job.events(), ["JobSkipped", "JobResumed"]);
    assert!(job.job.outbox.is_empty());
}

#[test]
fn a_run_longer_than_its_interval_is_announced_once() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("10s").wake_and_start();
    let run = job.newest();
    job.at("20s").wake().at("30s").wake();
    assert_eq!(notices(&job.job), ["JobOverran"]);
    assert_eq!(job.job.outbox.entries()[0].what, Notice::Overran { run_id: run, started_at: t("10s") });
    let mut fast = given(json!({"trigger": every("10ms")}));
    fast.at("10ms").wake_and_start().at("20ms").wake();
    assert!(fast.job.outbox.is_empty(), "nobody wants to hear of milliseconds");
}
