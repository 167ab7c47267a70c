//! Somebody sets the wall clock, or the machine sleeps: what is measured goes by the time that really passed.

use crate::story::*;
use ordo_model::job::{Command, JobState, RunStatus};
use serde_json::json;

const HOUR: i64 = 3_600_000;

#[test]
fn a_step_forward_does_not_end_a_healthy_run() {
    let mut job = given(json!({"trigger": {"type": "manual"}, "timeout": "10m"}));
    let run = job.trigger_and_start();
    job.later("1s").set_clock(2 * HOUR).wake();
    assert_eq!(job.events(), ["ClockStepped"]);
    assert!(matches!(*job.status(run), RunStatus::Running { .. }));
    assert_eq!(job.job.next_turn(), Some(t("2h10m30s")), "the alarm has moved with the clock");
    job.later("1s").completes(run);
    assert!(matches!(*job.status(run), RunStatus::Completed { .. }));
}

#[test]
fn the_timeout_is_as_long_as_it_was_whatever_the_clock_says() {
    for by in [2 * HOUR, -2 * HOUR] {
        let mut job = given(json!({"trigger": {"type": "manual"}, "timeout": "10m"}));
        let run = job.trigger_and_start();
        job.later("1m").set_clock(by).wake();
        job.later("9m29s").wake();
        assert!(matches!(*job.status(run), RunStatus::Running { .. }), "{by}");
        job.later("1s").wake();
        assert!(matches!(*job.status(run), RunStatus::Failed { .. }), "{by}");
    }
}

#[test]
fn a_retry_waits_as_long_as_it_was_told_to() {
    for by in [HOUR, -HOUR] {
        let retry = json!({"max_attempts": 2, "backoff": "10s"});
        let mut job = given(json!({"trigger": {"type": "manual"}, "retry": retry}));
        let run = job.trigger_and_start();
        job.fails(run, "no");
        job.later("1s").set_clock(by).wake();
        assert_eq!(job.events(), ["ClockStepped"], "{by}");
        job.wake_at_alarm();
        assert_eq!((job.now, job.events()), (t("10s").moved(by), vec!["RunReady"]), "{by}");
    }
}

#[test]
fn a_run_that_waits_for_an_executor_is_not_given_up_because_the_clock_was_set() {
    let mut job = given(json!({"trigger": {"type": "manual"}, "group": "gpu", "expire_after": "10m"}));
    let run = job.trigger();
    job.later("1m").set_clock(HOUR).wake();
    assert!(matches!(*job.status(run), RunStatus::Pending { .. }));
    job.later("9m").wake();
    assert!(matches!(*job.status(run), RunStatus::Skipped { .. }));
}

#[test]
fn a_step_is_taken_in_once_and_the_step_back_too() {
    let mut job = given(json!({"trigger": {"type": "manual"}, "timeout": "10m"}));
    job.trigger_and_start();
    job.later("1s").set_clock(HOUR).wake();
    job.wake();
    assert!(job.events().is_empty());
    job.set_clock(-HOUR).wake();
    assert_eq!((job.events(), job.job.next_turn()), (vec!["ClockStepped"], Some(t("10m30s"))));
}

#[test]
fn a_run_that_begins_after_the_step_is_not_moved_by_it() {
    let mut job = given(json!({"trigger": {"type": "manual"}, "timeout": "10m"}));
    job.set_clock(HOUR);
    let run = job.trigger_and_start();
    assert_eq!(job.events(), ["ClockStepped", "JobTriggered", "JobStarted"]);
    assert_eq!(job.job.next_turn(), Some(t("1h10m30s")));
    job.later("10m30s").wake();
    assert!(matches!(*job.status(run), RunStatus::Failed { .. }));
}

#[test]
fn an_idle_job_takes_no_notice_of_the_clock() {
    let mut job = given(json!({"trigger": {"type": "manual"}}));
    job.set_clock(HOUR).wake();
    assert!(job.events().is_empty());
}

#[test]
fn what_a_former_process_measured_moves_nothing_in_the_next() {
    let mut job = given(json!({"trigger": {"type": "manual"}, "timeout": "10m"}));
    let run = job.trigger_and_start();
    job.later("1s").set_clock(HOUR).wake();
    job.later("1s").restart().wake();
    assert!(job.events().is_empty());
    job.later("1s").set_clock(HOUR).wake();
    assert_eq!((job.events(), job.job.next_turn()), (vec!["ClockStepped"], Some(t("2h10m30s"))));
    assert!(matches!(*job.status(run), RunStatus::Running { .. }));
}

#[test]
fn after_a_restart_an_executor_that_went_on_has_its_whole_time_again() {
    let mut job = given(json!({"trigger": {"type": "manual"}, "timeout": "10m"}));
    let run = job.trigger_and_start();
    job.later("3h").restart().ask(Command::Readopt { executor: generation(1) });
    assert_eq!((job.events(), job.job.next_turn()), (vec!["AttemptExtended"], Some(t("3h10m30s"))));
    job.wake();
    assert!(matches!(*job.status(run), RunStatus::Running { .. }));
    job.ask(Command::Readopt { executor: generation(2) });
    assert!(job.events().is_empty(), "what others have is not touched");
}

#[test]
fn an_interval_keeps_its_beat_when_the_clock_is_set_back() {
    let mut job = given(json!({"trigger": every("10s"), "block": {"concurrent": {"max": 99}}}));
    job.at("10s").wake();
    job.later("3s").set_clock(-HOUR).wake();
    assert_eq!(job.events(), ["ClockStepped"]);
    let mut nominal = Vec::new();
    for _ in 0..3 {
        job.wake_at_alarm();
        nominal.extend(job.fired());
    }
    assert_eq!(nominal, [t("20s"), t("30s"), t("40s")], "no nominal time is given out twice");
    assert_eq!(job.now, t("40s").moved(-HOUR), "and each comes ten seconds after the one before");
}

#[test]
fn a_step_back_of_less_than_a_beat_delays_one_beat() {
    let mut job = given(json!({"trigger": every("1m"), "block": {"concurrent": {"max": 99}}}));
    job.at("1m").wake();
    job.later("3s").set_clock(-20_000).wake();
    job.wake_at_alarm();
    assert_eq!((job.now, job.fired()), (t("2m"), vec![t("2m")]), "it stays on the minute");
}

#[test]
fn a_clock_that_is_put_right_again_brings_the_beat_back_to_its_nominal_times() {
    let mut job = given(json!({"trigger": every("10s"), "block": {"concurrent": {"max": 99}}}));
    job.at("10s").wake();
    job.later("3s").set_clock(-HOUR).wake();
    job.wake_at_alarm();
    job.later("2s").set_clock(HOUR).wake();
    assert_eq!(job.fired(), []);
    job.wake_at_alarm();
    assert_eq!((job.now, job.fired()), (t("30s"), vec![t("30s")]));
}

#[test]
fn a_clock_that_was_put_right_while_nobody_looked_is_believed() {
    let mut job = given(json!({"trigger": every("10s"), "block": {"concurrent": {"max": 99}}}));
    job.at("10s").wake();
    job.later("3s").set_clock(-HOUR).wake();
    job.at("1m5s").restart().wake();
    assert_eq!(job.fired().last(), Some(&t("1m")));
    job.wake_at_alarm();
    assert_eq!((job.now, job.fired()), (t("1m10s"), vec![t("1m10s")]));
}

#[test]
fn an_interval_that_has_not_begun_waits_for_its_start() {
    let trigger = json!({"type": "scheduled", "every": "10s", "start": t("1h")});
    let mut job = given(json!({"trigger": trigger}));
    job.set_clock(-HOUR).wake();
    assert_eq!((job.events().len(), job.job.next_turn()), (0, Some(t("1h"))));
}

#[test]
fn a_calendar_does_not_run_twice_because_the_clock_went_back() {
    let trigger = json!({"type": "scheduled", "cron": "0 * * * *", "timezone": "UTC"});
    let mut job = given(json!({"trigger": trigger}));
    job.at("1h").wake();
    assert_eq!(job.fired().last(), Some(&t("1h")));
    job.set_clock(-HOUR).at("1h").wake();
    assert_eq!((job.fired(), job.job.next_tick_at()), (vec![], Some(t("2h"))));
}

#[test]
fn a_job_that_is_new_to_a_clock_that_was_set_before_is_not_moved_by_that() {
    let mut job = given(json!({"trigger": every("10s"), "block": {"concurrent": {"max": 99}}}));
    job.at("10s").wake();
    assert_eq!(job.state(), JobState::Active);
    job.set_clock(-HOUR).update(json!({"trigger": {"type": "scheduled", "every": "20s"}}));
    let before = job.now;
    job.wake_at_alarm();
    assert!(job.now.since(before).ms() <= 40_000, "a changed interval beats on too: {}", job.now);
}
