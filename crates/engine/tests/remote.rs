//! Executors elsewhere, through the engine itself: every block strategy under every routing.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use ordo_engine::executors::{Handed, RemoteReport, RemoteStatus};
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

async fn fetch(world: &World, executors: &[Uuid], leases: &mut Vec<Handed>) {
    for executor in executors {
        leases.extend(world.engine.poll(Speaker::Admin, *executor, 100, Millis::from_ms(20)).await.unwrap().handed);
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
    let handed = world.engine.poll(Speaker::Admin, executor, 1, Millis::from_secs(5)).await.unwrap().handed.remove(0);
    let world = world.restart().await;
    let beat = world.engine.heartbeat(Speaker::Admin, executor, &[(run, handed.assignment.token)]).await.unwrap();
    assert!(beat.lost.is_empty(), "it is still its own");
    let status = RemoteStatus::Completed { result: json!("kept") };
    let report = RemoteReport { run_id: run, token: handed.assignment.token, status };
    world.engine.report(Speaker::Admin, vec![report]).await.remove(0).unwrap();
    assert!(matches!(world.over(run).await.status, RunStatus::Completed { .. }));
    world.assert_clean().await;
}
