//! The real binary, killed again and again while jobs fire; then every occurrence must be accounted for.
//!
//! `ORDO_KILLS=50` is the full proof with 2,000 jobs; without it a short one runs. A failure prints its seed: run it
//! again with `ORDO_SEED=…` (the kills then fall after the same delays, though not between the same instructions).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod account;
mod plan;

use std::time::Duration;

use ordo_client::Client;
use ordo_engine::clock::{Clock, Stopwatch, SystemClock};
use ordo_model::Millis;
use ordo_model::testing::{Chance, any_seed};
use serde_json::{Value, json};

use common::{World, within_async};

const KILLS_DEFAULT: u64 = 5;
/// So that 50 kills go with 2,000 jobs, although some of them never arrive.
const JOBS_PER_KILL: u64 = 48;
/// How long a daemon lives before it is killed, in milliseconds.
const LIFE_MS: (u64, u64) = (20, 500);
/// What a lifetime costs besides, roughly: the jobs are spread over all of them.
const RESTART_MS: u64 = 120;
const SETTLED_WITHIN: Duration = Duration::from_secs(60);

#[test]
fn whatever_moment_it_is_killed_in_every_occurrence_is_accounted_for() {
    let kills = number("ORDO_KILLS").unwrap_or(KILLS_DEFAULT);
    let seed = any_seed();
    println!("ORDO_KILLS={kills}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(story(kills, Chance::new(seed)));
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

async fn story(kills: u64, mut chance: Chance) {
    let world = World::new();
    let span = Millis::from_ms(kills * ((LIFE_MS.0 + LIFE_MS.1) / 2 + RESTART_MS) + 1_000);
    let book = world.file("book");
    let mut acknowledged: Vec<String> = Vec::new();
    let (mut clock, mut killed) = (Stopwatch::start(), 0);
    let all = kills * JOBS_PER_KILL;
    // Half of the jobs are there from the beginning, the others come while daemons die.
    let daemon = world.serve();
    let first = plan::jobs(&mut chance, all / 2, SystemClock.now(), span, &book);
    acknowledged.extend(add(&world.client(), first).await.expect("nobody was killed yet"));
    println!("{} jobs added in {}", acknowledged.len(), clock.elapsed());
    clock = Stopwatch::start();
    let mut daemon = Some(daemon);
    while killed < kills {
        let running = daemon.take().unwrap_or_else(|| world.serve());
        let lifetime = Duration::from_millis(chance.between(LIFE_MS.0, LIFE_MS.1));
        let more = plan::jobs(&mut chance, JOBS_PER_KILL / 2, SystemClock.now(), span, &book);
        let client = world.client();
        let adding = tokio::spawn(async move { add(&client, more).await });
        tokio::time::sleep(lifetime).await;
        running.kill();
        killed += 1;
        // What was not acknowledged may be there or not; what was, must be.
        acknowledged.extend(adding.await.unwrap().unwrap_or_default());
    }
    println!("{killed} kills in {}", clock.elapsed());
    let daemon = world.serve();
    clock = Stopwatch::start();
    let jobs = all_finished(&world.client()).await;
    println!("{} jobs finished {} later", jobs.len(), clock.elapsed());
    let account = account::of(&world.client(), &jobs, &world.read("book")).await;
    println!("{account:#?}");
    account::check_acknowledged(&jobs, &acknowledged);
    let (code, said) = daemon.stop();
    assert_eq!(code, 0, "{said}");
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
}

/// The ids of the jobs that were acknowledged.
async fn add(client: &Client, jobs: Vec<Value>) -> Result<Vec<String>, ordo_client::Error> {
    let answer: Value = client.post("/v1/jobs/batch", &json!({ "jobs": jobs })).await?;
    let id = |result: &Value| result["id"].as_str().unwrap_or_else(|| panic!("refused: {result}")).to_owned();
    Ok(answer["results"].as_array().unwrap().iter().map(id).collect())
}

async fn all_finished(client: &Client) -> Vec<Value> {
    within_async(SETTLED_WITHIN, "all jobs are finished", async || {
        let active: Value = client.get("/v1/jobs?state=active&limit=5").await.unwrap();
        if active["items"] == json!([]) { Ok(()) } else { Err(format!("{active:#}")) }
    })
    .await;
    account::pages(client, "/v1/jobs").await
}
