//! The engine on a real store: what is due fires, what fails is tried again, what is cancelled stops.

use std::time::Duration;

use ordo_engine::clock::{Clock, SystemClock};
use ordo_engine::log_reader::LogReader;
use ordo_engine::testing::{World, every, failed, manual, options};
use ordo_engine::{EngineOptions, SubmitError};
use ordo_engine::{PoolSize, PoolSizes};
use ordo_model::Millis;
use ordo_model::job::{Command, JobState, RunStatus};
use ordo_model::limits::WAITING_COMMANDS_MAX;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_actions_a_moment_apart_both_fire_once() {
    let world = World::with(EngineOptions { tick_rate: Millis::from_ms(500), ..options() }).await;
    let soon = SystemClock.now().plus(Millis::from_ms(300));
    let at = |ms| json!({ "type": "scheduled", "at": soon.plus(Millis::from_ms(ms)) });
    let first = world.add(json!({ "label": "one", "tool_name": "noop", "trigger": at(0) })).await;
    let second = world.add(json!({ "label": "two", "tool_name": "noop", "trigger": at(100) })).await;
    for job in [first.id, second.id] {
        let runs = world.finished(job, 1).await;
        assert_eq!(runs.len(), 1);
        assert!(runs[0].lateness_ms.unwrap() >= 0);
        assert_eq!(world.engine.job(job).await.unwrap().unwrap().state(), JobState::Finished);
    }
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fast_schedule_fires_every_occurrence_on_its_nominal_time() {
    let world = World::new().await;
    let job = world.add(every("noop", "20ms")).await;
    let mut runs = world.finished(job.id, 20).await;
    // Runs fired in one millisecond have no order of their own.
    runs.sort_by_key(|run| run.scheduled_for);
    for pair in runs.windows(2) {
        let gap = pair[1].scheduled_for.unwrap().since(pair[0].scheduled_for.unwrap());
        assert_eq!(gap, Millis::from_ms(20));
    }
    world.engine.submit(job.id, Command::Cancel { reason: None }).await.unwrap();
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_run_is_tried_again_until_it_succeeds() {
    let world = World::new().await;
    let mut definition = manual("flaky", &json!({ "times": 2 }));
    definition["retry"] = json!({ "max_attempts": 3, "backoff": "5ms" });
    let job = world.add(definition).await;
    let run_id = world.trigger(job.id).await;
    let run = world.over(run_id).await;
    assert_eq!(run.attempt, 3);
    assert_eq!(run.errors.len(), 2);
    assert_eq!(run.status, RunStatus::Completed { result: json!(2), result_bytes: None });
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_ends_at_its_timeout() {
    let world = World::new().await;
    let mut definition = manual("hang", &json!({}));
    definition["timeout"] = json!("50ms");
    let job = world.add(definition).await;
    let run_id = world.trigger(job.id).await;
    let run = world.over(run_id).await;
    assert_eq!(failed(&run), Some("timed out after 50ms"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_works_on_running_and_on_waiting_runs() {
    let world = World::new().await;
    let job = world.add(manual("hang", &json!({}))).await;
    let running = world.trigger(job.id).await;
    let waiting = world.trigger(job.id).await;
    world.run_until(running, |run| matches!(run.status, RunStatus::Running { .. })).await;
    for run_id in [waiting, running] {
        world.engine.submit(job.id, Command::CancelRun { run_id, reason: "enough".into() }).await.unwrap();
        let run = world.over(run_id).await;
        assert_eq!(run.status, RunStatus::Cancelled { reason: "enough".into() });
    }
    let again = world.engine.submit(job.id, Command::CancelRun { run_id: running, reason: "again".into() }).await;
    assert!(matches!(again, Err(SubmitError::Refused(_))));
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_beyond_the_pool_wait_durably_and_all_come_to_their_turn() {
    let size = PoolSize { slots: 2, queue: 4 };
    let pools = PoolSizes { fast: size, slow: size };
    let world = World::with(EngineOptions { pools, ..options() }).await;
    let mut definition = manual("noop", &json!({}));
    definition["block"] = json!({ "concurrent": { "max": 200 } });
    let mut jobs = Vec::new();
    for _ in 0..5 {
        jobs.push(world.add(definition.clone()).await.id);
    }
    let triggers = jobs
        .iter()
        .flat_map(|job| vec![(*job, Command::Trigger { tool_input: None, traceparent: None }); 20])
        .collect();
    for answer in world.engine.submit_all(triggers).await {
        answer.unwrap();
    }
    for job in jobs {
        assert_eq!(world.finished(job, 20).await.len(), 20);
    }
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_log_lines_are_there_when_the_run_is_over_and_can_be_read_from_any_line() {
    let world = World::new().await;
    let job = world.add(manual("chatter", &json!({}))).await;
    let run_id = world.trigger(job.id).await;
    world.over(run_id).await;
    let store = world.engine.queries().store().clone();
    let mut reader = LogReader::after(store.clone(), run_id, None);
    let mut lines = Vec::new();
    loop {
        let page = reader.next().await.unwrap();
        if page.is_empty() {
            break;
        }
        lines.extend(page);
    }
    assert_eq!(lines.len(), 5_000);
    assert_eq!(lines[4_999].line.text, "line 4999");
    let middle = LogReader::after(store, run_id, Some(lines[1_233].seq)).next().await.unwrap();
    assert_eq!(middle[0].line.text, "line 1234");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_result_is_kept_beside_the_events_and_comes_back_whole() {
    let world = World::new().await;
    let job = world.add(manual("big", &json!({ "bytes": 100_000 }))).await;
    let run_id = world.trigger(job.id).await;
    let run = world.over(run_id).await;
    let RunStatus::Completed { result, result_bytes } = run.status else { panic!("{:?}", run.status) };
    assert_eq!(result.as_str().map(str::len), Some(100_000));
    assert_eq!(result_bytes, Some(100_002));
    let (events, _) = world.engine.queries().history(job.id.into(), 0, 100).await.unwrap();
    assert!(events.iter().all(|event| event.data.len() < 2_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restart_waiting_runs_start_and_schedules_go_on() {
    let world = World::new().await;
    let ticking = world.add(every("noop", "100ms")).await;
    let hanging = world.add(manual("hang", &json!({}))).await;
    let stuck = world.trigger(hanging.id).await;
    let waiting = world.trigger(hanging.id).await;
    world.run_until(stuck, |run| matches!(run.status, RunStatus::Running { .. })).await;
    world.finished(ticking.id, 2).await;
    let world = world.restart().await;
    let run = world.over(stuck).await;
    assert_eq!(failed(&run), Some("interrupted by shutdown"));
    world.run_until(waiting, |run| matches!(run.status, RunStatus::Running { .. })).await;
    let before = world.runs(ticking.id).await.len();
    world.finished(ticking.id, before + 2).await;
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_is_trimmed_to_what_the_job_keeps_and_what_is_left_still_proves_itself() {
    let world = World::new().await;
    let mut definition = every("noop", "1ms");
    definition["retention"] = json!({ "runs": 10 });
    let job = world.add(definition).await;
    world.finished(job.id, 150).await;
    world.engine.submit(job.id, Command::Pause { reason: None }).await.unwrap();
    // Trimming goes on by itself meanwhile: a run that was under way may be over and forgotten.
    let is_over = async || world.runs(job.id).await.iter().all(|run| run.status.is_terminal());
    world.until("all runs are over", async || is_over().await.then_some(())).await;
    while world.engine.keep().await.unwrap() > 0 {}
    let runs = world.runs(job.id).await;
    assert!((10..=15).contains(&runs.len()), "{} runs are kept, five more than wanted at most", runs.len());
    let (events, oldest) = world.engine.queries().history(job.id.into(), 0, 1_000).await.unwrap();
    assert!(oldest > 100, "the stream still begins at {oldest}");
    assert_eq!(events[0].kind, "Checkpoint");
    world.assert_clean().await;
    assert_eq!(world.engine.keep().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_passes_at_the_same_time_forget_a_run_once() {
    let world = World::new().await;
    let mut definition = every("noop", "1h");
    definition["retention"] = json!({ "runs": 1 });
    let job = world.add(definition).await;
    for _ in 0..30 {
        let run = world.trigger(job.id).await;
        world.over(run).await;
        let (first, second) = tokio::join!(world.engine.keep(), world.engine.keep());
        first.unwrap();
        second.unwrap();
    }
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_job_is_forgotten_when_its_age_is_over() {
    let world = World::standing(options()).await;
    let mut definition = every("noop", "1h");
    definition["retention"] = json!({ "age": "1s" });
    let job = world.add(definition).await;
    let run = world.trigger(job.id).await;
    world.over(run).await;
    world.engine.submit(job.id, Command::Cancel { reason: None }).await.unwrap();
    assert_eq!(world.engine.keep().await.unwrap(), 0, "not yet");
    world.advance(Millis::from_secs(2)).await;
    while world.engine.keep().await.unwrap() > 0 {}
    assert!(world.engine.job(job.id).await.unwrap().is_none());
    assert!(world.engine.queries().run(run).await.unwrap().is_none());
    assert_eq!(world.engine.queries().store().stats().await.unwrap().events, 0);
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_core_answers_until_it_is_stopped() {
    let world = World::new().await;
    assert!(world.engine.is_answering().await);
    world.engine.shutdown(Duration::ZERO).await;
    assert!(!world.engine.is_answering().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_commands_than_may_wait_are_refused_together_and_leave_nothing_behind() {
    let world = World::new().await;
    let job = world.add(manual("noop", &json!({}))).await;
    let resume = || (job.id, Command::Resume);
    let answers = world.engine.submit_all((0..=WAITING_COMMANDS_MAX).map(|_| resume()).collect()).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(SubmitError::Overloaded))), "all or none");
    // What they would have taken is free again.
    let answers = world.engine.submit_all((0..1_000).map(|_| resume()).collect()).await;
    assert!(!answers.iter().any(|answer| matches!(answer, Err(SubmitError::Overloaded))));
    let run = world.trigger(job.id).await;
    assert_eq!(world.over(run).await.status.name(), "completed");
    world.assert_clean().await;
}
