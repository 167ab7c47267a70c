//! A job that listens to a hook: one run per delivery, or a record of why there is none.

use crate::story::{Story, given, given_held};
use ordo_model::job::{Cause, Command, Refusal, Run, RunStatus, SkipReason};
use ordo_model::limits::BLOCK_QUEUE_MAX;
use serde_json::json;
use uuid::Uuid;

const LISTENS: &str = r#"{"trigger": {"type": "webhook", "hook": "push"}}"#;

fn deliver(n: u128) -> Command {
    Command::Deliver { delivery: Uuid::from_u128(n), replay: 0 }
}

fn listener() -> Story {
    given(serde_json::from_str(LISTENS).unwrap())
}

fn delivered(story: &mut Story, n: u128) -> Run {
    story.ask(deliver(n));
    story.runs[&story.newest()].clone()
}

#[test]
fn a_delivery_gets_a_run_that_knows_it() {
    let mut job = listener();
    let run = delivered(&mut job, 1);
    assert_eq!(run.cause, Cause::Webhook { delivery: Uuid::from_u128(1), replay: 0 });
    assert_eq!((run.status.name(), run.lateness_ms, run.scheduled_for), ("pending", None, None));
    job.ask(Command::Deliver { delivery: Uuid::from_u128(1), replay: 1 });
    assert_eq!(job.runs[&job.newest()].cause.delivery(), Some(Uuid::from_u128(1)));
}

#[test]
fn a_run_that_is_tried_again_by_hand_keeps_its_delivery() {
    let mut job = listener();
    let run = delivered(&mut job, 1);
    job.start(run.id).fails(run.id, "boom");
    let ended = job.runs[&run.id].clone();
    job.later("1s").ask(Command::RetryRun { run: Box::new(ended) });
    let again = job.runs[&job.newest()].clone();
    assert_eq!(again.cause, Cause::Retry { of: run.id, delivery: Some(Uuid::from_u128(1)) });
    job.start(again.id).fails(again.id, "boom");
    let ended = job.runs[&again.id].clone();
    job.later("1s").ask(Command::RetryRun { run: Box::new(ended) });
    assert_eq!(job.runs[&job.newest()].cause.delivery(), Some(Uuid::from_u128(1)));
}

#[test]
fn a_paused_or_held_job_records_what_it_did_not_run() {
    let mut paused = listener();
    paused.pause();
    let held = given_held(serde_json::from_str(LISTENS).unwrap());
    for (mut job, reason) in [(paused, SkipReason::Paused), (held, SkipReason::Held)] {
        let run = delivered(&mut job, 1);
        assert_eq!(run.status, RunStatus::Skipped { reason, gap: None });
        assert_eq!(run.cause.delivery(), Some(Uuid::from_u128(1)));
    }
}

#[test]
fn a_cancelled_job_takes_no_delivery() {
    let mut job = listener();
    job.cancel();
    assert!(matches!(job.refusal(deliver(1)), Refusal::WrongState { state: "cancelled", .. }));
}

#[test]
fn a_delivery_waits_while_the_queue_is_full_but_is_discarded_where_the_job_discards() {
    let mut job = listener();
    for n in 0..=BLOCK_QUEUE_MAX {
        delivered(&mut job, n as u128);
    }
    assert_eq!(job.refusal(deliver(1_000)), Refusal::QueueFull);
    let mut job = given(json!({"trigger": {"type": "webhook", "hook": "push"}, "block": "discard"}));
    delivered(&mut job, 1);
    let second = delivered(&mut job, 2);
    assert_eq!(second.status, RunStatus::Skipped { reason: SkipReason::Overlap, gap: None });
}
