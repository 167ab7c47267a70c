//! Attempts: their tokens, their reports, what follows a failure, and what follows silence.

use crate::story::*;
use ordo_model::job::{AttemptReport, Command, JobState, Refusal, Run, RunStatus};
use ordo_model::limits::{ATTEMPT_ERRORS_KEPT, REASON_MAX_BYTES, TOOL_INPUT_MAX_BYTES};
use ordo_model::{FencingToken, TraceParent, job::AttemptError};
use serde_json::json;

fn failed(reason: &str) -> RunStatus {
    RunStatus::Failed { reason: reason.into() }
}

#[test]
fn a_run_goes_from_pending_to_running_to_completed() {
    let mut job = given(json!({}));
    let run = job.trigger();
    assert_eq!(job.status(run), &RunStatus::Pending { retry_at: None, waiting_for: None });
    job.later("1s").start(run);
    assert_eq!(job.status(run), &RunStatus::Running { cancelling: None });
    job.later("2s").completes(run);
    assert_eq!(job.status(run), &RunStatus::Completed { result: json!({"ok": true}), result_bytes: None });
    let seen = &job.runs[&run];
    assert_eq!((seen.fired_at, seen.finished_at), (noon(), Some(t("3s"))));
    assert_eq!((seen.attempt, seen.executor.as_deref()), (1, Some("local")));
}

#[test]
fn a_run_triggered_by_hand_has_no_nominal_time_and_its_own_input() {
    let mut job = given(json!({"tool_input": {"a": 1}}));
    job.ask(Command::Trigger { tool_input: Some(json!({"a": 2, "ratio": 0.1})), traceparent: None });
    let run = &job.runs[&job.newest()];
    assert_eq!((run.scheduled_for, run.lateness_ms), (None, None));
    assert_eq!(run.tool_input, Some(json!({"a": 2, "ratio": 0.1})));
}

#[test]
fn an_input_given_by_hand_is_held_to_the_same_limit() {
    let input = json!("x".repeat(TOOL_INPUT_MAX_BYTES));
    let refusal = given(json!({})).refusal(Command::Trigger { tool_input: Some(input), traceparent: None });
    assert_says(refusal, &["tool_input", "larger than"]);
}

#[test]
fn every_attempt_has_a_higher_token_than_the_one_before() {
    let mut job = given(json!({"retry": {"max_attempts": 3, "backoff": "0s"}}));
    let run = job.trigger_and_start();
    let first = job.token(run);
    job.fails(run, "boom").wake_and_start();
    let second = job.token(run);
    job.fails(run, "boom").wake_and_start();
    assert!(first < second && second < job.token(run));
}

#[test]
fn a_report_with_an_old_token_is_refused() {
    let mut job = given(json!({"retry": {"max_attempts": 2, "backoff": "0s"}}));
    let run = job.trigger_and_start();
    let old = job.token(run);
    job.fails(run, "boom").wake_and_start();
    let late = Command::Report { run_id: run, token: old, report: completed(job.now) };
    assert_eq!(job.refusal(late), Refusal::StaleToken);
    let never = Command::Report { run_id: run, token: FencingToken(99), report: completed(job.now) };
    assert_eq!(job.refusal(never), Refusal::StaleToken);
}

#[test]
fn a_run_that_is_over_stays_as_it_is() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    let token = job.token(run);
    job.completes(run);
    let again = AttemptReport::Failed { started_at: None, reason: "late".into() };
    assert_eq!(job.refusal(Command::Report { run_id: run, token, report: again }), Refusal::StaleToken);
    assert_eq!(job.refusal(Command::CancelRun { run_id: run, reason: "late".into() }), Refusal::RunOver);
    assert_eq!(job.refusal(Command::Start { run_id: run }), Refusal::NoSuchRun);
    assert_eq!(job.status_name(run), "completed");
}

#[test]
fn a_failure_without_a_second_attempt_is_final() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.fails(run, "exit code 3");
    assert_eq!(job.status(run), &failed("exit code 3"));
    assert_eq!(job.job.history.failures_in_row, 1);
    let run = job.trigger_and_start();
    job.completes(run);
    assert_eq!(job.job.history.failures_in_row, 0);
}

#[test]
fn a_retry_waits_twice_as_long_each_time_and_keeps_every_error() {
    let mut job = given(json!({"retry": {"max_attempts": 3, "backoff": "2s"}}));
    let run = job.trigger_and_start();
    job.fails(run, "one");
    assert_eq!(job.status(run), &RunStatus::Pending { retry_at: Some(t("2s")), waiting_for: None });
    assert_eq!(job.job.next_turn(), Some(t("2s")));
    job.at("1s999ms").wake_and_start();
    assert!(job.events().is_empty());
    job.at("2s").wake_and_start();
    assert_eq!(job.events(), ["RunReady", "JobStarted"]);
    job.fails(run, "two");
    assert_eq!(job.job.next_turn(), Some(t("6s")));
    job.at("6s").wake_and_start().fails(run, "three");
    assert_eq!(job.status(run), &failed("three"));
    let error = |attempt, at: &str, reason: &str| AttemptError { attempt, at: t(at), reason: reason.into() };
    assert_eq!(job.runs[&run].errors, [error(1, "0s", "one"), error(2, "2s", "two"), error(3, "6s", "three")]);
}

#[test]
fn a_run_that_waits_to_be_tried_again_keeps_its_place() {
    let mut job = given(json!({"retry": {"max_attempts": 2, "backoff": "10s"}}));
    let (first, second) = (job.trigger_and_start(), job.trigger());
    job.fails(first, "boom");
    assert_eq!(job.job.startable().count(), 0, "nobody overtakes it");
    assert_eq!(job.refusal(Command::Start { run_id: second }), Refusal::NoSuchRun);
    job.at("10s").wake_and_start();
    assert_eq!(job.running(), [first]);
}

#[test]
fn only_the_last_errors_of_many_attempts_are_kept() {
    let mut job = given(json!({"retry": {"max_attempts": 100, "backoff": "0s"}}));
    let run = job.trigger_and_start();
    for attempt in 1..=25 {
        job.fails(run, &format!("{attempt}")).wake_and_start();
    }
    let errors = &job.runs[&run].errors;
    assert_eq!((errors.len(), errors[0].attempt), (ATTEMPT_ERRORS_KEPT, 6));
}

#[test]
fn a_reason_of_a_megabyte_is_cut_between_two_characters() {
    let long = "ü".repeat(1 << 20);
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.fails(run, &long);
    let other = job.trigger();
    job.ask(Command::CancelRun { run_id: other, reason: long.clone() });
    for run in [run, other] {
        let (RunStatus::Failed { reason } | RunStatus::Cancelled { reason }) = job.status(run) else { panic!() };
        assert!(reason.len() <= REASON_MAX_BYTES + '…'.len_utf8() && reason.ends_with('…'));
    }
    job.ask(Command::Pause { reason: Some(long) });
    assert!(serde_json::to_string(&job.job.phase).expect("it is written").len() < 2 * REASON_MAX_BYTES);
}

#[test]
fn an_attempt_nobody_reported_is_failed_after_its_deadline() {
    let mut job = given(json!({"timeout": "1m", "retry": {"max_attempts": 3}}));
    let run = job.trigger_and_start();
    let token = job.token(run);
    assert_eq!(job.job.next_turn(), Some(t("1m30s")));
    job.wake_at_alarm();
    assert_eq!(job.status(run), &failed("no report within the timeout"));
    let late = Command::Report { run_id: run, token, report: completed(job.now) };
    assert_eq!(job.refusal(late), Refusal::StaleToken);
}

#[test]
fn an_attempt_of_unknown_effect_is_tried_again_only_if_that_does_no_harm() {
    for (idempotent, status) in [(false, "failed"), (true, "pending")] {
        let fields = json!({"retry": {"max_attempts": 2}, "idempotent": idempotent, "timeout": "1m"});
        let mut job = given(fields.clone());
        let run = job.trigger_and_start();
        job.wake_at_alarm();
        assert_eq!(job.status_name(run), status, "no report");

        let mut job = given(fields.clone());
        let run = job.trigger_and_start();
        job.report(run, AttemptReport::Interrupted { started_at: None });
        assert_eq!(job.status_name(run), status, "interrupted");
        assert_eq!(job.runs[&run].errors[0].reason, "interrupted by shutdown");

        let mut job = given(fields);
        let run = job.trigger_and_start();
        job.ask(Command::Orphan { executor: generation(1), settle_after: ms("2s") }).at("2s").wake();
        assert_eq!(job.status_name(run), status, "restart");
    }
}

#[test]
fn an_idempotent_job_without_attempts_left_fails() {
    let mut job = given(json!({"idempotent": true, "timeout": "1m"}));
    let run = job.trigger_and_start();
    job.wake_at_alarm();
    assert_eq!(job.status_name(run), "failed");
}

#[test]
fn a_run_keeps_the_trace_of_its_trigger_until_its_end() {
    let trace: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap();
    let mut job = given(json!({"retry": {"max_attempts": 2}}));
    job.order(Command::Trigger { tool_input: None, traceparent: Some(trace) }, reservation()).expect("it is accepted");
    let run = job.newest();
    job.fails(run, "boom").wake_at_alarm().start(run).completes(run);
    assert_eq!((job.status_name(run), job.runs[&run].traceparent), ("completed", Some(trace)));

    // Run again it belongs to whoever asks for it now.
    let again = Run { traceparent: None, ..job.runs[&run].clone() };
    job.ask(Command::RetryRun { run: Box::new(again) });
    assert_eq!(job.runs[&job.newest()].traceparent, None);
}

#[test]
fn a_young_attempt_of_a_former_generation_is_settled_by_alarm() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.at("1s").ask(Command::Orphan { executor: generation(1), settle_after: ms("2s") });
    assert_eq!((job.events(), job.job.next_turn()), (vec!["RunOrphaned"], Some(t("2s"))));
    job.wake_at_alarm();
    assert_eq!(job.status(run), &failed("recovered from restart"));
}

#[test]
fn an_attempt_of_a_former_generation_waits_no_longer_because_the_clock_was_set_back() {
    let mut job = given(json!({}));
    let run = job.at("1h").trigger_and_start();
    job.earlier("59m").ask(Command::Orphan { executor: generation(1), settle_after: ms("2s") });
    assert_eq!((job.events(), job.job.next_turn()), (vec!["RunOrphaned"], Some(t("1m2s"))));
    job.wake_at_alarm();
    assert_eq!(job.status(run), &failed("recovered from restart"));
}

#[test]
fn an_old_attempt_of_a_former_generation_is_settled_at_once() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.at("1m").ask(Command::Orphan { executor: generation(1), settle_after: ms("2s") });
    assert_eq!(job.events(), ["RunOrphaned", "JobFailed"]);
    assert_eq!(job.status(run), &failed("recovered from restart"));
}

#[test]
fn a_former_generation_that_still_reports_in_time_counts() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.ask(Command::Orphan { executor: generation(1), settle_after: ms("2s") }).at("1s").completes(run);
    assert_eq!((job.status_name(run), job.job.next_turn()), ("completed", None));
}

#[test]
fn the_attempts_of_other_generations_and_other_executors_are_left_alone() {
    let mut job = given(json!({}));
    job.trigger_and_start();
    job.at("1m").ask(Command::Orphan { executor: generation(2), settle_after: ms("2s") });
    assert!(job.events().is_empty());
    let other = ordo_model::Incarnation { executor: "elsewhere".into(), ..generation(1) };
    job.ask(Command::Orphan { executor: other, settle_after: ms("2s") });
    assert!(job.events().is_empty());
}

#[test]
fn a_second_restart_does_not_postpone_the_settling() {
    let mut job = given(json!({}));
    job.trigger_and_start();
    job.ask(Command::Orphan { executor: generation(1), settle_after: ms("2s") });
    job.at("1s").ask(Command::Orphan { executor: generation(1), settle_after: ms("1h") });
    assert!(job.events().is_empty());
    assert_eq!(job.job.next_turn(), Some(t("2s")));
}

#[test]
fn a_waiting_run_is_cancelled_at_once() {
    let mut job = given(json!({"retry": {"max_attempts": 2}}));
    let (first, second) = (job.trigger_and_start(), job.trigger());
    job.ask(Command::CancelRun { run_id: second, reason: "not needed".into() });
    assert_eq!(job.status(second), &RunStatus::Cancelled { reason: "not needed".into() });
    job.fails(first, "boom").ask(Command::CancelRun { run_id: first, reason: "nor this".into() });
    assert_eq!((job.status_name(first), job.job.next_turn()), ("cancelled", None));
}

#[test]
fn a_running_run_is_asked_to_end_and_its_report_decides() {
    let reports: [(AttemptReport, &str); 4] = [
        (completed(noon()), "completed"),
        (AttemptReport::Failed { started_at: None, reason: "killed".into() }, "cancelled"),
        (AttemptReport::Cancelled { started_at: None }, "cancelled"),
        (AttemptReport::Interrupted { started_at: None }, "cancelled"),
    ];
    for (report, status) in reports {
        let mut job = given(json!({"retry": {"max_attempts": 5}, "idempotent": true}));
        let run = job.trigger_and_start();
        job.ask(Command::CancelRun { run_id: run, reason: "enough".into() });
        assert_eq!(job.events(), ["RunCancelRequested"]);
        assert_eq!(job.status(run), &RunStatus::Running { cancelling: Some("enough".into()) });
        job.ask(Command::CancelRun { run_id: run, reason: "again".into() });
        assert!(job.events().is_empty());
        job.report(run, report);
        assert_eq!(job.status_name(run), status);
    }
}

#[test]
fn a_finished_run_can_be_run_again_with_its_own_input() {
    let mut job = given(json!({}));
    job.order(Command::Trigger { tool_input: Some(json!({"day": 3})), traceparent: None }, reservation())
        .expect("it is accepted");
    let run = job.newest();
    job.fails(run, "boom");
    let over = Box::new(job.runs[&run].clone());
    job.ask(Command::RetryRun { run: over });
    let again = &job.runs[&job.newest()];
    assert_ne!(again.id, run);
    assert_eq!(again.cause, ordo_model::job::Cause::Retry { of: run, delivery: None });
    assert_eq!(again.tool_input, Some(json!({"day": 3})));
    assert_eq!(job.status(run), &failed("boom"));
}

#[test]
fn only_a_finished_run_of_this_job_can_be_run_again() {
    let mut job = given(json!({}));
    let run = job.trigger();
    let unfinished = Box::new(job.runs[&run].clone());
    assert_says(job.refusal(Command::RetryRun { run: unfinished.clone() }), &["not over", "wait for its end"]);
    let mut foreign = unfinished;
    foreign.job_id = ordo_model::JobId(uuid::Uuid::from_u128(1));
    assert_eq!(job.refusal(Command::RetryRun { run: foreign }), Refusal::NoSuchRun);
}

#[test]
fn a_large_result_is_named_by_its_size() {
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    let report = AttemptReport::Completed { started_at: noon(), result: json!(null), result_bytes: Some(70_000) };
    job.report(run, report);
    assert_eq!(job.status(run), &RunStatus::Completed { result: json!(null), result_bytes: Some(70_000) });
}

#[test]
fn the_executor_knows_best_when_the_first_attempt_began() {
    let mut job = given(json!({"trigger": at(t("10s"))}));
    job.at("10s").wake_and_start();
    let run = job.newest();
    job.at("20s").report(run, completed(t("10s7ms")));
    let seen = &job.runs[&run];
    assert_eq!((seen.started_at, seen.lateness_ms), (Some(t("10s7ms")), Some(7)));
    assert_eq!(job.state(), JobState::Finished);
}
