//! Runs on their way to an executor: given back, lost, expired, shared by all, waiting by priority and age.

use crate::story::*;
use ordo_model::job::{AttemptReport, Command, Pool, Refusal, RunStatus, ShardPosition, SkipReason, SlotReservation};
use ordo_model::limits::RETURNS_MAX;
use ordo_model::{Incarnation, RunId, Timestamp};
use serde_json::{Value, json};

fn nack(delay: &str) -> AttemptReport {
    AttemptReport::Nack { delay: ms(delay), reason: Some("busy".into()) }
}

fn executors(count: u128) -> Vec<Incarnation> {
    (1..=count).map(generation).collect()
}

/// A run that is shared by so many executors, and its shards.
fn broadcast(fields: &Value, count: u128) -> (Story, RunId, Vec<RunId>) {
    let mut form = json!({"routing": "sharding_broadcast"});
    let fields = fields.as_object().expect("an object").clone();
    form.as_object_mut().expect("an object").extend(fields);
    let mut job = given(form);
    let run = job.trigger_and_start();
    job.ask(Command::Broadcast { run_id: run, executors: executors(count) });
    let shards = job.job.active.iter().filter(|active| active.shard.is_some()).map(|active| active.id).collect();
    (job, run, shards)
}

#[test]
fn the_number_of_a_run_is_read_from_its_id() {
    let mut job = given(json!({"block": {"concurrent": {"max": 9}}}));
    let runs: Vec<RunId> = (0..4).map(|_| job.later("1s").trigger_and_start()).collect();
    let numbers = |job: &Story| runs.iter().map(|run| job.job.number_of(*run)).collect::<Vec<_>>();
    assert_eq!(numbers(&job), [Some(1), Some(2), Some(3), Some(4)]);
    job.completes(runs[2]);
    let numbers = numbers(&job);
    assert_eq!((numbers[0], numbers[1], numbers[3]), (Some(1), Some(2), Some(4)), "whoever ends meanwhile");
    assert_eq!(job.job.number_of(RunId(uuid::Uuid::nil())), None);
}

// --- given back -----------------------------------------------------------------------------------

#[test]
fn a_run_that_is_given_back_waits_and_is_tried_anew_without_losing_an_attempt() {
    let mut job = given(json!({"retry": {"max_attempts": 1}}));
    let run = job.trigger_and_start();
    let old = job.token(run);
    job.report(run, nack("5s"));
    assert_eq!(job.events(), ["RunReturned"]);
    assert_eq!(job.status(run), &RunStatus::Pending { retry_at: Some(t("5s")), waiting_for: None });
    job.wake_at_alarm().start(run);
    assert!(job.token(run) > old);
    let late = Command::Report { run_id: run, token: old, report: completed(job.now) };
    assert_eq!(job.refusal(late), Refusal::StaleToken);
    job.fails(run, "boom");
    assert_eq!(job.status_name(run), "failed");
    assert_eq!(job.runs[&run].errors.len(), 1);
}

#[test]
fn a_run_given_back_without_a_delay_can_start_at_once() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.report(run, nack("0s"));
    assert_eq!(job.job.startable().map(|active| active.id).collect::<Vec<_>>(), [run]);
}

#[test]
fn a_run_that_nobody_wants_to_begin_comes_to_its_end() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    for _ in 0..RETURNS_MAX {
        job.report(run, nack("0s")).start(run);
    }
    job.report(run, nack("0s"));
    let RunStatus::Failed { reason } = job.status(run) else { panic!("{:?}", job.status(run)) };
    assert!(reason.contains("given back 21 times") && reason.contains("busy"), "{reason}");
}

#[test]
fn a_run_that_nobody_fetched_waits_however_often() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    for _ in 0..3 * RETURNS_MAX {
        job.report(run, AttemptReport::Unclaimed { reason: "worker-1 did not take it".into() }).start(run);
    }
    job.fails(run, "boom");
    assert_eq!((job.status_name(run), job.runs[&run].errors.len()), ("failed", 1));
}

#[test]
fn a_poisoned_run_is_parked_with_the_error_of_each_attempt() {
    let mut job = given(json!({"retry": {"max_attempts": 3, "backoff": "0s"}}));
    let run = job.trigger_and_start();
    for attempt in 1..=3 {
        job.fails(run, &format!("boom {attempt}")).wake_and_start();
    }
    let errors: Vec<&str> = job.runs[&run].errors.iter().map(|error| error.reason.as_str()).collect();
    assert_eq!((job.status_name(run), errors), ("failed", vec!["boom 1", "boom 2", "boom 3"]));
}

#[test]
fn a_run_that_is_being_cancelled_and_given_back_is_cancelled() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.ask(Command::CancelRun { run_id: run, reason: "enough".into() }).report(run, nack("5s"));
    assert_eq!(job.status_name(run), "cancelled");
}

#[test]
fn a_lost_attempt_is_repeated_only_if_that_does_no_harm() {
    for (idempotent, status) in [(false, "failed"), (true, "pending")] {
        let mut job = given(json!({"idempotent": idempotent, "retry": {"max_attempts": 2}}));
        let run = job.trigger_and_start();
        job.report(run, AttemptReport::Lost { reason: "worker-1 was lost".into() });
        assert_eq!(job.status_name(run), status);
        assert_eq!(job.runs[&run].errors[0].reason, "worker-1 was lost");
    }
}

// --- where ----------------------------------------------------------------------------------------

#[test]
fn a_slot_is_taken_only_in_the_group_and_with_the_tool_of_the_job() {
    let tools = |name: &str| Some(std::sync::Arc::new([name.to_owned()].into_iter().collect()));
    let reservation = |group: &str, tool: &str| SlotReservation {
        executor: generation(1),
        group: group.into(),
        tools: tools(tool),
        draw: 0,
        has_others: false,
        is_keyless: false,
    };
    let mut job = given(json!({"group": "gpu", "tool_name": "render"}));
    let run = job.trigger();
    for wrong in [reservation("default", "render"), reservation("gpu", "shell")] {
        job.order(Command::Start { run_id: run }, Some(wrong)).expect("the reservation is not used");
        assert!(job.events().is_empty());
    }
    job.order(Command::Start { run_id: run }, Some(reservation("gpu", "render"))).expect("it fits");
    assert_eq!(job.events(), ["JobStarted"]);
}

#[test]
fn a_free_slot_alone_does_not_start_what_has_a_limit() {
    for limit in [
        json!({"concurrency_key": {"key": "label", "max": 1}}),
        json!({"rate_limit": {"key": "/tenant", "limit": 3, "per": "1m"}}),
        json!({"routing": "sharding_broadcast"}),
    ] {
        let mut job = given(limit);
        let run = job.trigger_and_start();
        assert_eq!(job.status_name(run), "pending");
        job.at("1s").wake_and_start();
        assert_eq!(job.status_name(run), "pending");
    }
}

#[test]
fn a_run_that_finds_no_executor_in_time_expires() {
    let mut job = given(json!({"expire_after": "1m", "group": "gpu"}));
    let run = job.trigger();
    assert_eq!(job.job.next_turn(), Some(t("1m")));
    job.at("59s").wake();
    assert_eq!(job.status_name(run), "pending");
    job.wake_at_alarm();
    assert_eq!(job.status(run), &RunStatus::Skipped { reason: SkipReason::Expired, gap: None });
    assert_eq!(job.job.next_turn(), None);
}

#[test]
fn a_run_that_was_begun_once_does_not_expire() {
    let mut job = given(json!({"expire_after": "1m", "retry": {"max_attempts": 2, "backoff": "2m"}}));
    let run = job.trigger_and_start();
    job.fails(run, "boom").at("10m").wake();
    assert_eq!(job.job.startable().count(), 1);
}

// --- when -----------------------------------------------------------------------------------------

fn turn(priority: u8, at: &str) -> Timestamp {
    let mut job = given(json!({"priority": priority}));
    job.at(at).trigger();
    job.job.turn_of(&job.job.active[0])
}

#[test]
fn in_one_instant_the_higher_priority_goes_first_and_waiting_makes_up_for_priority() {
    assert!(turn(9, "0s") < turn(5, "0s"));
    assert!(turn(9, "1m") < turn(5, "0s"), "a minute is less than four steps");
    assert!(turn(0, "0s") < turn(9, "5m"), "nobody waits for ever");
}

#[test]
fn a_job_with_many_slow_runs_goes_to_the_slow_pool_and_comes_back() {
    let mut job = given(json!({}));
    for _ in 0..11 {
        assert_eq!(job.job.pool(), Pool::Fast);
        let run = job.trigger_and_start();
        let (started_at, token) = (job.now, job.token(run));
        job.later("600ms");
        let report = AttemptReport::Completed { started_at, result: Value::Null, result_bytes: None };
        job.ask(Command::Report { run_id: run, token, report });
    }
    assert_eq!(job.job.pool(), Pool::Slow);
    job.at("1m30s").trigger();
    assert_eq!(job.job.pool(), Pool::Slow);
    job.at("5m").trigger();
    assert_eq!(job.job.pool(), Pool::Fast);
}

// --- to all ---------------------------------------------------------------------------------------

#[test]
fn a_broadcast_is_one_run_for_each_executor_and_done_when_all_are() {
    let (mut job, run, shards) = broadcast(&json!({}), 3);
    assert_eq!(job.status_name(run), "running");
    for (index, shard) in (0..).zip(&shards) {
        let seen = &job.runs[shard];
        assert_eq!((seen.parent_id, seen.shard), (Some(run), Some(ShardPosition { index, total: 3 })));
        assert_eq!(job.status_name(*shard), "pending");
    }
    for shard in &shards {
        job.start(*shard).completes(*shard);
    }
    assert_eq!(job.events(), ["JobExecuted", "JobExecuted"]);
    let RunStatus::Completed { result, .. } = job.status(run) else { panic!("{:?}", job.status(run)) };
    assert_eq!(result["shards"].as_array().unwrap().len(), 3);
    assert!(job.waiting().is_empty());
}

#[test]
fn a_shard_is_tried_again_by_itself() {
    let (mut job, run, shards) = broadcast(&json!({"retry": {"max_attempts": 2, "backoff": "0s"}}), 2);
    job.start(shards[0]).start(shards[1]).completes(shards[1]).fails(shards[0], "boom");
    assert_eq!((job.status_name(shards[0]), job.status_name(run)), ("pending", "running"));
    job.wake().start(shards[0]).completes(shards[0]);
    assert_eq!(job.status_name(run), "completed");
}

#[test]
fn a_broadcast_with_a_failed_shard_fails_and_says_which() {
    let (mut job, run, shards) = broadcast(&json!({}), 2);
    job.start(shards[0]).start(shards[1]).fails(shards[1], "boom").completes(shards[0]);
    let RunStatus::Failed { reason } = job.status(run) else { panic!("{:?}", job.status(run)) };
    assert_eq!(reason, "1 of 2 shards did not complete: 1");
}

#[test]
fn the_block_strategy_counts_a_broadcast_as_one() {
    let (mut job, first, shards) = broadcast(&json!({"block": "serial"}), 3);
    let second = job.trigger();
    let startable: Vec<RunId> = job.job.startable().map(|active| active.id).collect();
    assert_eq!(startable, shards, "the shards, and not the next run");
    for shard in &shards {
        job.start(*shard).completes(*shard);
    }
    assert_eq!(job.status_name(first), "completed");
    assert_eq!(job.job.startable().map(|active| active.id).collect::<Vec<_>>(), [second]);
}

#[test]
fn a_broadcast_that_is_cancelled_takes_its_shards_with_it() {
    let (mut job, run, shards) = broadcast(&json!({}), 2);
    job.start(shards[0]).ask(Command::CancelRun { run_id: run, reason: "enough".into() });
    assert_eq!((job.status_name(shards[1]), job.status_name(run)), ("cancelled", "running"));
    job.report(shards[0], AttemptReport::Cancelled { started_at: None });
    assert_eq!((job.status_name(shards[0]), job.status_name(run)), ("cancelled", "cancelled"));
}

#[test]
fn a_broadcast_of_a_cancelled_job_and_one_that_is_covered_come_to_their_end() {
    let (mut job, run, shards) = broadcast(&json!({"block": "cover"}), 2);
    job.start(shards[0]).trigger();
    job.report(shards[0], AttemptReport::Cancelled { started_at: None });
    assert_eq!(job.status_name(run), "cancelled");
    job.ask(Command::Cancel { reason: None });
    assert!(job.waiting().is_empty());
}

#[test]
fn only_a_waiting_broadcast_can_be_shared_and_it_has_no_attempt_of_its_own() {
    let (mut job, run, shards) = broadcast(&json!({}), 2);
    for run_id in [run, shards[0]] {
        let again = Command::Broadcast { run_id, executors: executors(2) };
        assert_eq!(job.refusal(again), Refusal::NoSuchRun);
    }
    let mut waiting = given(json!({"routing": "sharding_broadcast"}));
    let run_id = waiting.trigger();
    assert_eq!(waiting.refusal(Command::Start { run_id }), Refusal::NoSuchRun);
    let mut plain = given(json!({}));
    let run_id = plain.trigger();
    assert_eq!(plain.refusal(Command::Broadcast { run_id, executors: executors(2) }), Refusal::NoSuchRun);
}
