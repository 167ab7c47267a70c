//! Three nodes of the real binary on one PostgreSQL, while nodes are killed and halted, the database is restarted,
//! connections are cut and clocks are wrong; then every occurrence must be accounted for.
//!
//! `ORDO_FAULTS=60` is the long proof; without it a short one runs. A failure prints its seed (`ORDO_SEED`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../kill_loop/account.rs"]
mod account;
#[path = "../common/mod.rs"]
mod common;
#[path = "../kill_loop/plan.rs"]
mod plan;

mod away;
mod channels;
mod choosing;
mod database;
mod limits;
mod nodes;
#[allow(dead_code, reason = "other tests use more of it")]
#[path = "../../../store-postgres/tests/common/mod.rs"]
mod proxy;
mod routing;
mod standby;
mod upgrade;

use std::time::Duration;

use ordo_client::Client;
use ordo_engine::clock::{Clock, Stopwatch, SystemClock};
use ordo_model::Millis;
use ordo_model::testing::{Chance, any_seed};
use serde_json::{Value, json};

use common::{World, within_async};
use database::Database;
use nodes::Nodes;
use proxy::Proxy;

const FAULTS_DEFAULT: u64 = 6;
const JOBS_PER_FAULT: u64 = 20;
/// A fault and the calm after it, in milliseconds; nodes need some seconds to miss one of them.
const CALM_MS: (u64, u64) = (500, 2_500);
const FAULT_MS: u64 = 4_000;
/// After the time of the last occurrence.
const SETTLED_WITHIN: Duration = Duration::from_secs(90);

#[test]
fn whatever_happens_to_nodes_and_database_every_occurrence_is_accounted_for() {
    let faults = number("ORDO_FAULTS").unwrap_or(FAULTS_DEFAULT);
    let seed = any_seed();
    println!("ORDO_FAULTS={faults}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(story(faults, Chance::new(seed)));
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

async fn story(faults: u64, mut chance: Chance) {
    let book_folder = World::new();
    let book = book_folder.file("book");
    let mut database = Database::start();
    let proxy = Proxy::before(database.port(), chance.between(1, 1_000_000)).await;
    let mut nodes = Nodes::start(&Database::url_on(proxy.port), &[0, 30_000, -30_000]);
    let span = Millis::from_ms(faults * FAULT_MS);
    let jobs = plan::jobs(&mut chance, faults * JOBS_PER_FAULT, SystemClock.now(), span, &book);
    let mut acknowledged = add(&nodes.client(0), jobs).await.expect("nothing has happened yet");
    let clock = Stopwatch::start();
    for _ in 0..faults {
        tokio::time::sleep(Duration::from_millis(chance.between(CALM_MS.0, CALM_MS.1))).await;
        let which = usize::try_from(chance.between(0, 2)).unwrap();
        let more = plan::jobs(&mut chance, 5, SystemClock.now(), span, &book);
        let client = nodes.client(usize::try_from(chance.between(0, 2)).unwrap());
        let adding = tokio::spawn(async move { add(&client, more).await });
        match chance.between(0, 3) {
            0 => {
                println!("{} kill node {which}", clock.elapsed());
                nodes.kill_and_restart(which);
            }
            1 => {
                println!("{} halt node {which}", clock.elapsed());
                nodes.halt(which, Duration::from_millis(chance.between(2_000, 8_000))).await;
            }
            2 => {
                println!("{} restart the database", clock.elapsed());
                database.restart_immediately();
            }
            _ => {
                println!("{} cut connections", clock.elapsed());
                proxy.cut(true);
                tokio::time::sleep(Duration::from_millis(chance.between(500, 3_000))).await;
                proxy.cut(false);
            }
        }
        // What was not acknowledged may be there or not; what was, must be.
        acknowledged.extend(adding.await.unwrap().unwrap_or_default());
    }
    println!("{faults} faults in {}", clock.elapsed());
    let client = nodes.client(0);
    let jobs = all_finished(&client, span.to_std() + SETTLED_WITHIN).await;
    println!("{} jobs finished after {}", jobs.len(), clock.elapsed());
    let account = account::of(&client, &jobs, &book_folder.read("book")).await;
    println!("{account:#?}");
    account::check_acknowledged(&jobs, &acknowledged);
    nodes.stop();
    let store = Database::url_on(database.port());
    let checked = book_folder.ordo(&["store", "check", "--store", &store]).done();
    assert!(checked.out.starts_with("clean"), "{checked:?}");
}

/// The ids of the jobs that were acknowledged.
async fn add(client: &Client, jobs: Vec<Value>) -> Result<Vec<String>, ordo_client::Error> {
    let answer: Value = client.post("/v1/jobs/batch", &json!({ "jobs": jobs })).await?;
    let ids = answer["results"].as_array().unwrap().iter().filter_map(|result| result["id"].as_str());
    Ok(ids.map(str::to_owned).collect())
}

async fn all_finished(client: &Client, patience: Duration) -> Vec<Value> {
    within_async(patience, "all jobs are finished", async || {
        let active: Value = client.get("/v1/jobs?state=active&limit=5").await.unwrap_or_default();
        if active["items"] == json!([]) {
            return Ok(());
        }
        let stuck = active["items"][0]["id"].as_str().unwrap_or_default().to_owned();
        let story: Value = client.get(&format!("/v1/streams/ordo-job-{stuck}?limit=200")).await.unwrap_or_default();
        Err(format!("{active:#}\nthe story of the first: {story:#}"))
    })
    .await;
    account::pages(client, "/v1/jobs").await
}
