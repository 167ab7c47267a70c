//! The stored form of every event, and of a job. It may grow; what was written once must read the same for ever.
//!
//! A snapshot that changes here changes the storage format: that needs a new version in docs/storage-format.md.

use std::sync::Arc;

use crate::story::*;
use insta::assert_snapshot;
use ordo_model::job::{Cause, Event, SkipReason, Timeliness, Verdict};
use ordo_model::schedule::{Gap, Occurrence};
use ordo_model::{FencingToken, RunId};
use serde_json::json;

fn run() -> RunId {
    RunId::derive(JOB, 1, noon())
}

fn occurrence(length: &str) -> Occurrence {
    Occurrence { nominal: t(length), due: t(length) }
}

fn stored(event: &Event) -> String {
    let text = serde_json::to_string(&read_back(event)).expect("it is written");
    assert!(text.starts_with(&format!("{{\"type\":\"{}\"", event.name())), "the name is the stored type: {text}");
    text
}

fn full_definition() -> Arc<ordo_model::job::Definition> {
    let fields = json!({
        "label": "nightly", "description": "the report", "tool_name": "shell", "tool_input": {"command": "make"},
        "trigger": {"type": "scheduled", "cron": "0 2 * * *", "timezone": "Europe/Berlin", "jitter": "1m",
            "dst": {"skipped": "skip", "repeated": "both"}, "start": noon(), "end": t("30d"),
            "exclude": [{"from": t("1d"), "to": t("2d")}]},
        "misfire": {"fire_all": {"cap": 3, "window": "1h"}}, "block": {"concurrent": {"max": 4}}, "routing": "lru",
        "group": "gpu", "priority": 7, "timeout": "10m", "idempotent": true,
        "retry": {"max_attempts": 3, "backoff": "1s", "max_backoff": "1m"}, "retention": {"runs": 10, "age": "7d"},
    });
    Arc::new(definition(fields).expect("it reads"))
}

#[test]
fn job_scheduled() {
    let event = Event::JobScheduled { definition: full_definition(), held: true, next: Some(occurrence("1h")) };
    assert_snapshot!(stored(&event), @r#"{"type":"JobScheduled","data":{"definition":{"label":"nightly","description":"the report","tool_name":"shell","tool_input":{"command":"make"},"trigger":{"type":"scheduled","cron":"0 2 * * *","timezone":"Europe/Berlin","dst":{"skipped":"skip","repeated":"both"},"start":"2026-11-15T12:00:00.000Z","end":"2026-12-15T12:00:00.000Z","jitter":"1m","exclude":[{"from":"2026-11-16T12:00:00.000Z","to":"2026-11-17T12:00:00.000Z"}]},"misfire":{"fire_all":{"cap":3,"window":"1h"}},"block":{"concurrent":{"max":4}},"routing":"lru","group":"gpu","priority":7,"timeout":"10m","retry":{"max_attempts":3,"backoff":"1s","max_backoff":"1m"},"idempotent":true,"retention":{"runs":10,"age":"7d"}},"held":true,"next":{"nominal":"2026-11-15T13:00:00.000Z","due":"2026-11-15T13:00:00.000Z"}}}"#);
}

#[test]
fn job_scheduled_with_defaults() {
    let definition = Arc::new(definition(json!({})).expect("it reads"));
    assert_snapshot!(stored(&Event::JobScheduled { definition, held: false, next: None }), @r#"{"type":"JobScheduled","data":{"definition":{"label":"report","tool_name":"noop","tool_input":{},"trigger":{"type":"manual"},"misfire":"fire_once_now","block":"serial","routing":"round","group":"default","priority":5,"timeout":"1h","retry":{"max_attempts":1,"backoff":"2s","max_backoff":"1h"},"idempotent":false,"retention":{"runs":1000,"age":"30d"}}}}"#);
}

#[test]
fn job_updated() {
    let definition = Arc::new(definition(json!({"trigger": every_from_noon("10s")})).expect("it reads"));
    assert_snapshot!(stored(&Event::JobUpdated { definition, next: Some(occurrence("10s")) }), @r#"{"type":"JobUpdated","data":{"definition":{"label":"report","tool_name":"noop","tool_input":{},"trigger":{"type":"scheduled","every":"10s","start":"2026-11-15T12:00:00.000Z"},"misfire":"fire_once_now","block":"serial","routing":"round","group":"default","priority":5,"timeout":"1h","retry":{"max_attempts":1,"backoff":"2s","max_backoff":"1h"},"idempotent":false,"retention":{"runs":1000,"age":"30d"}},"next":{"nominal":"2026-11-15T12:00:10.000Z","due":"2026-11-15T12:00:10.000Z"}}}"#);
}

#[test]
fn job_paused() {
    assert_snapshot!(stored(&Event::JobPaused { reason: Some("holiday".into()) }), @r#"{"type":"JobPaused","data":{"reason":"holiday"}}"#);
    assert_snapshot!(stored(&Event::JobPaused { reason: None }), @r#"{"type":"JobPaused","data":{}}"#);
}

#[test]
fn job_resumed() {
    assert_snapshot!(stored(&Event::JobResumed { next: Some(occurrence("10s")) }), @r#"{"type":"JobResumed","data":{"next":{"nominal":"2026-11-15T12:00:10.000Z","due":"2026-11-15T12:00:10.000Z"}}}"#);
    assert_snapshot!(stored(&Event::JobResumed { next: None }), @r#"{"type":"JobResumed","data":{}}"#);
}

#[test]
fn job_cancelled() {
    assert_snapshot!(stored(&Event::JobCancelled { reason: Some("obsolete".into()) }), @r#"{"type":"JobCancelled","data":{"reason":"obsolete"}}"#);
}

#[test]
fn job_triggered_by_schedule() {
    let cause = Cause::Schedule { occurrence: occurrence("10s"), next: Some(occurrence("20s")) };
    let event = |timeliness| Event::JobTriggered {
        run_id: run(),
        cause,
        timeliness,
        tool_input: None,
        traceparent: None,
        verdict: Verdict::default(),
    };
    assert_snapshot!(stored(&event(Timeliness::OnTime)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"schedule","occurrence":{"nominal":"2026-11-15T12:00:10.000Z","due":"2026-11-15T12:00:10.000Z"},"next":{"nominal":"2026-11-15T12:00:20.000Z","due":"2026-11-15T12:00:20.000Z"}}}}"#);
    assert_snapshot!(stored(&event(Timeliness::Late)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"schedule","occurrence":{"nominal":"2026-11-15T12:00:10.000Z","due":"2026-11-15T12:00:10.000Z"},"next":{"nominal":"2026-11-15T12:00:20.000Z","due":"2026-11-15T12:00:20.000Z"}},"timeliness":"late"}}"#);
    assert_snapshot!(stored(&event(Timeliness::Misfire)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"schedule","occurrence":{"nominal":"2026-11-15T12:00:10.000Z","due":"2026-11-15T12:00:10.000Z"},"next":{"nominal":"2026-11-15T12:00:20.000Z","due":"2026-11-15T12:00:20.000Z"}},"timeliness":"misfire"}}"#);
}

#[test]
fn job_triggered_otherwise() {
    let event = |cause, tool_input| Event::JobTriggered {
        run_id: run(),
        cause,
        timeliness: Timeliness::OnTime,
        tool_input,
        traceparent: None,
        verdict: Verdict::default(),
    };
    assert_snapshot!(stored(&event(Cause::Manual, Some(json!({"a": 1})))), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"manual"},"tool_input":{"a":1}}}"#);
    assert_snapshot!(stored(&event(Cause::Retry { of: run(), delivery: None }, None)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"retry","of":"01a1df14-1e00-736d-9929-59576f602556"}}}"#);
    let delivery = uuid::Uuid::from_u128(7);
    let again = Cause::Retry { of: run(), delivery: Some(delivery) };
    assert_snapshot!(stored(&event(again, None)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"retry","of":"01a1df14-1e00-736d-9929-59576f602556","delivery":"00000000-0000-0000-0000-000000000007"}}}"#);
    assert_snapshot!(stored(&event(Cause::Webhook { delivery, replay: 0 }, None)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"webhook","delivery":"00000000-0000-0000-0000-000000000007"}}}"#);
    assert_snapshot!(stored(&event(Cause::Webhook { delivery, replay: 2 }, None)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"webhook","delivery":"00000000-0000-0000-0000-000000000007","replay":2}}}"#);
    let backfill = Cause::Backfill { occurrence: occurrence("10s"), next: None };
    assert_snapshot!(stored(&event(backfill, None)), @r#"{"type":"JobTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","cause":{"type":"backfill","occurrence":{"nominal":"2026-11-15T12:00:10.000Z","due":"2026-11-15T12:00:10.000Z"}}}}"#);
}

#[test]
fn job_started() {
    let event = Event::JobStarted {
        run_id: run(),
        attempt: 2,
        token: FencingToken(7),
        executor: generation(1),
        deadline: t("1h"),
        concurrency_key: None,
    };
    assert_snapshot!(stored(&event), @r#"{"type":"JobStarted","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","attempt":2,"token":7,"executor":{"executor":"local","generation":"00000000-0000-0000-0000-000000000001"},"deadline":"2026-11-15T13:00:00.000Z"}}"#);
}

#[test]
fn job_executed() {
    let event = |result_bytes| Event::JobExecuted {
        run_id: run(),
        attempt: 1,
        started_at: t("1s"),
        result: json!({"exit_code": 0}),
        result_bytes,
        verdict: Verdict::default(),
    };
    assert_snapshot!(stored(&event(None)), @r#"{"type":"JobExecuted","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","attempt":1,"started_at":"2026-11-15T12:00:01.000Z","result":{"exit_code":0}}}"#);
    assert_snapshot!(stored(&event(Some(70_000))), @r#"{"type":"JobExecuted","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","attempt":1,"started_at":"2026-11-15T12:00:01.000Z","result":{"exit_code":0},"result_bytes":70000}}"#);
}

#[test]
fn job_failed() {
    let event = |started_at, retry_at| Event::JobFailed {
        run_id: run(),
        attempt: 1,
        reason: "exit code 3".into(),
        started_at,
        retry_at,
        verdict: Verdict::default(),
    };
    assert_snapshot!(stored(&event(Some(t("1s")), Some(t("3s")))), @r#"{"type":"JobFailed","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","attempt":1,"reason":"exit code 3","started_at":"2026-11-15T12:00:01.000Z","retry_at":"2026-11-15T12:00:03.000Z"}}"#);
    assert_snapshot!(stored(&event(None, None)), @r#"{"type":"JobFailed","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","attempt":1,"reason":"exit code 3"}}"#);
}

#[test]
fn job_skipped() {
    let cause = Cause::Schedule { occurrence: occurrence("30s"), next: Some(occurrence("40s")) };
    let gap = |exact| Some(Gap { from: t("10s"), to: t("30s"), count: 3, exact });
    let event =
        |reason, cause, gap| Event::JobSkipped { run_id: run(), reason, cause, gap, verdict: Verdict::default() };
    assert_snapshot!(stored(&event(SkipReason::Misfire, cause, gap(true))), @r#"{"type":"JobSkipped","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","reason":"misfire","cause":{"type":"schedule","occurrence":{"nominal":"2026-11-15T12:00:30.000Z","due":"2026-11-15T12:00:30.000Z"},"next":{"nominal":"2026-11-15T12:00:40.000Z","due":"2026-11-15T12:00:40.000Z"}},"gap":{"from":"2026-11-15T12:00:10.000Z","to":"2026-11-15T12:00:30.000Z","count":3}}}"#);
    assert_snapshot!(stored(&event(SkipReason::CatchUpLimit, cause, gap(false))), @r#"{"type":"JobSkipped","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","reason":"catch_up_limit","cause":{"type":"schedule","occurrence":{"nominal":"2026-11-15T12:00:30.000Z","due":"2026-11-15T12:00:30.000Z"},"next":{"nominal":"2026-11-15T12:00:40.000Z","due":"2026-11-15T12:00:40.000Z"}},"gap":{"from":"2026-11-15T12:00:10.000Z","to":"2026-11-15T12:00:30.000Z","count":3,"exact":false}}}"#);
    assert_snapshot!(stored(&event(SkipReason::Overlap, Cause::Manual, None)), @r#"{"type":"JobSkipped","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","reason":"overlap","cause":{"type":"manual"}}}"#);
}

#[test]
fn the_reasons_of_a_skip_are_stored_under_their_names() {
    for reason in SkipReason::ALL {
        assert_eq!(serde_json::to_value(reason).expect("it is written"), reason.name());
    }
}

#[test]
fn run_ready() {
    assert_snapshot!(stored(&Event::RunReady { run_id: run() }), @r#"{"type":"RunReady","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556"}}"#);
}

#[test]
fn run_cancel_requested() {
    assert_snapshot!(stored(&Event::RunCancelRequested { run_id: run(), reason: "enough".into() }), @r#"{"type":"RunCancelRequested","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","reason":"enough"}}"#);
}

#[test]
fn run_cancelled() {
    assert_snapshot!(stored(&Event::RunCancelled { run_id: run(), reason: "enough".into() }), @r#"{"type":"RunCancelled","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","reason":"enough"}}"#);
}

#[test]
fn run_returned_expired_and_broadcast() {
    let returned = Event::RunReturned { run_id: run(), attempt: 2, reason: Some("busy".into()), until: t("5s") };
    assert_snapshot!(stored(&returned), @r#"{"type":"RunReturned","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","attempt":2,"reason":"busy","until":"2026-11-15T12:00:05.000Z"}}"#);
    assert_snapshot!(stored(&Event::RunExpired { run_id: run() }), @r#"{"type":"RunExpired","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556"}}"#);
    assert_snapshot!(stored(&Event::RunBroadcast { run_id: run(), total: 3 }), @r#"{"type":"RunBroadcast","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","total":3}}"#);
    let shard = Event::ShardTriggered { run_id: run(), parent: run(), index: 1, executor: generation(1) };
    assert_snapshot!(stored(&shard), @r#"{"type":"ShardTriggered","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","parent":"01a1df14-1e00-736d-9929-59576f602556","index":1,"executor":{"executor":"local","generation":"00000000-0000-0000-0000-000000000001"}}}"#);
}

#[test]
fn run_orphaned() {
    assert_snapshot!(stored(&Event::RunOrphaned { run_id: run(), settle_at: t("2s") }), @r#"{"type":"RunOrphaned","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","settle_at":"2026-11-15T12:00:02.000Z"}}"#);
}

#[test]
fn attempt_extended_and_clock_stepped() {
    assert_snapshot!(stored(&Event::AttemptExtended { run_id: run(), deadline: t("1h") }), @r#"{"type":"AttemptExtended","data":{"run_id":"01a1df14-1e00-736d-9929-59576f602556","deadline":"2026-11-15T13:00:00.000Z"}}"#);
    let frame = ordo_model::ClockFrame { since: noon(), ahead_ms: -3_600_000 };
    let step = Event::ClockStepped { by_ms: -3_600_000, frame, set_back_ms: 3_600_000, next: None };
    assert_snapshot!(stored(&step), @r#"{"type":"ClockStepped","data":{"by_ms":-3600000,"frame":{"since":"2026-11-15T12:00:00.000Z","ahead_ms":-3600000},"set_back_ms":3600000}}"#);
}

#[test]
fn backfill_requested() {
    let event = Event::BackfillRequested { from: noon(), to: t("1m"), next: occurrence("10s") };
    assert_snapshot!(stored(&event), @r#"{"type":"BackfillRequested","data":{"from":"2026-11-15T12:00:00.000Z","to":"2026-11-15T12:01:00.000Z","next":{"nominal":"2026-11-15T12:00:10.000Z","due":"2026-11-15T12:00:10.000Z"}}}"#);
}

#[test]
fn history_trimmed() {
    let event = Event::HistoryTrimmed { trims: 3, runs: 100, below: 250, oldest: Some(t("1h")) };
    assert_snapshot!(stored(&event), @r#"{"type":"HistoryTrimmed","data":{"trims":3,"runs":100,"below":250,"oldest":"2026-11-15T13:00:00.000Z"}}"#);
}

#[test]
fn published() {
    assert_snapshot!(stored(&Event::Published { through: 12 }), @r#"{"type":"Published","data":{"through":12}}"#);
}

/// A checkpoint is the folded job: its form is stored too. This one has a run in every stage.
#[test]
fn a_job_with_all_its_parts() {
    let fields = json!({
        "trigger": every_from_noon("10s"), "block": {"concurrent": {"max": 3}}, "retry": {"max_attempts": 2},
        "misfire": "do_nothing",
    });
    let mut story = given(fields);
    story.wake_and_start();
    let failing = story.newest();
    story.fails(failing, "boom");
    let running = story.trigger_and_start();
    let asked = ordo_model::job::Command::CancelRun { run_id: running, reason: "enough".into() };
    story.ask(asked).ask(ordo_model::job::Command::Orphan { executor: generation(1), settle_after: ms("2s") });
    story.ask(ordo_model::job::Command::Trigger { tool_input: Some(json!({"a": 1})), traceparent: None });
    story.pause().at("1m");
    story.ask(ordo_model::job::Command::Backfill { from: t("10s"), to: t("1m") });
    story.update(json!({"label": "other"}));
    assert_snapshot!(serde_json::to_string_pretty(&story.job).expect("it is written"), @r#"
    {
      "id": "01900000-0000-7000-8000-000000000007",
      "definition": {"label":"other","tool_name":"noop","tool_input":{},"trigger":{"type":"scheduled","every":"10s","start":"2026-11-15T12:00:00.000Z"},"misfire":"do_nothing","block":{"concurrent":{"max":3}},"routing":"round","group":"default","priority":5,"timeout":"1h","retry":{"max_attempts":2,"backoff":"2s","max_backoff":"1h"},"idempotent":false,"retention":{"runs":1000,"age":"30d"}},
      "revision": 2,
      "version": 13,
      "phase": {
        "type": "paused",
        "since": "2026-11-15T12:00:00.000Z"
      },
      "created_at": "2026-11-15T12:00:00.000Z",
      "updated_at": "2026-11-15T12:01:00.000Z",
      "next": {
        "nominal": "2026-11-15T12:01:10.000Z",
        "due": "2026-11-15T12:01:10.000Z"
      },
      "accounted_to": "2026-11-15T12:01:00.000Z",
      "active": [
        {
          "id": "01a1df14-1e00-736d-9929-59576f602556",
          "cause": {
            "type": "schedule",
            "occurrence": {
              "nominal": "2026-11-15T12:00:00.000Z",
              "due": "2026-11-15T12:00:00.000Z"
            },
            "next": {
              "nominal": "2026-11-15T12:00:10.000Z",
              "due": "2026-11-15T12:00:10.000Z"
            }
          },
          "fired_at": "2026-11-15T12:00:00.000Z",
          "version": 2,
          "stage": {
            "type": "backoff",
            "until": "2026-11-15T12:00:02.000Z"
          },
          "attempts": 1,
          "first_started_at": "2026-11-15T12:00:00.000Z",
          "errors": [
            {
              "attempt": 1,
              "at": "2026-11-15T12:00:00.000Z",
              "reason": "boom"
            }
          ]
        },
        {
          "id": "01a1df14-1e00-759a-becd-43d3da66ca99",
          "cause": {
            "type": "manual"
          },
          "fired_at": "2026-11-15T12:00:00.000Z",
          "version": 5,
          "stage": {
            "type": "running",
            "number": 1,
            "token": 2,
            "executor": {
              "executor": "local",
              "generation": "00000000-0000-0000-0000-000000000001"
            },
            "started_at": "2026-11-15T12:00:00.000Z",
            "deadline": "2026-11-15T13:00:30.000Z",
            "settle_at": "2026-11-15T12:00:02.000Z"
          },
          "attempts": 1,
          "first_started_at": "2026-11-15T12:00:00.000Z",
          "cancelling": "enough"
        },
        {
          "id": "01a1df14-1e00-7e47-9696-e5142ade0f29",
          "cause": {
            "type": "manual"
          },
          "fired_at": "2026-11-15T12:00:00.000Z",
          "version": 9,
          "tool_input": {
            "a": 1
          },
          "stage": {
            "type": "queued"
          },
          "attempts": 0
        }
      ],
      "backfills": [
        {
          "next": {
            "nominal": "2026-11-15T12:00:10.000Z",
            "due": "2026-11-15T12:00:10.000Z"
          },
          "to": "2026-11-15T12:01:00.000Z"
        }
      ],
      "run_count": 4,
      "last_token": 2,
      "history": {
        "kept": 1,
        "oldest": "2026-11-15T12:01:00.000Z",
        "last": {
          "run_id": "01a1df15-0860-7922-b8af-63e5dcff9ff9",
          "status": "skipped",
          "at": "2026-11-15T12:01:00.000Z"
        },
        "failures_in_row": 0
      }
    }
    "#);
}

#[test]
fn a_run_that_is_over() {
    let mut story = given(json!({"trigger": at(t("10s"))}));
    story.at("17s").wake_and_start();
    let run = story.newest();
    story.completes(run);
    assert_snapshot!(serde_json::to_string_pretty(&story.runs[&run]).expect("it is written"), @r#"
    {
      "id": "01a1df14-6068-736d-9929-59576f602556",
      "job_id": "01900000-0000-7000-8000-000000000007",
      "label": "report",
      "scheduled_for": "2026-11-15T12:00:10.000Z",
      "fired_at": "2026-11-15T12:00:17.000Z",
      "started_at": "2026-11-15T12:00:17.000Z",
      "finished_at": "2026-11-15T12:00:17.000Z",
      "lateness_ms": 7000,
      "attempt": 1,
      "executor": "local",
      "parent_id": null,
      "shard": null,
      "cause": {
        "type": "schedule",
        "occurrence": {
          "nominal": "2026-11-15T12:00:10.000Z",
          "due": "2026-11-15T12:00:10.000Z"
        }
      },
      "timeliness": "late",
      "status": {
        "type": "completed",
        "result": {
          "ok": true
        }
      },
      "version": 2
    }
    "#);
}
