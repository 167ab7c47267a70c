//! What becomes of a trigger while an earlier run is not over.

use crate::story::*;
use ordo_model::job::{Command, Definition, Refusal, SkipReason, SlotReservation};
use ordo_model::limits::BLOCK_QUEUE_MAX;
use serde_json::json;

#[test]
fn serial_runs_wait_their_turn_and_start_in_order() {
    let mut job = given(json!({}));
    let (first, second, third) = (job.trigger_and_start(), job.trigger_and_start(), job.trigger());
    assert_eq!(job.running(), [first]);
    assert_eq!(job.refusal(Command::Start { run_id: second }), Refusal::NoSuchRun);
    job.completes(first).start(second);
    assert_eq!(job.running(), [second]);
    job.completes(second).start(third).completes(third);
    assert!(job.waiting().is_empty());
}

#[test]
fn a_report_that_brings_a_free_place_starts_the_next_run() {
    let mut job = given(json!({}));
    let (first, second) = (job.trigger_and_start(), job.trigger());
    let (token, report) = (job.token(first), completed(job.now));
    job.order(Command::Report { run_id: first, token, report }, reservation()).expect("the report is accepted");
    assert_eq!(job.events(), ["JobExecuted", "JobStarted"]);
    assert_eq!(job.running(), [second]);
}

#[test]
fn a_queue_that_is_full_skips_what_comes_on_top() {
    let mut job = given(json!({}));
    for _ in 0..=BLOCK_QUEUE_MAX {
        job.trigger();
        assert_eq!(job.events(), ["JobTriggered"]);
    }
    let skipped = job.trigger();
    assert_eq!(job.events(), ["JobSkipped"]);
    assert_eq!(job.status_name(skipped), "skipped");
    assert_eq!(job.waiting().len(), BLOCK_QUEUE_MAX + 1);
}

#[test]
fn whoever_keeps_what_he_asks_for_is_refused_while_the_queue_is_full_and_let_in_when_it_is_not() {
    let mut job = given(json!({}));
    let enqueue = || Command::Enqueue { tool_input: Some(json!({ "n": 1 })) };
    let first = job.trigger_and_start();
    for _ in 0..BLOCK_QUEUE_MAX {
        job.trigger();
    }
    assert_eq!(job.refusal(enqueue()), Refusal::QueueFull);
    job.completes(first);
    job.order(enqueue(), None).expect("there is room again");
    assert_eq!(job.events(), ["JobTriggered"]);
    let mut job = given(json!({"block": "discard"}));
    job.trigger_and_start();
    job.order(enqueue(), None).expect("the policy decides");
    assert_eq!(job.events(), ["JobSkipped"]);
    job.cancel();
    assert!(matches!(job.refusal(enqueue()), Refusal::WrongState { state: "cancelled", .. }));
}

#[test]
fn occurrences_that_find_the_queue_full_become_one_record() {
    let mut job = given(json!({"trigger": every("1s")}));
    for _ in 0..BLOCK_QUEUE_MAX - 1 {
        job.trigger();
    }
    job.at("9s").wake();
    assert_eq!(job.fired(), [t("1s"), t("2s")]);
    assert_eq!(job.skipped(), [(SkipReason::QueueFull, t("3s"), t("9s"), 7)]);
}

#[test]
fn discard_skips_while_another_is_not_over() {
    let mut job = given(json!({"trigger": every("10s"), "block": "discard"}));
    job.at("10s").wake_and_start();
    let run = job.newest();
    job.at("20s").wake();
    assert_eq!(job.skipped(), [(SkipReason::Overlap, t("20s"), t("20s"), 1)]);
    job.at("25s").completes(run).at("30s").wake();
    assert_eq!(job.fired(), [t("30s")]);
}

#[test]
fn discard_fires_the_first_of_several_and_skips_the_rest_as_one() {
    let mut job = given(json!({"trigger": every("2s"), "block": "discard"}));
    job.at("8s").wake();
    assert_eq!(job.fired(), [t("2s")]);
    assert_eq!(job.skipped(), [(SkipReason::Overlap, t("4s"), t("8s"), 3)]);
    assert_eq!(job.job.next_turn(), Some(t("10s")));
}

#[test]
fn a_discarded_trigger_by_hand_is_recorded_without_a_time() {
    let mut job = given(json!({"block": "discard"}));
    job.trigger();
    let skipped = job.trigger();
    assert_eq!((job.status_name(skipped), job.runs[&skipped].scheduled_for), ("skipped", None));
}

#[test]
fn cover_replaces_a_waiting_run_at_once() {
    let mut job = given(json!({"block": "cover"}));
    let (old, new) = (job.trigger(), job.trigger());
    assert_eq!(job.events(), ["RunCancelled", "JobTriggered"]);
    assert_eq!((job.status_name(old), job.waiting()), ("cancelled", vec![new]));
}

#[test]
fn cover_asks_a_running_run_to_end_and_waits_for_its_report() {
    let mut job = given(json!({"block": "cover"}));
    let old = job.trigger_and_start();
    let new = job.trigger_and_start();
    assert_eq!(job.events(), ["RunCancelRequested", "JobTriggered"]);
    assert_eq!(job.running(), [old]);
    job.report(old, ordo_model::job::AttemptReport::Cancelled { started_at: None });
    assert_eq!(job.status_name(old), "cancelled");
    job.start(new);
    assert_eq!(job.running(), [new]);
}

#[test]
fn cover_keeps_only_the_newest_of_those_that_wait() {
    let mut job = given(json!({"block": "cover", "trigger": every("1s")}));
    let old = job.trigger_and_start();
    job.at("4s").wake();
    assert_eq!(job.fired(), [t("1s"), t("2s"), t("3s"), t("4s")]);
    assert_eq!(job.waiting(), [old, job.newest()]);
}

#[test]
fn a_covered_run_that_never_reports_ends_with_its_deadline() {
    let mut job = given(json!({"block": "cover", "timeout": "1m"}));
    let old = job.trigger_and_start();
    let new = job.trigger();
    job.wake_at_alarm();
    assert_eq!((job.now, job.status_name(old)), (t("1m30s"), "cancelled"));
    job.start(new);
}

#[test]
fn concurrent_runs_side_by_side_up_to_its_maximum() {
    let mut job = given(json!({"block": {"concurrent": {"max": 2}}}));
    let (a, b, c) = (job.trigger_and_start(), job.trigger_and_start(), job.trigger_and_start());
    assert_eq!((job.running(), job.waiting()), (vec![a, b], vec![a, b, c]));
    job.completes(b).start(c);
    assert_eq!(job.running(), [a, c]);
}

#[test]
fn a_start_starts_the_run_it_names() {
    let mut job = given(json!({"block": "concurrent"}));
    let (_a, b) = (job.trigger(), job.trigger());
    job.start(b);
    assert_eq!(job.running(), [b]);
}

#[test]
fn a_narrowed_block_strategy_starts_nothing_before_enough_have_ended() {
    let fields = json!({"block": {"concurrent": {"max": 3}}, "retry": {"max_attempts": 2, "backoff": "1s"}});
    let mut job = given(fields);
    let (a, b, c) = (job.trigger_and_start(), job.trigger_and_start(), job.trigger_and_start());
    job.update(json!({"block": "serial"})).fails(a, "boom").later("1s").wake_and_start();
    assert_eq!(job.running(), [b, c], "its first is ready, but two others run");
    job.completes(b).completes(c).start(a);
    assert_eq!(job.running(), [a]);
}

#[test]
fn a_place_in_another_group_is_not_taken() {
    let mut job = given(json!({"group": "gpu"}));
    let run = job.trigger_and_start();
    assert!(job.running().is_empty());
    let elsewhere = Some(SlotReservation {
        executor: generation(1),
        group: Definition::DEFAULT_GROUP.into(),
        tools: None,
        draw: 0,
        has_others: false,
        is_keyless: false,
    });
    job.order(Command::Start { run_id: run }, elsewhere).expect("it is its turn");
    assert!(job.running().is_empty());
    let place = Some(SlotReservation {
        executor: generation(1),
        group: "gpu".into(),
        tools: None,
        draw: 0,
        has_others: false,
        is_keyless: false,
    });
    job.order(Command::Start { run_id: run }, place).expect("it is its turn");
    assert_eq!(job.running(), [run]);
}

#[test]
fn a_start_without_a_place_changes_nothing() {
    let mut job = given(json!({}));
    let run = job.trigger();
    job.ask(Command::Start { run_id: run });
    assert!(job.events().is_empty());
}
