//! Somebody sets the clock of the machine while the engine runs: nothing healthy ends, nothing falls silent.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use ordo_engine::CommitExtras;
use ordo_engine::executors::WorkRequest;
use ordo_engine::testing::incidents::{note, start};
use ordo_engine::testing::{World, every, manual, options};
use ordo_model::executor::{Offer, Speaker};
use ordo_model::incident::Incident;
use ordo_model::job::{Command, RunStatus};
use ordo_model::monitor::{Monitor, MonitorCommand, MonitorSettings, MonitorStatus, SentPing, Signal};
use ordo_model::{Kind, Millis, RunId, Timestamp};
use ordo_store::Dedup;
use serde_json::json;

const HOUR: i64 = 3_600_000;

async fn world() -> World {
    World::standing(options()).await
}

async fn is_running(world: &World, run: RunId) -> bool {
    let run = world.engine.queries().run(run).await.unwrap().unwrap();
    matches!(run.status, RunStatus::Running { .. })
}

#[tokio::test]
async fn a_healthy_run_outlives_every_step_of_the_clock() {
    let world = world().await;
    let mut definition = manual("hang", &json!({}));
    definition["timeout"] = json!("1m");
    let job = world.add(definition).await;
    let run = world.trigger(job.id).await;
    world.run_until(run, |run| matches!(run.status, RunStatus::Running { .. })).await;
    for by in [2 * HOUR, -4 * HOUR, 2 * HOUR] {
        world.clock().step(by);
        world.some_ticks().await;
        assert!(is_running(&world, run).await, "after a step by {by} ms");
    }
    world.engine.submit(job.id, Command::CancelRun { run_id: run, reason: "enough".into() }).await.unwrap();
    world.over(run).await;
    world.assert_clean().await;
}

#[tokio::test]
async fn a_timeout_elapses_although_the_clock_was_set_back() {
    let world = world().await;
    let mut definition = manual("render", &json!({}));
    (definition["group"], definition["expire_after"]) = (json!("gpu"), json!("3s"));
    let job = world.add(definition).await;
    let run = world.trigger(job.id).await;
    world.clock().step(-HOUR);
    world.some_ticks().await;
    assert!(!world.engine.queries().run(run).await.unwrap().unwrap().status.is_terminal(), "a second is not three");
    world.advance(Millis::from_secs(2)).await;
    let run = world.over(run).await;
    assert!(matches!(run.status, RunStatus::Skipped { .. }), "{:?}", run.status);
}

#[tokio::test]
async fn rates_of_one_key_and_of_windows_of_different_lengths_count_apart() {
    let world = world().await;
    let rated = |limit: u32, per: &str| {
        let mut definition = manual("noop", &json!({ "tenant": "north" }));
        definition["rate_limit"] = json!({ "key": "/tenant", "limit": limit, "per": per });
        definition
    };
    let (short, long) = (world.add(rated(2, "1s")).await.id, world.add(rated(1, "20s")).await.id);
    for _ in 0..2 {
        let run = world.trigger(short).await;
        world.over(run).await;
    }
    let run = world.trigger(long).await;
    let first = world.over(run).await;
    let second = world.trigger(long).await;
    for _ in 0..3 {
        world.advance(Millis::from_secs(3)).await;
        let run = world.trigger(short).await;
        world.over(run).await;
        let waits = world.engine.queries().run(second).await.unwrap().unwrap();
        assert!(matches!(waits.status, RunStatus::Pending { .. }), "{:?}", waits.status);
    }
    world.advance(Millis::from_secs(11)).await;
    let second = world.over(second).await;
    let apart = second.started_at.unwrap().since(first.started_at.unwrap());
    assert!(apart >= Millis::from_secs(20), "{apart}");
    world.assert_clean().await;
}

/// The clock comes to so many beats of the interval.
async fn beats(world: &World, count: usize) {
    for _ in 0..count {
        world.advance(Millis::from_ms(300)).await;
    }
}

#[tokio::test]
async fn an_interval_keeps_its_beat_when_the_clock_is_set_back() {
    let world = world().await;
    let job = world.add(every("noop", "300ms")).await;
    beats(&world, 3).await;
    let before = world.finished(job.id, 3).await.len();
    world.clock().step(-HOUR);
    beats(&world, 7).await;
    let runs = world.finished(job.id, before + 6).await;
    let nominal: BTreeSet<Timestamp> = runs.iter().filter_map(|run| run.scheduled_for).collect();
    assert_eq!(nominal.len(), runs.len(), "no nominal time is given out twice");
    world.clock().step(HOUR);
    beats(&world, 5).await;
    let runs = world.finished(job.id, runs.len() + 4).await;
    let last = runs.last().unwrap();
    assert!(last.lateness_ms.unwrap().abs() < 2_000, "back at its nominal times: {last:?}");
    world.assert_clean().await;
}

#[tokio::test]
async fn a_monitor_waits_for_as_long_as_it_was_told_to() {
    let world = world().await;
    let settings: MonitorSettings = serde_json::from_value(json!({"name": "backup", "every": "1h"})).unwrap();
    let id = Monitor::id("backup");
    world.engine.command::<Monitor>(id, MonitorCommand::Add { settings, token: "t".into() }).await.unwrap();
    world.engine.command::<Monitor>(id, MonitorCommand::Ping(SentPing::of(Signal::Success))).await.unwrap();
    for by in [5 * HOUR, -5 * HOUR] {
        world.clock().step(by);
        world.some_ticks().await;
        let monitor = world.engine.queries().object::<Monitor>(id).await.unwrap().unwrap();
        assert_eq!(monitor.status, MonitorStatus::Up, "after a step by {by} ms");
    }
    assert_eq!(monitor_kind(), Kind::Monitor);
    world.assert_clean().await;
}

fn monitor_kind() -> Kind {
    <Monitor as ordo_model::object::Object>::KIND
}

#[tokio::test]
async fn a_restart_gives_what_runs_elsewhere_its_whole_time_again() {
    let world = world().await;
    let offer = Offer {
        name: "worker".into(),
        group: "gpu".into(),
        tools: BTreeSet::from(["render".to_owned()]),
        capacity: 1,
        version: None,
    };
    let executor = world.engine.register_executor(offer, None).await.unwrap();
    let mut definition = manual("render", &json!({}));
    (definition["group"], definition["timeout"]) = (json!("gpu"), json!("1s"));
    let job = world.add(definition).await;
    let run = world.trigger(job.id).await;
    let handed = world
        .engine
        .poll(Speaker::Admin, executor, WorkRequest { max: 1, wait: Millis::from_secs(5), confirms: false })
        .await
        .unwrap()
        .handed;
    assert_eq!(handed.len(), 1);
    // The server is away for longer than the timeout and its grace.
    world.clock().step(HOUR);
    let world = world.restart().await;
    world.some_ticks().await;
    assert!(is_running(&world, run).await);
    let events = world.engine.queries().history(job.id.into(), 0, 100).await.unwrap().0;
    assert!(events.iter().any(|event| event.kind == "AttemptExtended"));
    world.assert_clean().await;
}

#[tokio::test]
async fn a_job_that_keeps_few_runs_keeps_about_as_many() {
    let world = world().await;
    let mut definition = every("noop", "100ms");
    definition["retention"] = json!({"runs": 20});
    let job = world.add(definition).await;
    let rests = async || world.engine.job(job.id).await.unwrap().filter(|job| job.active.is_empty());
    for _ in 0..60 {
        world.advance(Millis::from_ms(100)).await;
        world.until("no run is under way", rests).await;
    }
    let trimmed = async || Some(world.runs(job.id).await.len()).filter(|kept| *kept <= 25);
    let kept = world.until("the job keeps five runs more than wanted at most", trimmed).await;
    assert!(kept >= 20, "{kept} of 60 are kept");
    world.assert_clean().await;
}

#[tokio::test]
async fn trouble_that_comes_again_after_the_clock_was_set_is_noted_on_the_open_incident() {
    let world = world().await;
    let id = world.incident("checkout is down", Some("checkout")).await;
    world.clock().step(HOUR);
    let at = world.engine.clock().now();
    let dedup = Dedup { key: b"once".to_vec(), at, until: at.plus(Millis::from_days(1)), value: Vec::new() };
    let extras = || CommitExtras { dedup: vec![dedup.clone()], ..CommitExtras::default() };
    let again = start("checkout is down", Some("checkout"));
    let found = world.engine.start_incident(again, |_| extras()).await.unwrap();
    assert_eq!((found.state.id, found.events), (id, vec![]), "nothing was started");
    let noted = world.engine.command_with::<Incident>(id, note("again"), extras()).await.unwrap();
    assert_eq!(noted.events.len(), 1, "and the key is still free for what is done instead");
}
