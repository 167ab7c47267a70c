//! Scheduling: how many jobs per second are acknowledged as durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ordo_engine::Request;
use ordo_engine::clock::{Stopwatch, new_id};
use ordo_engine::rounds::batch_of;
use ordo_model::job::Command;
use ordo_model::{JobId, Millis, Timestamp};
use ordo_store::Batch;
use ordo_store_redb::CACHE_BYTES_DEFAULT;
use ordo_store_redb::raw::RedbRawLoop;
use serde_json::{Map, Value, json};

use super::database;
use super::stage::{BenchStage, Ground, Scratch, bar, one_off};
use crate::stage::StoreAddress;

/// Far enough away that nothing fires while we measure.
pub(super) const AHEAD: Millis = Millis::from_hours(1);
const BATCHES: [usize; 3] = [256, 1_024, 4_096];
/// One caller that waits for each answer gets this long.
const SINGLE_SECONDS: u64 = 3;

pub(super) fn command(at: Timestamp) -> (JobId, Command) {
    (JobId(new_id()), Command::Schedule { definition: Box::new(one_off(at)), held: false })
}

pub(super) async fn measure(ground: &Ground, jobs: usize) -> anyhow::Result<Value> {
    let mut report = Map::new();
    let progress = bar(3 + 2 * BATCHES.len(), "schedule");
    report.insert("acks_per_s_1_client".into(), json!(clients(ground, 1, jobs).await?));
    progress.inc(1);
    report.insert("acks_per_s_64_clients".into(), json!(clients(ground, 64, jobs).await?));
    progress.inc(1);
    for size in BATCHES {
        // Side by side and twice, so that a noisy moment of the machine hits both.
        let (ours, raw) = (batches(ground, size, jobs).await?, raw(ground, size, jobs).await?);
        let (again, raw_again) = (batches(ground, size, jobs).await?, self::raw(ground, size, jobs).await?);
        let (ours, raw) = (ours.max(again), raw.max(raw_again));
        let ratio = ours / raw;
        report.insert(
            format!("batch_{size}"),
            json!({ "jobs_per_s": ours.round(), raw_name(ground): raw.round(), "ratio": (ratio * 100.0).round() / 100.0 }),
        );
        progress.inc(2);
    }
    progress.finish_and_clear();
    Ok(Value::Object(report))
}

/// So many callers, each waiting for its answer before it asks again.
pub(super) async fn clients(ground: &Ground, clients: usize, jobs: usize) -> anyhow::Result<f64> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open(&scratch.address()).await?;
    let at = stage.now().plus(AHEAD);
    let acks = Arc::new(AtomicUsize::new(0));
    let watch = Stopwatch::start();
    let mut tasks = Vec::new();
    for _ in 0..clients {
        let (engine, acks) = (stage.engine.clone(), acks.clone());
        tasks.push(tokio::spawn(async move {
            while acks.load(Ordering::Relaxed) < jobs && watch.elapsed() < Millis::from_secs(SINGLE_SECONDS) {
                let (job, command) = command(at);
                engine.submit(job, command).await?;
                acks.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        }));
    }
    for task in tasks {
        task.await??;
    }
    let rate = per_second(acks.load(Ordering::Relaxed), &watch);
    stage.close().await;
    scratch.remove().await?;
    Ok(rate.round())
}

async fn batches(ground: &Ground, size: usize, jobs: usize) -> anyhow::Result<f64> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open(&scratch.address()).await?;
    let at = stage.now().plus(AHEAD);
    let mut made: Vec<Vec<_>> = Vec::new();
    for _ in 0..jobs.div_ceil(size) {
        made.push((0..size).map(|_| command(at)).collect());
    }
    let count: usize = made.iter().map(Vec::len).sum();
    let watch = Stopwatch::start();
    for batch in made {
        for answer in stage.engine.submit_all(batch).await {
            answer?;
        }
    }
    let rate = per_second(count, &watch);
    stage.close().await;
    scratch.remove().await?;
    Ok(rate)
}

fn raw_name(ground: &Ground) -> &'static str {
    match ground {
        Ground::Folder(_) => "raw_redb_per_s",
        Ground::Database(_) => "raw_postgres_per_s",
    }
}

/// The same rows through a bare loop on the same engine.
async fn raw(ground: &Ground, size: usize, jobs: usize) -> anyhow::Result<f64> {
    let scratch = Scratch::new(ground)?;
    let now = ordo_engine::clock::Clock::now(&ordo_engine::clock::SystemClock);
    let planned = |_| -> Batch {
        let requests = (0..size).map(|_| command(now.plus(AHEAD))).map(|(job, c)| Request::new(job, c)).collect();
        batch_of(requests, now, matches!(ground, Ground::Database(_)))
    };
    let batches: Vec<Batch> = (0..jobs.div_ceil(size)).map(planned).collect();
    let count: usize = batches.iter().map(|batch| batch.items.len()).sum();
    let rate = match scratch.address() {
        StoreAddress::File(path) => {
            let mut raw = RedbRawLoop::create(&path, CACHE_BYTES_DEFAULT)?;
            let watch = Stopwatch::start();
            for batch in &batches {
                raw.write(batch)?;
            }
            per_second(count, &watch)
        }
        StoreAddress::Database(url) => {
            let watch = database::write(&url, &batches).await?;
            per_second(count, &watch)
        }
    };
    scratch.remove().await?;
    Ok(rate)
}

pub(super) fn per_second(count: usize, watch: &Stopwatch) -> f64 {
    count as f64 * 1e6 / watch.elapsed_micros().max(1) as f64
}
