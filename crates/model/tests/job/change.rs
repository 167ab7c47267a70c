//! A job is changed, cancelled, filled in, trimmed; and what is said to those who ask too much.

use crate::story::*;
use ordo_model::Timestamp;
use ordo_model::job::{Command, JobState, Refusal, SkipReason};
use ordo_model::limits::{BACKFILL_MAX, BACKFILLS_PER_JOB, RETENTION_SLACK_MIN};
use serde_json::{Value, json};

fn backfill(from: &str, to: &str) -> Command {
    Command::Backfill { from: t(from), to: t(to) }
}

fn at_revision(patch: Value, revision: u64) -> Command {
    let Value::Object(patch) = patch else { panic!("a patch is an object") };
    Command::Update { patch, if_revision: Some(revision), if_followed: None }
}

// --- update -------------------------------------------------------------------------------------

#[test]
fn an_update_moves_the_revision_and_a_run_does_not() {
    let mut job = given(json!({}));
    job.update(json!({"label": "other", "retry": {"max_attempts": 3}}));
    assert_eq!(job.events(), ["JobUpdated"]);
    assert_eq!((job.job.revision, job.job.definition.label.as_str()), (2, "other"));
    assert_eq!(job.job.definition.retry.backoff, ms("2s"), "what is not named stays");
    job.trigger();
    assert_eq!((job.job.revision, job.job.version), (2, 3));
}

#[test]
fn an_update_that_changes_nothing_is_no_event() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("5s").update(json!({"label": "report", "trigger": every("10s")}));
    assert!(job.events().is_empty(), "the same interval keeps its beat");
}

#[test]
fn an_update_of_another_revision_is_refused() {
    let mut job = given(json!({}));
    job.ask(at_revision(json!({"label": "a"}), 1));
    assert_eq!(job.refusal(at_revision(json!({"label": "b"}), 1)), Refusal::RevisionMoved { actual: 2 });
    assert_eq!(job.job.definition.label, "a");
}

#[test]
fn null_in_an_update_means_the_default() {
    let fields = json!({"description": "x", "priority": 9, "tool_input": {"a": 1}, "retry": {"max_attempts": 5}});
    let mut job = given(fields);
    job.update(json!({"description": null, "priority": null, "tool_input": null, "retry": {"max_attempts": null}}));
    let definition = &job.job.definition;
    assert_eq!((&definition.description, definition.priority), (&None, 5));
    assert_eq!((&definition.tool_input, definition.retry.max_attempts), (&json!({}), 1));
}

#[test]
fn a_null_inside_an_input_is_the_users_own() {
    let mut job = given(json!({}));
    job.update(json!({"tool_input": {"a": null, "ratio": 0.1}})).update(json!({"label": "other"}));
    assert_eq!(job.job.definition.tool_input, json!({"a": null, "ratio": 0.1}));
}

#[test]
fn an_input_and_a_trigger_are_replaced_whole() {
    let mut job = given(json!({"tool_input": {"a": 1}, "trigger": cron("0 2 * * *")}));
    job.update(json!({"tool_input": {"b": 2}, "trigger": every("10s")}));
    assert_eq!(job.job.definition.tool_input, json!({"b": 2}));
    assert_eq!(job.job.next_turn(), Some(t("10s")));
}

#[test]
fn a_bad_update_is_refused_and_changes_nothing() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("15s");
    for (patch, words) in [
        (json!({"colour": "red"}), "colour"),
        (json!({"label": ""}), "label"),
        (json!({"label": null}), "label"),
        (json!({"trigger": cron("0 0 31 2 *")}), "trigger.cron"),
        (json!({"trigger": at(noon().minus(ms("1h")))}), "trigger.at"),
        (json!({"priority": 77}), "priority"),
    ] {
        assert_says(job.refusal(update(patch)), &[words]);
    }
    assert_eq!((job.job.revision, job.job.version), (1, 1));
}

#[test]
fn what_was_due_before_an_update_is_fired_under_the_old_definition() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("12s").update(json!({"trigger": every("1m")}));
    assert_eq!((job.events(), job.fired()), (vec!["JobTriggered", "JobUpdated"], vec![t("10s")]));
    assert_eq!(job.job.next_turn(), Some(t("1m12s")));
}

#[test]
fn a_label_can_be_changed_long_after_a_one_off_has_fired() {
    let mut job = given(json!({"trigger": at(t("10s"))}));
    job.at("10s").wake().at("2d").update(json!({"label": "done long ago"}));
    assert_eq!(job.events(), ["JobUpdated"]);
    assert_eq!(job.job.next_turn(), None);
}

#[test]
fn a_label_can_be_changed_when_the_clock_was_set_back_before_the_job_was_made() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.earlier("1h").update(json!({"trigger": at(noon().minus(ms("30m")))}));
    job.update(json!({"label": "other"}));
    assert_eq!(job.events(), ["JobUpdated"]);
}

#[test]
fn a_finished_one_off_gets_a_new_time() {
    let mut job = given(json!({"trigger": at(t("10s"))}));
    job.at("10s").wake_and_start();
    let run = job.newest();
    job.completes(run);
    assert_eq!(job.state(), JobState::Finished);
    job.update(json!({"trigger": at(t("1m"))}));
    assert_eq!((job.state(), job.job.next_turn()), (JobState::Active, Some(t("1m"))));
}

#[test]
fn a_trigger_changed_while_paused_first_accounts_for_what_the_pause_hid() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.pause().at("25s").update(json!({"trigger": every("1m")}));
    assert_eq!(job.events(), ["JobSkipped", "JobUpdated"]);
    assert_eq!(job.skipped(), [(SkipReason::Paused, t("10s"), t("20s"), 2)]);
    assert_eq!((job.state(), job.job.next_turn()), (JobState::Paused, None));
    job.at("26s").resume();
    assert_eq!((job.events(), job.job.next_turn()), (vec!["JobResumed"], Some(t("1m25s"))));
}

#[test]
fn a_paused_one_off_survives_a_new_label_and_is_recorded_when_its_time_is_changed() {
    let mut job = given(json!({"trigger": at(t("10s"))}));
    job.pause().at("1h").update(json!({"label": "other"}));
    assert_eq!(job.events(), ["JobUpdated"]);
    job.update(json!({"trigger": at(t("2h"))}));
    assert_eq!(job.skipped(), [(SkipReason::Changed, t("10s"), t("10s"), 1)]);
    job.resume();
    assert_eq!(job.job.next_turn(), Some(t("2h")));
}

#[test]
fn an_occurrence_that_waits_in_its_jitter_is_recorded_when_the_trigger_changes() {
    let mut job = given(json!({"trigger": {"type": "scheduled", "every": "10s", "jitter": "9s"}}));
    assert!(job.job.next_turn() > Some(t("10s")));
    job.at("10s").update(json!({"trigger": every("1m")}));
    assert_eq!(job.skipped(), [(SkipReason::Changed, t("10s"), t("10s"), 1)]);
    assert_eq!(job.job.next_turn(), Some(t("1m10s")));
}

#[test]
fn a_changed_trigger_does_not_fire_a_time_again_that_the_old_one_fired() {
    let mut job = given(json!({"trigger": cron("* * * * *"), "block": "concurrent"}));
    job.wake();
    assert_eq!(job.fired(), [noon()]);
    job.update(json!({"trigger": cron("*/2 * * * *")}));
    assert_eq!(job.job.next_turn(), Some(t("2m")), "noon has had its run");
    job.at("2m").wake().earlier("30s").update(json!({"trigger": cron("* * * * *")}));
    assert_eq!(job.job.next_turn(), Some(t("3m")), "also when the clock went back");
}

#[test]
fn a_held_job_that_is_changed_skips_nothing() {
    let mut job = given_held(json!({"trigger": every("10s")}));
    job.at("1m").update(json!({"trigger": every("20s")}));
    assert_eq!(job.events(), ["JobUpdated"]);
    job.resume();
    assert_eq!(job.job.next_turn(), Some(t("1m20s")));
}

#[test]
fn a_job_that_loses_its_schedule_waits_for_people() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.update(json!({"trigger": {"type": "manual"}}));
    assert_eq!((job.state(), job.job.next_turn()), (JobState::Active, None));
}

// --- cancel -------------------------------------------------------------------------------------

#[test]
fn a_cancelled_job_ends_what_waits_and_asks_what_runs_to_end() {
    let mut job = given(json!({"trigger": every("10s")}));
    let (running, waiting) = (job.trigger_and_start(), job.trigger());
    job.ask(Command::Cancel { reason: Some("obsolete".into()) });
    assert_eq!(job.events(), ["JobCancelled", "RunCancelRequested", "RunCancelled"]);
    assert_eq!((job.status_name(running), job.status_name(waiting)), ("running", "cancelled"));
    job.fails(running, "killed");
    assert_eq!((job.status_name(running), job.state()), ("cancelled", JobState::Cancelled));
    assert_eq!(job.job.next_turn(), None);
}

#[test]
fn a_cancelled_job_accounts_for_what_was_due() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("10s").cancel();
    assert_eq!(job.events(), ["JobTriggered", "JobCancelled", "RunCancelled"]);

    let mut job = given(json!({"trigger": every("10s")}));
    job.pause().at("35s").cancel();
    assert_eq!(job.events(), ["JobSkipped", "JobCancelled"]);
    assert_eq!(job.skipped(), [(SkipReason::Paused, t("10s"), t("30s"), 3)]);

    let mut job = given(json!({"trigger": at(t("10s"))}));
    job.pause().at("35s").cancel();
    assert_eq!(job.skipped(), [(SkipReason::Paused, t("10s"), t("10s"), 1)]);
}

#[test]
fn a_cancelled_job_stays_cancelled() {
    let mut job = given(json!({"trigger": every("10s")}));
    let run = job.trigger();
    job.cancel().cancel();
    assert!(job.events().is_empty());
    let over = Box::new(job.runs[&run].clone());
    for command in [
        Command::Resume,
        Command::Pause { reason: None },
        Command::Trigger { tool_input: None, traceparent: None },
        Command::RetryRun { run: over },
        update(json!({"label": "x"})),
        backfill("0s", "1s"),
    ] {
        assert_says(job.refusal(command), &["the job is cancelled"]);
    }
    job.at("1h").wake();
    assert!(job.events().is_empty());
}

#[test]
fn a_held_job_can_be_cancelled_and_not_paused() {
    let mut job = given_held(json!({"trigger": every("10s")}));
    assert_says(job.refusal(Command::Pause { reason: None }), &["the job is held", "resumed"]);
    job.at("1h").cancel();
    assert_eq!((job.events(), job.state()), (vec!["JobCancelled"], JobState::Cancelled));
}

#[test]
fn a_missing_job_refuses_every_command() {
    let order = ordo_model::job::SlottedCommand { command: Command::Wake, reservation: None };
    let refusal = ordo_model::job::decide(JOB, None, order, noon()).expect_err("it is refused");
    assert_eq!(refusal, Refusal::NoSuchJob);
    assert_says(refusal, &["no such job"]);
}

// --- backfill -----------------------------------------------------------------------------------

#[test]
fn a_backfill_runs_each_time_of_its_range_once_one_after_the_other() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.pause().at("35s").ask(backfill("5s", "31s"));
    assert_eq!(job.events(), ["BackfillRequested", "JobTriggered"]);
    let mut filled = job.fired();
    while let Some(run) = job.waiting().first().copied() {
        job.start(run).completes(run);
        filled.extend(job.fired());
    }
    assert_eq!(filled, [t("10s"), t("20s"), t("30s")]);
    assert!(job.job.backfills.is_empty());
}

#[test]
fn a_backfill_fills_as_many_places_as_the_block_strategy_has() {
    let mut job = given(json!({"trigger": every("10s"), "block": {"concurrent": {"max": 2}}}));
    job.pause().at("1m").ask(backfill("0s", "1m"));
    assert_eq!(job.fired(), [t("10s"), t("20s")]);
    let run = job.waiting()[0];
    job.start(run).completes(run);
    assert_eq!(job.fired(), [t("30s")]);
}

#[test]
fn two_backfills_of_the_same_range_run_everything_twice() {
    let mut job = given(json!({"trigger": every("10s"), "misfire": "do_nothing"}));
    job.at("1h").wake();
    let mut filled: Vec<Timestamp> = Vec::new();
    job.ask(backfill("5s", "21s"));
    filled.extend(job.fired());
    job.ask(backfill("5s", "21s"));
    filled.extend(job.fired());
    while let Some(run) = job.waiting().first().copied() {
        job.start(run).completes(run);
        filled.extend(job.fired());
    }
    assert_eq!(filled, [t("10s"), t("20s"), t("10s"), t("20s")]);
}

#[test]
fn a_backfill_of_the_future_or_of_nothing_is_refused() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("1m");
    assert_says(job.refusal(backfill("2m", "3m")), &["from", "in the past"]);
    assert_says(job.refusal(backfill("30s", "30s")), &["from", "before"]);
    assert_says(job.refusal(backfill("11s", "12s")), &["from", "no occurrence in that range"]);
    let refusal = given(json!({})).at("1m").refusal(backfill("0s", "1m"));
    assert_says(refusal, &["not scheduled", "only a schedule"]);
}

#[test]
fn a_backfill_of_too_many_times_is_refused() {
    let mut job = given(json!({"trigger": every("1ms")}));
    job.at("1h");
    assert_says(job.refusal(backfill("0s", "20s")), &["more than 10000", "shorter"]);
    job.ask(backfill("1ms", "10s1ms"));
    assert_eq!(BACKFILL_MAX, 10_000);
}

#[test]
fn too_many_backfills_at_once_are_refused() {
    let mut job = given(json!({"trigger": every("1s")}));
    job.at("1h").pause();
    for _ in 0..BACKFILLS_PER_JOB {
        job.ask(backfill("1s", "10s"));
    }
    assert_eq!(job.refusal(backfill("1s", "10s")), Refusal::TooManyBackfills);
}

#[test]
fn a_backfill_whose_trigger_is_changed_records_what_it_did_not_reach() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.pause().at("1m").ask(backfill("10s", "1m"));
    job.update(json!({"trigger": {"type": "manual"}}));
    assert!(job.skipped().contains(&(SkipReason::Changed, t("20s"), t("50s"), 4)), "{:?}", job.skipped());
    assert!(job.job.backfills.is_empty());
}

#[test]
fn a_cancelled_job_ends_its_backfills() {
    let mut job = given(json!({"trigger": every("10s")}));
    job.at("1m").pause().ask(backfill("10s", "1m")).cancel();
    assert!(job.job.backfills.is_empty() && job.waiting().is_empty());
}

// --- history ------------------------------------------------------------------------------------

#[test]
fn history_is_trimmed_when_it_has_overshot_its_retention() {
    let mut job = given(json!({"retention": {"runs": 5}, "block": "discard"}));
    job.trigger_and_start();
    for _ in 0..5 + RETENTION_SLACK_MIN {
        job.trigger();
    }
    assert!(job.job.retention_due() > Some(job.now));
    job.trigger();
    assert_eq!(job.job.retention_due(), Some(Timestamp::MIN));
    let surplus = job.job.history.kept - 5;
    job.trim(surplus, Some(noon()));
    assert_eq!((job.events(), job.job.history.kept), (vec!["HistoryTrimmed"], 5));
    assert!(job.job.retention_due() > Some(job.now));
}

/// Two passes that look at the same moment want to forget the same runs: the second would count them twice.
#[test]
fn what_was_counted_before_another_trim_is_not_forgotten_again() {
    let mut job = given(json!({"retention": {"runs": 1}}));
    for _ in 0..3 {
        let run = job.trigger_and_start();
        job.completes(run);
    }
    let late = Command::Trim { trims: job.job.history.trims, runs: 2, below: job.job.version, oldest: Some(noon()) };
    job.trim(2, Some(noon()));
    assert_eq!(job.refusal(late), Refusal::TrimmedMeanwhile);
    assert_eq!(job.job.history.kept, 1);
}

#[test]
fn old_runs_are_trimmed_together_after_their_age() {
    let mut job = given(json!({"retention": {"age": "10h"}}));
    assert_eq!(job.job.retention_due(), None);
    let run = job.trigger_and_start();
    job.at("1h").completes(run);
    assert_eq!(job.job.retention_due(), Some(t("12h")));
    job.at("12h").trim(1, None);
    assert_eq!((job.job.history.kept, job.job.retention_due()), (0, None));
}

#[test]
fn a_finished_job_is_forgotten_after_its_age_and_trimming_does_not_make_it_younger() {
    let mut job = given(json!({"trigger": at(t("10s")), "retention": {"age": "10h"}}));
    job.at("10s").wake_and_start();
    let run = job.newest();
    job.completes(run);
    assert_eq!(job.job.retention_due(), Some(t("10h10s")));
    job.at("9h").trim(1, None);
    assert_eq!(job.job.retention_due(), Some(t("10h10s")));
    assert!(!job.job.is_forgettable(t("10h9s")));
    assert!(job.job.is_forgettable(t("10h10s")));
}

#[test]
fn a_job_with_a_future_or_with_running_work_is_never_forgotten() {
    let far = t("3000d");
    for story in
        [given(json!({})), given(json!({"trigger": every("10s")})), given_held(json!({"trigger": every("1s")}))]
    {
        assert!(!story.job.is_forgettable(far));
    }
    let mut job = given(json!({}));
    let run = job.trigger_and_start();
    job.cancel();
    assert!(!job.job.is_forgettable(far), "its run has not ended yet");
    assert_eq!(job.job.retention_due(), None);
    job.completes(run);
    assert!(job.job.is_forgettable(far));
}
