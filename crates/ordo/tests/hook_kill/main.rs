//! The real binary, killed again and again while hooks are called; then every call that was acknowledged has led to
//! exactly one run of every job that listens.
//!
//! `ORDO_HOOKS=10000` is the full proof; without it a short one runs. A failure prints its seed (`ORDO_SEED`): with it
//! the daemons live as long again, though they do not die between the same instructions.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ordo_client::Client;
use ordo_model::testing::{Chance, any_seed};
use serde_json::{Value, json};

use common::{World, between_questions, within_async};

const HOOKS_DEFAULT: u64 = 1_000;
const SENDERS: usize = 16;
const LISTENERS: usize = 2;
/// How long a daemon lives, in milliseconds: from one that hardly begins to one that gets work done.
const LIFETIMES_MS: (u64, u64) = (30, 700);
/// After so many kills the last daemon lives on: a slow machine must come to an end too.
const KILLS_MAX: usize = 150;
const SETTLED_WITHIN: Duration = Duration::from_secs(300);

#[test]
fn whatever_moment_it_is_killed_in_a_delivery_leads_to_one_run_of_every_job_that_listens() {
    let hooks = std::env::var("ORDO_HOOKS").ok().and_then(|text| text.parse().ok()).unwrap_or(HOOKS_DEFAULT);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(story(hooks, Chance::new(any_seed())));
}

async fn story(hooks: u64, mut chance: Chance) {
    let world = Arc::new(World::new());
    let mut daemon = world.serve();
    world.ordo(&["hook", "add", "burst"]).done();
    let jobs: Vec<String> = add_listeners(&world.client(), hooks).await;
    let (next, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let senders: Vec<_> = (0..SENDERS).map(|_| tokio::spawn(send(world.client(), next.clone(), hooks))).collect();
    let watcher = {
        let done = done.clone();
        tokio::spawn(async move {
            let mut sent = Vec::new();
            for sender in senders {
                sent.extend(sender.await.unwrap());
            }
            done.store(true, Ordering::SeqCst);
            sent
        })
    };
    let mut kills = 0;
    while kills < KILLS_MAX && !done.load(Ordering::SeqCst) {
        // It is the moment of the kill that is drawn: nothing is waited for.
        tokio::time::sleep(Duration::from_millis(chance.between(LIFETIMES_MS.0, LIFETIMES_MS.1))).await;
        daemon.kill();
        kills += 1;
        daemon = world.serve();
    }
    let sent: Vec<(u64, String)> = watcher.await.unwrap();
    println!("{} calls acknowledged, {kills} kills", sent.len());
    assert_eq!(sent.len() as u64, hooks);
    let ids: BTreeSet<&str> = sent.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids.len() as u64, hooks, "each call has an id of its own");
    settled(&world.client()).await;
    for job in &jobs {
        check(&world.client(), job, &ids).await;
    }
    let (code, said) = daemon.stop();
    assert_eq!(code, 0, "{said}");
    let checked = world.ordo(&["store", "check"]).done().out;
    assert!(checked.starts_with("clean"), "{checked}");
}

async fn add_listeners(client: &Client, hooks: u64) -> Vec<String> {
    let mut jobs = Vec::new();
    for n in 0..LISTENERS {
        let job = json!({
            "label": format!("listener-{n}"), "tool_name": "noop", "trigger": { "type": "webhook", "hook": "burst" },
            "block": { "concurrent": { "max": 64 } }, "idempotent": true, "retry": { "max_attempts": 100, "backoff": "1ms" },
            "retention": { "runs": hooks.max(1_000) * 2 },
        });
        let made = client.post::<Value, _>("/v1/jobs", &job).await.unwrap();
        jobs.push(made["id"].as_str().unwrap().to_owned());
    }
    jobs
}

/// Calls until each call is acknowledged, as senders of webhooks do.
async fn send(client: Client, next: Arc<AtomicU64>, hooks: u64) -> Vec<(u64, String)> {
    let mut acknowledged = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::SeqCst);
        if number >= hooks {
            return acknowledged;
        }
        let (body, key) = (json!({ "number": number }), format!("call-{number}"));
        let delivery = loop {
            match client.post_with_key::<Value, _>("/hooks/burst", &body, &key).await {
                Ok(delivery) => break delivery,
                // Whether it was heard is unknown: the sender says it again, under the same name.
                Err(_) => between_questions().await,
            }
        };
        acknowledged.push((number, delivery["id"].as_str().unwrap().to_owned()));
    }
}

async fn all(client: &Client, path: &str) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let mut page: Value = client.get(&format!("{path}limit=200{cursor}")).await.unwrap();
        items.extend(page["items"].take().as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return items,
        }
    }
}

async fn settled(client: &Client) {
    within_async(SETTLED_WITHIN, "all deliveries are done", async || {
        let deliveries = all(client, "/v1/hooks/burst/deliveries?").await;
        let is_open = |delivery: &&Value| delivery["status"] != "done" || delivery["has_payload"] == true;
        let open: Vec<&Value> = deliveries.iter().filter(is_open).collect();
        open.first().map_or(Ok(()), |first| Err(format!("{} are open, such as {first:#}", open.len())))
    })
    .await;
}

/// Every acknowledged delivery has exactly one run of the job, and it completed.
async fn check(client: &Client, job: &str, ids: &BTreeSet<&str>) {
    let mut runs: BTreeMap<String, u32> = BTreeMap::new();
    for run in all(client, &format!("/v1/runs?job_id={job}&")).await {
        assert_eq!(run["status"]["type"], "completed", "{run:#}");
        *runs.entry(run["cause"]["delivery"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let twice: Vec<_> = runs.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "more than one run: {twice:?}");
    let missing: Vec<_> = ids.iter().filter(|id| !runs.contains_key(**id)).collect();
    assert!(missing.is_empty(), "no run of {missing:?}");
    assert_eq!(runs.len(), ids.len(), "no run without a delivery that was acknowledged");
}
