//! A job that comes after others: one run for what has ended, with what came of it.

use crate::story::{Story, given, refused};
use ordo_model::job::{Cause, Command, Notice, Refusal, RunStatus, SkipReason, UpstreamEnd};
use ordo_model::limits::CHAIN_DEPTH_MAX;
use ordo_model::{JobId, RunId};
use serde_json::{Value, json};
use uuid::Uuid;

fn job(n: u128) -> JobId {
    JobId(Uuid::from_u128(n))
}

fn after(fields: &Value) -> Story {
    given(json!({ "trigger": { "type": "manual" }, "after": fields }))
}

fn end(of: u128, run: u128, status: &str) -> UpstreamEnd {
    UpstreamEnd {
        job_id: job(of),
        label: format!("job-{of}"),
        run_id: RunId(Uuid::from_u128(run)),
        status: status.into(),
        result: (status == "completed").then(|| json!({ "run": run })),
        result_bytes: None,
        reason: None,
        traceparent: None,
        depth: 0,
    }
}

fn arrive(story: &mut Story, end: UpstreamEnd) {
    story.ask(Command::Arrive { end: Box::new(end) });
}

fn inputs(story: &Story) -> Vec<Value> {
    story.runs.values().map(|run| run.tool_input.clone().unwrap()["after"].clone()).collect()
}

#[test]
fn with_all_one_run_comes_when_the_last_has_ended_and_knows_them_in_their_order() {
    let mut story = after(&json!([job(1), job(2)]));
    arrive(&mut story, end(2, 20, "completed"));
    arrive(&mut story, end(1, 10, "failed"));
    assert!(story.runs.is_empty(), "a failure is not what it waits for");
    arrive(&mut story, end(2, 21, "completed"));
    arrive(&mut story, end(1, 11, "completed"));
    let input = &inputs(&story)[0];
    assert_eq!(
        (&input[0]["result"]["run"], &input[1]["result"]["run"]),
        (&json!(11), &json!(21)),
        "the newest of each"
    );
    let run = story.runs[&story.newest()].clone();
    assert_eq!(run.cause, Cause::After { of: RunId(Uuid::from_u128(11)), depth: 1 });
    arrive(&mut story, end(1, 12, "completed"));
    assert_eq!(story.runs.len(), 1, "the next round begins with none");
}

#[test]
fn with_any_each_end_brings_a_run() {
    for (on, statuses) in [("success", 1), ("failure", 1), ("either", 3)] {
        let mut story = given(json!({ "trigger": { "type": "manual" }, "block": "concurrent",
            "after": { "jobs": [job(1), job(2)], "mode": "any", "on": on } }));
        for (run, status) in ["completed", "failed", "cancelled", "skipped"].into_iter().enumerate() {
            arrive(&mut story, end(1, run as u128, status));
        }
        arrive(&mut story, end(3, 99, "completed"));
        assert_eq!(story.runs.len(), statuses, "{on}");
    }
}

#[test]
fn what_its_block_strategy_or_a_pause_refuses_is_recorded() {
    let mut story = given(json!({ "trigger": { "type": "manual" }, "after": job(1), "block": "discard" }));
    arrive(&mut story, end(1, 1, "completed"));
    arrive(&mut story, end(1, 2, "completed"));
    story.pause();
    arrive(&mut story, end(1, 3, "completed"));
    let reasons: Vec<&RunStatus> = story.runs.values().map(|run| &run.status).collect();
    let skipped = |reason| RunStatus::Skipped { reason, gap: None };
    assert!(reasons.contains(&&skipped(SkipReason::Overlap)) && reasons.contains(&&skipped(SkipReason::Paused)));
    story.cancel();
    let refused = story.refusal(Command::Arrive { end: Box::new(end(1, 4, "completed")) });
    assert!(matches!(refused, Refusal::WrongState { state: "cancelled", .. }));
}

#[test]
fn a_ring_that_was_made_by_two_changes_at_once_comes_to_an_end() {
    let mut story = after(&json!(job(1)));
    let late = UpstreamEnd { depth: CHAIN_DEPTH_MAX, ..end(1, 1, "completed") };
    assert_eq!(story.refusal(Command::Arrive { end: Box::new(late) }), Refusal::ChainTooLong);
}

#[test]
fn a_job_that_a_chain_was_led_over_meanwhile_is_not_chained_to_others() {
    let mut story = given(json!({ "trigger": { "type": "manual" } }));
    let chain = |if_followed| {
        let Value::Object(patch) = json!({ "after": job(1) }) else { panic!("an object") };
        Command::Update { patch, if_revision: None, if_followed }
    };
    story.ask(Command::FollowAnew);
    assert!(matches!(story.refusal(chain(Some(0))), Refusal::RevisionMoved { .. }));
    story.ask(chain(Some(1)));
    assert!(story.job.definition.after.is_some());
}

#[test]
fn only_a_job_that_is_followed_announces_its_ends() {
    let mut story = given(json!({ "trigger": { "type": "manual" } }));
    let run = story.trigger_and_start();
    story.completes(run);
    assert!(story.job.outbox.is_empty());
    story.ask(Command::Follow);
    assert_eq!(story.events(), ["JobFollowed"]);
    story.ask(Command::Follow);
    assert!(story.events().is_empty(), "twice is once");
    story.ask(Command::FollowAnew);
    assert_eq!(story.events(), ["JobFollowed"]);
    let run = story.trigger_and_start();
    story.completes(run);
    let notices: Vec<&Notice> = story.job.outbox.entries().iter().map(|entry| &entry.what).collect();
    assert_eq!(notices, [&Notice::Ended { run_id: run, status: "completed".into() }]);
}

#[test]
fn a_chain_names_one_job_or_several_once_each() {
    assert!(refused(json!({ "after": [] })).contains("between 1 and"));
    assert!(refused(json!({ "after": [job(1), job(1)] })).contains("twice"));
}
