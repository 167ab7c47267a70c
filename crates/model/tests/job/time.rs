//! Occurrences and their outcomes: on time, late, missed, too many, while paused, while the clock jumps.

use crate::story::*;
use ordo_model::Millis;
use ordo_model::job::Timeliness::{Late, Misfire, OnTime};
use ordo_model::job::{Command, JobState, SkipReason};
use serde_json::json;

#[test]
fn an_interval_fires_once_per_beat_and_does_not_drift() {
    let mut job = given(json!({"trigger": every("10s"), "block": {"concurrent": {"max": 9}}}));
    for (moment, nominal) in [("10s", "10s"), ("20s3ms", "20s"), ("34s", "30s"), ("40s", "40s")] {
        job.at(moment).wake();
        assert_eq!(job.fired(), [t(nominal)]);
    }
}

#[test]
fn a_wake_before_its_time_fires_nothing() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("9s999ms").wake();
    assert_eq!((job.events().len(), job.job.next_turn()), (0, Some(t("10s"))));
}

#[test]
fn a_second_wake_at_the_same_moment_fires_nothing_more() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("10s").wake().wake();
    assert!(job.events().is_empty());
}

#[test]
fn a_one_off_fires_once_and_is_finished_when_its_run_is_over() {
    let mut job = given(json!({"trigger": at(t("5s"))}));
    job.at("5s").wake_and_start();
    assert_eq!(job.fired(), [t("5s")]);
    assert_eq!(job.state(), JobState::Active);
    let run = job.newest();
    job.later("1s").completes(run);
    assert_eq!((job.state(), job.job.next_turn()), (JobState::Finished, None));
}

#[test]
fn a_time_up_to_a_minute_past_fires_at_once_whatever_the_misfire_policy() {
    for misfire in ["fire_once_now", "do_nothing"] {
        let mut job = given(json!({"trigger": at(noon().minus(ms("1m"))), "misfire": misfire}));
        assert_eq!(job.job.next_turn(), Some(noon()));
        job.wake();
        assert_eq!((job.fired(), job.timeliness()), (vec![noon().minus(ms("1m"))], vec![OnTime]));
    }
}

#[test]
fn late_by_five_seconds_is_on_time_and_a_millisecond_more_is_late() {
    for (moment, expected) in [("15s", OnTime), ("15s1ms", Late), ("20s", Late), ("20s1ms", Misfire)] {
        let mut job = given(json!({"trigger": at(t("10s"))}));
        job.at(moment).wake();
        assert_eq!(job.timeliness(), [expected], "woken at {moment}");
    }
}

#[test]
fn a_missed_one_off_is_skipped_when_its_policy_is_to_do_nothing() {
    let mut job = given(json!({"trigger": at(t("10s")), "misfire": "do_nothing"}));
    job.at("20s").wake();
    assert_eq!(job.fired(), [t("10s")], "ten seconds late is not missed yet");

    let mut job = given(json!({"trigger": at(t("10s")), "misfire": "do_nothing"}));
    job.at("20s1ms").wake();
    assert_eq!(job.skipped(), [(SkipReason::Misfire, t("10s"), t("10s"), 1)]);
    assert_eq!(job.state(), JobState::Finished);
}

#[test]
fn fire_once_now_fires_the_newest_missed_one_and_all_that_are_merely_late() {
    let mut job = given(json!({"trigger": every("4s")}));
    job.at("41s").wake(); // 4 … 40: those up to 28 are late by more than ten seconds
    assert_eq!(job.skipped(), [(SkipReason::Misfire, t("4s"), t("24s"), 6)]);
    assert_eq!(job.fired(), [t("28s"), t("32s"), t("36s"), t("40s")]);
    assert_eq!(job.timeliness(), [Misfire, Late, OnTime, OnTime]);
    assert_eq!(job.job.next_turn(), Some(t("44s")));
}

#[test]
fn do_nothing_skips_the_missed_ones_and_fires_the_merely_late() {
    let mut job = given(json!({"trigger": every("4s"), "misfire": "do_nothing"}));
    job.at("41s").wake();
    assert_eq!(job.skipped(), [(SkipReason::Misfire, t("4s"), t("28s"), 7)]);
    assert_eq!(job.fired(), [t("32s"), t("36s"), t("40s")]);
}

#[test]
fn fire_all_fires_the_newest_up_to_its_cap() {
    let mut job = given(json!({"trigger": every("4s"), "misfire": {"fire_all": {"cap": 3}}}));
    job.at("41s").wake();
    assert_eq!(job.skipped(), [(SkipReason::Misfire, t("4s"), t("16s"), 4)]);
    assert_eq!(job.fired(), [t("20s"), t("24s"), t("28s"), t("32s"), t("36s"), t("40s")]);
}

#[test]
fn fire_all_fires_only_what_lies_in_its_window() {
    let mut job = given(json!({"trigger": every("4s"), "misfire": {"fire_all": {"window": "17s"}}}));
    job.at("41s").wake();
    assert_eq!(job.skipped(), [(SkipReason::Misfire, t("4s"), t("20s"), 5)]);
    assert_eq!(job.fired().first(), Some(&t("24s")));
}

#[test]
fn one_wake_fires_at_most_a_hundred_and_the_rest_is_one_record() {
    let mut job = given(json!({"trigger": every("1s"), "misfire": {"fire_all": {}}}));
    job.at("5m").wake();
    assert_eq!(job.skipped(), [(SkipReason::CatchUpLimit, t("1s"), t("200s"), 200)]);
    assert_eq!((job.fired().len(), job.fired()[0]), (100, t("201s")));
}

#[test]
fn a_day_of_a_millisecond_schedule_is_one_record() {
    let mut job = given(json!({"trigger": every("1ms"), "misfire": "do_nothing"}));
    job.at("1d").wake();
    assert_eq!(job.skipped(), [(SkipReason::CatchUpLimit, t("1ms"), t("23h59m59s900ms"), 86_400_000 - 100)]);
    assert_eq!((job.fired().len(), job.job.next_turn()), (100, Some(t("1d1ms"))));
}

#[test]
fn a_long_gap_of_a_cron_schedule_is_one_record() {
    let mut job = given(json!({"trigger": cron("0 * * * *")}));
    job.at("10h30m").wake();
    assert_eq!(job.skipped(), [(SkipReason::Misfire, t("0s"), t("9h"), 10)]);
    assert_eq!(job.fired(), [t("10h")]);
}

#[test]
fn a_schedule_ends_with_its_last_occurrence() {
    let mut job = given(json!({"trigger": {"type": "scheduled", "every": "10s", "end": t("25s")}}));
    job.at("10s").wake();
    assert_eq!(job.job.next_turn(), Some(t("20s")));
    job.at("20s").wake();
    assert_eq!(job.job.next_turn(), None);
    assert_eq!(job.state(), JobState::Active, "its runs are not over");
}

#[test]
fn jitter_moves_the_due_time_and_not_the_nominal_one() {
    let mut job = given(json!({"trigger": {"type": "scheduled", "every": "10s", "jitter": "5s"}}));
    let due = job.job.next_turn().expect("it has an alarm");
    assert!(due > t("10s") && due < t("15s"), "{due}");
    job.at("10s").wake();
    assert!(job.fired().is_empty(), "never early");
    job.now = due;
    job.wake_and_start();
    assert_eq!((job.fired(), job.timeliness()), (vec![t("10s")], vec![OnTime]));
    let run = &job.runs[&job.newest()];
    assert_eq!((run.scheduled_for, run.due_at, run.lateness_ms), (Some(t("10s")), Some(due), Some(0)));
}

#[test]
fn a_clock_set_back_fires_nothing_twice() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("30s").wake();
    for _ in 0..3 {
        job.earlier("9s").wake();
        assert!(job.events().is_empty());
    }
    job.at("40s").wake();
    assert_eq!(job.fired(), [t("40s")]);
}

#[test]
fn after_a_wake_the_next_alarm_lies_ahead() {
    let fields = json!({"trigger": every("1ms"), "retry": {"max_attempts": 9, "backoff": "0s"}, "idempotent": true});
    let mut job = given(fields);
    job.at("1ms").wake_and_start();
    // Past the deadline: the attempt is settled, waits for no time at all, and is ready again, in one wake.
    job.at("2h").wake();
    assert!(job.job.next_turn() > Some(job.now));
    assert!(job.events().contains(&"RunReady"));
}

#[test]
fn what_was_due_before_a_pause_fires_and_what_comes_after_is_skipped() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("11s").pause();
    assert_eq!((job.events(), job.fired()), (vec!["JobTriggered", "JobPaused"], vec![t("10s")]));
    assert_eq!((job.state(), job.job.next_turn()), (JobState::Paused, None));
    job.at("45s").wake();
    assert!(job.events().is_empty());
    job.resume();
    assert_eq!(job.events(), ["JobSkipped", "JobResumed"]);
    assert_eq!(job.skipped(), [(SkipReason::Paused, t("20s"), t("40s"), 3)]);
    assert_eq!(job.job.next_turn(), Some(t("50s")));
}

#[test]
fn a_pause_that_hid_nothing_leaves_no_record() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("1s").pause().at("9s").resume();
    assert_eq!((job.events(), job.job.next_turn()), (vec!["JobResumed"], Some(t("10s"))));
}

#[test]
fn pausing_twice_and_resuming_twice_is_the_same_as_once() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.ask(Command::Pause { reason: Some("holiday".into()) }).pause();
    assert!(job.events().is_empty());
    job.resume().resume();
    assert!(job.events().is_empty());
}

#[test]
fn a_one_off_paused_past_its_time_is_fired_by_its_misfire_policy() {
    let mut job = given(json!({"trigger": at(t("10s"))}));
    job.pause().at("1h").resume();
    assert_eq!((job.events(), job.job.next_turn()), (vec!["JobResumed"], Some(t("10s"))));
    job.wake();
    assert_eq!((job.fired(), job.timeliness()), (vec![t("10s")], vec![Misfire]));

    let mut job = given(json!({"trigger": at(t("10s")), "misfire": "do_nothing"}));
    job.pause().at("1h").resume().wake();
    assert_eq!(job.skipped(), [(SkipReason::Misfire, t("10s"), t("10s"), 1)]);
}

#[test]
fn a_held_job_begins_when_it_is_resumed_and_missed_nothing() {
    let mut job = given_held(json!({"trigger": every("10s")}));
    assert_eq!((job.state(), job.job.next_turn()), (JobState::Held, None));
    job.at("1h3s").wake();
    assert!(job.events().is_empty());
    job.resume();
    assert_eq!((job.events(), job.job.next_turn()), (vec!["JobResumed"], Some(t("1h10s"))));
}

#[test]
fn a_held_one_off_keeps_its_time() {
    let mut job = given_held(json!({"trigger": at(t("10s"))}));
    job.at("12s").resume().wake();
    assert_eq!((job.fired(), job.timeliness()), (vec![t("10s")], vec![OnTime]));
}

#[test]
fn a_schedule_with_excluded_times_fires_around_them() {
    let trigger = json!({"type": "scheduled", "every": "10s", "exclude": [{"from": t("15s"), "to": t("35s")}]});
    let mut job = given(json!({"trigger": trigger}));
    job.at("10s").wake();
    assert_eq!(job.job.next_turn(), Some(t("40s")));
    job.at("40s").wake();
    assert_eq!((job.fired(), job.skipped()), (vec![t("40s")], vec![]));
}

#[test]
fn a_one_off_that_came_late_says_how_late_it_was() {
    let mut job = given(json!({"trigger": at(noon().minus(Millis::from_secs(30)))}));
    job.wake_and_start();
    assert_eq!(job.runs[&job.newest()].lateness_ms, Some(30_000));
}
