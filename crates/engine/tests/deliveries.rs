//! Deliveries on a real engine: one run per job that listens, the payload untouched, forgotten when nobody needs it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use ordo_engine::Claim;
use ordo_engine::deliveries::{Arrival, Received};
use ordo_engine::testing::tools::weighted_sum;
use ordo_engine::testing::{World, failed};
use ordo_engine::{CommitExtras, Versioned};
use ordo_model::hook::Delivery;
use ordo_model::job::{Command, Run, RunStatus, SkipReason};
use ordo_model::{JobId, Millis};
use serde_json::{Value, json};
use uuid::Uuid;

fn listening(tool: &str, more: &Value) -> Value {
    let mut job = json!({
        "label": "listener", "tool_name": tool, "trigger": { "type": "webhook", "hook": "push" },
        "block": { "concurrent": { "max": 256 } },
    });
    for (key, value) in more.as_object().unwrap() {
        job[key] = value.clone();
    }
    job
}

fn arrival(sender_id: Option<&str>, body: impl Into<Bytes>) -> Arrival {
    Arrival {
        hook: "push".into(),
        sender_id: sender_id.map(str::to_owned),
        replay_mark: None,
        headers: vec![("X-GitHub-Event".into(), "push".into())],
        content_type: Some("application/json".into()),
        body: body.into(),
        passes: true,
    }
}

async fn receive(world: &World, arrival: Arrival) -> Uuid {
    match world.engine.receive(arrival).await.unwrap() {
        Received::New(id) => id,
        Received::Duplicate(id) => panic!("{id} came before"),
    }
}

/// The delivery, once it looks as wanted.
async fn until(world: &World, id: Uuid, wanted: impl Fn(&Delivery) -> bool) -> Versioned<Delivery> {
    let delivery = async || world.engine.queries().object::<Delivery>(id).await.unwrap();
    world.until("the delivery looks as wanted", async || delivery().await.filter(|delivery| wanted(delivery))).await
}

async fn over(world: &World, id: Uuid) -> Versioned<Delivery> {
    until(world, id, |delivery| !delivery.is_open()).await
}

async fn run_of(world: &World, job: JobId) -> Run {
    let mut runs = world.finished(job, 1).await;
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_that_listens_gets_the_payload_once_and_then_it_is_forgotten() {
    let world = World::new().await;
    let jobs = [world.add(listening("unpack", &json!({}))).await, world.add(listening("unpack", &json!({}))).await];
    let other = world.add(listening("unpack", &json!({"trigger": {"type": "webhook", "hook": "pushed"}}))).await;
    // More than one part, and bytes that are no text.
    let body: Vec<u8> = (0..2_500_000_u32).map(|n| (n % 251) as u8).collect();
    let id = receive(&world, arrival(Some("d-1"), body.clone())).await;
    let delivery = over(&world, id).await;
    assert_eq!((delivery.status(), delivery.payload, delivery.bound.len()), ("done", None, 2));
    for job in &jobs {
        let run = run_of(&world, job.id).await;
        assert_eq!(run.cause.delivery(), Some(id));
        let RunStatus::Completed { result, .. } = run.status else { panic!("{:?}", run.status) };
        assert_eq!((&result["hook"], &result["bytes"]), (&json!("push"), &json!(body.len())));
        assert_eq!(result["sum"], weighted_sum(&body));
        assert_eq!(result["headers"], json!([["X-GitHub-Event", "push"]]));
    }
    assert!(world.runs(other.id).await.is_empty());
    let stats = world.engine.queries().store().stats().await.unwrap();
    assert_eq!(stats.chunks, 0, "nothing of the payload is left");
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_delivery_sent_many_times_at_once_is_one() {
    let world = World::new().await;
    let job = world.add(listening("unpack", &json!({}))).await;
    let sends = (0..50).map(|_| world.engine.receive(arrival(Some("d-1"), "{}")));
    let received: Vec<Received> = join_all(sends).await.into_iter().map(Result::unwrap).collect();
    let id = Delivery::id("push", "d-1").id;
    assert_eq!(received.iter().filter(|received| **received == Received::New(id)).count(), 1);
    assert_eq!(received.iter().filter(|received| **received == Received::Duplicate(id)).count(), 49);
    over(&world, id).await;
    run_of(&world, job.id).await;
    // Without a name of its own, each is another.
    let first = receive(&world, arrival(None, "{}")).await;
    assert_ne!(receive(&world, arrival(None, "{}")).await, first);
    world.finished(job.id, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_run_keeps_the_payload_and_a_replay_runs_it_again() {
    let world = World::new().await;
    let job = world.add(listening("flaky", &json!({"tool_input": {"times": 1}}))).await;
    let id = receive(&world, arrival(Some("d-1"), "{}")).await;
    let delivery = over(&world, id).await;
    assert_eq!((delivery.status(), delivery.payload.is_some()), ("failed", true));
    let first = run_of(&world, job.id).await;
    assert_eq!(failed(&first), Some("try 0"));
    world.engine.replay("push", id, CommitExtras::default()).await.unwrap();
    let delivery = until(&world, id, |delivery| delivery.replays == 1 && !delivery.is_open()).await;
    assert_eq!((delivery.status(), delivery.payload), ("done", None));
    let runs = world.finished(job.id, 2).await;
    assert_eq!(runs.len(), 2);
    // The payload is gone: trying the first one again by hand says so.
    let again = world.engine.retry(first).await.unwrap().run_begun().unwrap().id;
    let again = world.over(again).await;
    assert!(failed(&again).unwrap().contains("no longer kept"), "{again:?}");
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_heard_can_be_replayed_once_somebody_listens() {
    let world = World::new().await;
    let id = receive(&world, arrival(None, "{}")).await;
    assert_eq!(over(&world, id).await.status(), "unheard");
    let job = world.add(listening("unpack", &json!({}))).await;
    world.engine.replay("push", id, CommitExtras::default()).await.unwrap();
    let run = run_of(&world, job.id).await;
    assert_eq!(run.cause.delivery(), Some(id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_job_records_what_it_did_not_run_and_a_cancelled_one_hears_nothing() {
    let world = World::new().await;
    let paused = world.add(listening("unpack", &json!({}))).await.id;
    let cancelled = world.add(listening("unpack", &json!({}))).await.id;
    world.engine.submit(paused, Command::Pause { reason: None }).await.unwrap();
    world.engine.submit(cancelled, Command::Cancel { reason: None }).await.unwrap();
    let id = receive(&world, arrival(None, "{}")).await;
    let delivery = over(&world, id).await;
    assert_eq!((delivery.bound.len(), delivery.status(), delivery.payload.is_some()), (1, "failed", true));
    let run = run_of(&world, paused).await;
    assert_eq!(run.status, RunStatus::Skipped { reason: SkipReason::Paused, gap: None });
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_wait_for_a_full_queue_and_none_is_lost() {
    let world = World::new().await;
    let job = world.add(listening("unpack", &json!({"block": "serial"}))).await;
    let sends = (0..300).map(|_| world.engine.receive(arrival(None, "{}")));
    let ids: Vec<Received> = join_all(sends).await.into_iter().map(Result::unwrap).collect();
    for received in ids {
        let Received::New(id) = received else { panic!("nobody sent it before") };
        assert_eq!(over(&world, id).await.status(), "done");
    }
    assert_eq!(world.finished(job.id, 300).await.len(), 300);
    world.assert_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_of_a_former_generation_is_recognised() {
    let world = World::new().await;
    let job = world.add(listening("unpack", &json!({}))).await;
    let id = receive(&world, arrival(None, "{}")).await;
    over(&world, id).await;
    let key = [b"hook-run/".as_slice(), id.as_bytes(), &[0; 4], job.id.0.as_bytes()].concat();
    let until = world.engine.clock().now().plus(Millis::from_hours(1));
    let claim = Claim { key, until, value: b"x".to_vec(), names_run: true };
    let again = world.engine.submit_once(job.id, Command::Deliver { delivery: id, replay: 0 }, claim).await;
    let Err(ordo_engine::SubmitError::Duplicate(value)) = again else { panic!("{again:?}") };
    let run = run_of(&world, job.id).await;
    assert_eq!(Claim::read_run(&value), Some((b"".as_slice(), run.id)));
}

/// Commands on one job, many with a key, some with the same: each key is carried out once, nobody is mixed up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_on_one_job_are_distinguished_however_they_are_gathered() {
    let world = Arc::new(World::new().await);
    let job = world.add(listening("unpack", &json!({}))).await.id;
    let until = world.engine.clock().now().plus(Millis::from_hours(1));
    let trigger = |key: u32| {
        let world = world.clone();
        let claim = Claim { key: key.to_be_bytes().to_vec(), until, value: Vec::new(), names_run: true };
        tokio::spawn(async move {
            let answer =
                world.engine.submit_once(job, Command::Trigger { tool_input: None, traceparent: None }, claim).await;
            match answer {
                Ok(accepted) => (key, accepted.run_begun().unwrap().id, true),
                Err(ordo_engine::SubmitError::Duplicate(value)) => (key, Claim::read_run(&value).unwrap().1, false),
                Err(error) => panic!("{error}"),
            }
        })
    };
    let first: Vec<_> = join_all((0..20).map(trigger)).await.into_iter().map(Result::unwrap).collect();
    let second: Vec<_> = join_all((10..30).chain(20..30).map(trigger)).await.into_iter().map(Result::unwrap).collect();
    let mut runs = std::collections::BTreeMap::new();
    for (key, run, is_new) in first.into_iter().chain(second) {
        let (known, times) = runs.entry(key).or_insert((run, 0));
        assert_eq!(*known, run, "key {key}");
        *times += u32::from(is_new);
    }
    assert_eq!(runs.len(), 30);
    assert!(runs.values().all(|(_, times)| *times == 1));
    assert_eq!(world.finished(job, 30).await.len(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_is_not_lost_when_the_process_dies() {
    let mut world = World::new().await;
    let job = world.add(listening("hang", &json!({"idempotent": true, "retry": {"max_attempts": 9}}))).await;
    let id = receive(&world, arrival(Some("d-1"), "{}")).await;
    until(&world, id, |delivery| !delivery.has_waiting()).await;
    world = world.kill().await;
    let delivery = until(&world, id, Delivery::is_open).await;
    assert!(delivery.payload.is_some());
    let again = world.engine.receive(arrival(Some("d-1"), "{}")).await.unwrap();
    assert_eq!((again, world.runs(job.id).await.len()), (Received::Duplicate(id), 1));
    let run = world.runs(job.id).await.remove(0);
    let cancel = Command::CancelRun { run_id: run.id, reason: "enough".into() };
    world.engine.submit(job.id, cancel).await.unwrap();
    assert_eq!(over(&world, id).await.payload, None);
    world.assert_clean().await;
}
