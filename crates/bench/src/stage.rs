//! A throw-away store and engine to measure on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ordo_engine::clock::{SystemClock, new_id};
use ordo_engine::metrics::Metrics;
use ordo_engine::tool::Tool;
use ordo_engine::{Engine, EngineOptions, Tools};
use ordo_model::job::Definition;
use ordo_model::{Millis, Timestamp};
use ordo_store::Store;
use ordo_store_redb::RedbStore;
use serde_json::json;

use super::database;
use super::probe::Probe;

/// Where throw-away stores are made: below a folder, or in schemas of a database.
#[derive(Debug, Clone)]
pub(super) enum Ground {
    Folder(PathBuf),
    Database(String),
}

/// Where one store is.
#[derive(Debug, Clone)]
pub(super) enum StoreAddress {
    File(PathBuf),
    Database(String),
}

impl StoreAddress {
    async fn open(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(match self {
            StoreAddress::File(path) => Arc::new(RedbStore::open(path, ordo_store_redb::RedbOptions::default())?),
            StoreAddress::Database(url) => database::open(url).await?,
        })
    }
}

/// Room for one store that is removed when the measurement is over.
#[derive(Debug)]
pub(super) enum Scratch {
    Folder(PathBuf),
    Schema(String),
}

impl Scratch {
    pub(super) fn new(ground: &Ground) -> anyhow::Result<Scratch> {
        match ground {
            Ground::Folder(below) => {
                let folder = below.join(format!("ordo-bench-{}", new_id()));
                std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
                Ok(Scratch::Folder(folder))
            }
            Ground::Database(url) => {
                anyhow::ensure!(
                    !url.contains("schema="),
                    "leave schema out of the URL: the bench makes schemas of its own"
                );
                let joint = if url.contains('?') { '&' } else { '?' };
                Ok(Scratch::Schema(format!("{url}{joint}schema=ordo_bench_{}", new_id().simple())))
            }
        }
    }

    pub(super) fn address(&self) -> StoreAddress {
        match self {
            Scratch::Folder(folder) => StoreAddress::File(folder.join("store.db")),
            Scratch::Schema(url) => StoreAddress::Database(url.clone()),
        }
    }

    /// How large the store is.
    pub(super) async fn bytes(&self) -> anyhow::Result<u64> {
        match self {
            Scratch::Folder(folder) => Ok(std::fs::metadata(folder.join("store.db"))?.len()),
            Scratch::Schema(_) => Ok(self.address().open().await?.stats().await?.bytes_on_disk),
        }
    }

    pub(super) async fn remove(self) -> anyhow::Result<()> {
        if let Scratch::Schema(url) = &self {
            database::remove(url).await?;
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Scratch::Folder(folder) = self else { return };
        if let Err(error) = std::fs::remove_dir_all(&*folder) {
            eprintln!("{} stays behind: {error}", folder.display());
        }
    }
}

pub(super) struct BenchStage {
    pub(super) engine: Engine,
    pub(super) probe: Arc<Probe>,
}

impl BenchStage {
    pub(super) async fn open(address: &StoreAddress) -> anyhow::Result<BenchStage> {
        BenchStage::open_with(address, []).await
    }

    /// With more tools than the one that measures.
    pub(super) async fn open_with(
        address: &StoreAddress,
        more: impl IntoIterator<Item = (String, Arc<dyn Tool>)>,
    ) -> anyhow::Result<BenchStage> {
        BenchStage::start(address, more, EngineOptions::default()).await
    }

    /// One of several on the same database.
    pub(super) async fn open_node(address: &StoreAddress, name: &str) -> anyhow::Result<BenchStage> {
        BenchStage::start(address, [], EngineOptions { node: name.to_owned(), ..EngineOptions::default() }).await
    }

    async fn start(
        address: &StoreAddress,
        more: impl IntoIterator<Item = (String, Arc<dyn Tool>)>,
        options: EngineOptions,
    ) -> anyhow::Result<BenchStage> {
        let store = address.open().await?;
        let probe = Arc::new(Probe::default());
        let mut tools = Tools::from([("noop".to_owned(), probe.clone() as _)]);
        tools.extend(more);
        let engine = Engine::start(store, tools, Arc::new(SystemClock), options).await?;
        Ok(BenchStage { engine, probe })
    }

    pub(super) async fn close(self) {
        self.engine.shutdown(Duration::from_secs(10)).await;
    }

    pub(super) fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }

    /// Schedules jobs at the given times, in batches; all are durable when it returns.
    pub(super) async fn schedule(&self, times: &[Timestamp], bar: &indicatif::ProgressBar) -> anyhow::Result<()> {
        for batch in times.chunks(4_096) {
            let commands = batch.iter().map(|at| super::schedule::command(*at)).collect();
            for answer in self.engine.submit_all(commands).await {
                answer?;
            }
            bar.inc(batch.len() as u64);
        }
        Ok(())
    }

    /// How the batcher gathered: rounds, commands in a round, time from decision to durable.
    pub(super) fn rounds(&self) -> serde_json::Value {
        let metrics = self.engine.metrics();
        let rounds = metrics.commit_commands.count().max(1);
        let mean = |sum: u64| (sum as f64 / rounds as f64).round();
        json!({
            "rounds": rounds,
            "mean_orders": mean(metrics.commit_commands.sum()),
            "mean_us": mean(metrics.commit_micros.sum()),
        })
    }

    /// Waits until so many runs are recorded as completed.
    pub(super) async fn completed(&self, count: u64) -> anyhow::Result<()> {
        let mut seen = (0, 0);
        loop {
            let done = Metrics::read(&self.engine.metrics().completed);
            if done >= count {
                return Ok(());
            }
            // Nothing new for a long time: say so instead of waiting for ever.
            seen = if done == seen.0 { (done, seen.1 + 1) } else { (done, 0) };
            anyhow::ensure!(seen.1 < 30_000, "only {done} of {count} runs completed");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// A one-off job that does nothing, with an input of about 100 bytes.
pub(super) fn one_off(at: Timestamp) -> Definition {
    let input = json!({ "payload": "x".repeat(85) });
    let trigger = json!({ "type": "scheduled", "at": at });
    let form = json!({ "label": "bench", "tool_name": "noop", "tool_input": input, "trigger": trigger });
    serde_json::from_value(form).expect("the bench writes a proper definition")
}

pub(super) fn bar(len: usize, what: &str) -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template("{msg:24} {wide_bar} {human_pos}/{human_len} {eta}");
    let bar = indicatif::ProgressBar::new(len as u64).with_message(what.to_owned());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub(super) fn spread(start: Timestamp, count: usize, per_second: usize) -> Vec<Timestamp> {
    (0..count).map(|n| start.plus(Millis::from_ms((n * 1_000 / per_second) as u64))).collect()
}
