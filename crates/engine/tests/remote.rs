//! Executors elsewhere, through the engine itself: every block strategy under every routing.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ordo_engine::executors::{Handed, Leaving, RemoteReport, RemoteStatus, WorkRequest};
use ordo_engine::testing::World;
use ordo_model::executor::{Offer, Speaker};
use ordo_model::job::{Command, Run, RunStatus};
use ordo_model::{Millis, RunId};
use serde_json::{Value, json};
use uuid::Uuid;

const ROUTINGS: [&str; 10] =
    ["first", "last", "round", "random", "lfu", "lru", "consistent_hash", "failover", "busyover", "sharding_broadcast"];

fn offer(name: &str) -> Offer {
    Offer {
        name: name.into(),
        group: "gpu".into(),
        tools: BTreeSet::from(["render".to_owned()]),
        capacity: 50,
        version: None,
    }
}

fn work_request(max: usize, wait: Millis) -> WorkRequest {
    WorkRequest { max, wait, confirms: false }
}

async fn fetch(world: &World, executors: &[Uuid], leases: &mut Vec<Handed>) {
    for executor in executors {
        let request = work_request(100, Millis::from_ms(20));
        leases.extend(world.engine.poll(Speaker::Admin, *executor, request).await.unwrap().handed);
    }
}

/// The whole runs that somebody works on.
async fn wholes(world: &World, leases: &[Handed]) -> BTreeSet<RunId> {
    let mut wholes = BTreeSet::new();
    for handed in leases {
        let run = world.engine.queries().run(handed.assignment.run_id).await.unwrap().unwrap();
        wholes.insert(run.parent_id.unwrap_or(run.id));
    }
    wholes
}

/// Works until all three runs of the job are over; returns how many were worked on at once, at most.
async fn work_off(world: &World, executors: &[Uuid], triggered: &[RunId]) -> (usize, Vec<Run>) {
    let mut most = 0;
    for _ in 0..500 {
        let mut leases = Vec::new();
        fetch(world, executors, &mut leases).await;
        most = most.max(wholes(world, &leases).await.len());
        let reports = leases.into_iter().map(|handed| RemoteReport {
            run_id: handed.assignment.run_id,
            token: handed.assignment.token,
            status: RemoteStatus::Completed { result: Value::Null },
        });
        for answer in world.engine.report(Speaker::Admin, reports.collect()).await {
            answer.unwrap();
        }
        let mut runs = Vec::new();
        for run in triggered {
            runs.push(world.engine.queries().run(*run).await.unwrap().unwrap());
        }
        if runs.iter().all(|run| run.status.is_terminal()) {
            return (most, runs);
        }
    }
    panic!("the runs never end");
}

#[tokio::test]
async fn every_block_strategy_holds_under_every_routing() {
    let world = World::new().await;
    let mut executors = Vec::new();
    for name in ["a", "b"] {
        executors.push(world.engine.register_executor(offer(name), None).await.unwrap());
    }
    let blocks: BTreeMap<&str, (Value, usize)> = BTreeMap::from([
        ("serial", (json!("serial"), 1)),
        ("discard", (json!("discard"), 1)),
        ("cover", (json!("cover"), 1)),
        ("concurrent", (json!({ "concurrent": { "max": 2 } }), 2)),
    ]);
    for (name, (block, width)) in &blocks {
        for routing in ROUTINGS {
            let job = world
                .add(json!({ "label": "table", "tool_name": "render", "group": "gpu", "block": block,
                    "routing": routing, "trigger": { "type": "manual" } }))
                .await;
            let mut triggered = Vec::new();
            for _ in 0..3 {
                let accepted = world
                    .engine
                    .submit(job.id, Command::Trigger { tool_input: None, traceparent: None })
                    .await
                    .unwrap();
                triggered.push(accepted.runs.iter().max_by_key(|run| run.version).unwrap().id);
            }
            let (most, runs) = work_off(&world, &executors, &triggered).await;
            let ended: Vec<&str> = runs.iter().map(|run| run.status.name()).collect();
            assert!(most <= *width, "{name} with {routing}: {most} at once");
            match *name {
                "discard" => assert_eq!(ended, ["completed", "skipped", "skipped"], "{routing}"),
                "cover" => assert_eq!(ended[2], "completed", "{routing}: {ended:?}"),
                _ => assert_eq!(ended, ["completed"; 3], "{name} with {routing}"),
            }
        }
    }
    world.assert_clean().await;
}

#[tokio::test]
async fn what_an_executor_runs_survives_a_restart_of_the_server() {
    let world = World::new().await;
    let executor = world.engine.register_executor(offer("a"), None).await.unwrap();
    let job = world
        .add(json!({ "label": "far", "tool_name": "render", "group": "gpu", "trigger": { "type": "manual" } }))
        .await;
    let run = world.trigger(job.id).await;
    let polled = world.engine.poll(Speaker::Admin, executor, work_request(1, Millis::from_secs(5))).await.unwrap();
    let handed = &polled.handed[0];
    let world = world.restart().await;
    let beat = world.engine.heartbeat(Speaker::Admin, executor, &[(run, handed.assignment.token)]).await.unwrap();
    assert!(beat.lost.is_empty(), "it is still its own");
    let status = RemoteStatus::Completed { result: json!("kept") };
    let report = RemoteReport { run_id: run, token: handed.assignment.token, status };
    world.engine.report(Speaker::Admin, vec![report]).await.remove(0).unwrap();
    assert!(matches!(world.over(run).await.status, RunStatus::Completed { .. }));
    world.assert_clean().await;
}

#[tokio::test]
async fn what_is_to_end_and_the_wish_that_it_leaves_reach_an_executor_by_its_open_poll() {
    let world = World::new().await;
    let executor = world.engine.register_executor(offer("a"), None).await.unwrap();
    let job = world
        .add(json!({ "label": "far", "tool_name": "render", "group": "gpu", "block": "cover",
            "trigger": { "type": "manual" } }))
        .await;
    let run = world.trigger(job.id).await;
    let long = work_request(10, Millis::from_secs(60));
    let polled = world.engine.poll(Speaker::Admin, executor, long).await.unwrap();
    let token = polled.handed[0].assignment.token;

    let cover = world.engine.submit(job.id, Command::Trigger { tool_input: None, traceparent: None });
    let (polled, covered) = tokio::join!(world.engine.poll(Speaker::Admin, executor, long), cover);
    let next = covered.unwrap().run_begun().unwrap().id;
    assert_eq!(polled.unwrap().cancel, [run], "the newer run is to have its slot");
    let report = RemoteReport { run_id: run, token, status: RemoteStatus::Cancelled };
    let polling = world.engine.poll(Speaker::Admin, executor, long);
    let (polled, reported) = tokio::join!(polling, world.engine.report(Speaker::Admin, vec![report]));
    reported.into_iter().for_each(|answer| answer.unwrap());
    let polled = polled.unwrap();
    assert_eq!((polled.handed[0].assignment.run_id, polled.cancel.len()), (next, 0));

    let polling = world.engine.poll(Speaker::Admin, executor, long);
    let (polled, left) = tokio::join!(polling, world.engine.drain_executor(executor));
    assert!(polled.unwrap().drain);
    assert_eq!(left.unwrap(), 1);
    // One that leaves is still told what is to end.
    let cancel = Command::CancelRun { run_id: next, reason: "enough".into() };
    let polling = world.engine.poll(Speaker::Admin, executor, long);
    let (polled, cancelled) = tokio::join!(polling, world.engine.submit(job.id, cancel));
    cancelled.unwrap();
    assert_eq!(polled.unwrap().cancel, [next]);
}

#[tokio::test]
async fn a_poll_that_crosses_the_goodbye_is_answered_at_once() {
    let world = World::new().await;
    let executor = world.engine.register_executor(offer("a"), None).await.unwrap();
    let far = json!({ "label": "far", "tool_name": "render", "group": "gpu", "trigger": { "type": "manual" } });
    let job = world.add(far).await;
    let run = world.trigger(job.id).await;
    let long = work_request(10, Millis::from_secs(60));
    assert_eq!(world.engine.poll(Speaker::Admin, executor, long).await.unwrap().handed.len(), 1);
    let leaving = world.engine.leave(Speaker::Admin, executor).await.unwrap();
    assert!(matches!(leaving, Leaving::Draining { running: 1 }));

    let crossed = tokio::time::timeout(Duration::from_secs(5), world.engine.poll(Speaker::Admin, executor, long));
    assert!(crossed.await.expect("answered long before its wait is over").unwrap().handed.is_empty());
    // The next one was sent by somebody who knows: it waits for what is to end.
    let cancel = Command::CancelRun { run_id: run, reason: "enough".into() };
    let polling = world.engine.poll(Speaker::Admin, executor, long);
    let (polled, cancelled) = tokio::join!(polling, world.engine.submit(job.id, cancel));
    cancelled.unwrap();
    assert_eq!(polled.unwrap().cancel, [run]);
}

#[tokio::test]
async fn whoever_has_the_answer_to_its_report_has_the_run_no_more() {
    let world = World::new().await;
    let far = json!({ "label": "far", "tool_name": "render", "group": "gpu", "trigger": { "type": "manual" } });
    let job = world.add(far).await;
    for _ in 0..50 {
        let executor = world.engine.register_executor(offer("a"), None).await.unwrap();
        world.trigger(job.id).await;
        let long = work_request(10, Millis::from_secs(60));
        let given = world.engine.poll(Speaker::Admin, executor, long).await.unwrap().handed;
        let Handed { assignment, .. } = &given[0];
        let status = RemoteStatus::Completed { result: Value::Null };
        let report = RemoteReport { run_id: assignment.run_id, token: assignment.token, status };
        world.engine.report(Speaker::Admin, vec![report]).await.remove(0).unwrap();
        assert!(matches!(world.engine.leave(Speaker::Admin, executor).await.unwrap(), Leaving::Left));
    }
}

#[tokio::test]
async fn changes_at_once_never_chain_jobs_into_a_ring() {
    let world = World::new().await;
    let mut accepted = [0; 4];
    for _ in 0..30 {
        let mut jobs = Vec::new();
        for label in ["a", "b", "c"] {
            jobs.push(
                world.add(json!({ "label": label, "tool_name": "noop", "trigger": { "type": "manual" } })).await.id,
            );
        }
        let chain = |job: usize, after: usize| {
            let Value::Object(patch) = json!({ "after": jobs[after] }) else { panic!("an object") };
            world.engine.submit(jobs[job], Command::Update { patch, if_revision: None, if_followed: None })
        };
        let (a, b, c) = tokio::join!(chain(0, 1), chain(1, 2), chain(2, 0));
        let taken = [a, b, c].iter().filter(|answer| answer.is_ok()).count();
        assert!(taken < 3, "a ring was made");
        accepted[taken] += 1;
    }
    println!("of three changes so many were accepted, so often: {accepted:?}");
}
