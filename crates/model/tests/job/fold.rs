//! What a stream of events says, and streams that nobody can have written.

use crate::story::*;
use ordo_model::RunId;
use ordo_model::job::{Command, Event, JobState, RunStatus, SkipReason, Unfoldable, Verdict, apply, create};
use serde_json::json;

#[test]
fn a_stream_begins_with_its_job_and_has_only_one_beginning() {
    let story = given(json!({}));
    let (at, beginning) = &story.stream[0];
    let other = Event::JobPaused { reason: None };
    let refusal = create(JOB, &other, *at).expect_err("it is no beginning");
    assert_says(&refusal, &["begins with JobPaused"]);
    let mut job = story.job.clone();
    assert_eq!(apply(&mut job, beginning, *at), Err(Unfoldable::SecondBeginning));
}

#[test]
fn an_event_about_a_run_that_is_not_there_is_unfoldable() {
    let story = given(json!({}));
    let run_id = RunId::derive(JOB, 9, noon());
    for event in [
        Event::RunReady { run_id },
        Event::RunExpired { run_id },
        Event::RunReturned { run_id, attempt: 1, reason: None, until: noon() },
        Event::RunBroadcast { run_id, total: 2 },
        Event::RunCancelled { run_id, reason: "x".into() },
        Event::RunOrphaned { run_id, settle_at: noon() },
        Event::AttemptExtended { run_id, deadline: noon() },
        Event::JobFailed {
            run_id,
            attempt: 1,
            reason: "x".into(),
            started_at: None,
            retry_at: None,
            verdict: Verdict::default(),
        },
    ] {
        let refusal = apply(&mut story.job.clone(), &event, noon()).expect_err("there is no such run");
        assert_says(&refusal, &[event.name(), "not active"]);
    }
}

#[test]
fn a_decision_made_twice_is_the_same() {
    let mut one = given(json!({"trigger": every("10s")}));
    let mut two = given(json!({"trigger": every("10s")}));
    one.at("35s").wake_and_start();
    two.at("35s").wake_and_start();
    assert_eq!((one.last, one.job), (two.last, two.job));
}

/// Without serde_json's `float_roundtrip` one number in ten comes back as its neighbour, and the stored job differs
/// from what its events say.
#[test]
fn the_numbers_of_an_input_come_back_as_they_were() {
    let mut job = given(json!({"tool_input": {"load": 471.70310932798395}}));
    job.ask(Command::Trigger {
        tool_input: Some(json!([912.1474423269809, 0.1, 1e300, -0.0, u64::MAX, i64::MIN])),
        traceparent: None,
    });
    job.update(json!({"tool_input": {"load": 471.70310932798395}}));
    assert!(job.events().is_empty(), "it is the same number");
}

#[test]
fn a_schedule_whose_jitter_is_longer_than_its_interval_fires_in_order_and_is_not_late_by_waiting() {
    let trigger = json!({"type": "scheduled", "cron": "* * * * * *", "jitter": "1m"});
    let mut job = given(json!({"trigger": trigger, "misfire": "do_nothing", "block": {"concurrent": {"max": 9}}}));
    let mut fired = Vec::new();
    for _ in 0..40 {
        job.wake_at_alarm();
        assert!(job.skipped().is_empty(), "woken at its alarm it misses nothing");
        fired.extend(job.fired());
        while let Some(run) = job.waiting().first().copied() {
            job.start(run).completes(run);
        }
    }
    assert!(fired.windows(2).all(|pair| pair[1] == pair[0].plus(ms("1s"))), "{fired:?}");
}

/// These numbers are part of stored keys.
#[test]
fn the_codes_of_states_never_change() {
    let states = JobState::ALL.map(|state| (state.name(), state.code()));
    assert_eq!(states, [("active", 0), ("paused", 1), ("held", 2), ("finished", 3), ("cancelled", 4)]);
    for state in JobState::ALL {
        assert_eq!(JobState::named(state.name()), Some(state));
        assert_eq!(serde_json::to_value(state).expect("it is written"), state.name());
    }
    let statuses = [
        RunStatus::Pending { retry_at: None, waiting_for: None },
        RunStatus::Running { cancelling: None },
        RunStatus::Completed { result: json!(1), result_bytes: None },
        RunStatus::Failed { reason: "x".into() },
        RunStatus::Cancelled { reason: "x".into() },
        RunStatus::Skipped { reason: SkipReason::Paused, gap: None },
    ];
    for (place, status) in statuses.iter().enumerate() {
        assert_eq!((usize::from(status.code()), status.name()), (place, RunStatus::NAMES[place]));
        assert_eq!(RunStatus::code_of(status.name()), Some(status.code()));
        assert_eq!(status.is_terminal(), place >= 2);
        assert_eq!(serde_json::to_value(status).expect("it is written")["type"], status.name());
    }
    assert_eq!((RunStatus::code_of("lost"), JobState::named("lost")), (None, None));
}
