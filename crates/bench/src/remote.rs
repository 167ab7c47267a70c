//! Remote dispatch: the same burst in this process and through an executor that dials in over a socket.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ordo_api::upkeep::{StoreCheck, StoreCopy, StoreStats};
use ordo_client::executor::{Assigned, ExecutorOffer, RemoteExecutor, RunLog, RunOutcome, handler};
use ordo_client::{Client, Target};
use ordo_engine::clock::{Stopwatch, new_id};
use ordo_engine::metrics::Metrics;
use ordo_model::JobId;
use ordo_model::job::{Command, Definition};
use ordo_server::{App, Auth, Maintenance, MaintenanceError, NodeIdentity};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::stage::{BenchStage, Ground, Scratch, bar};

const CAPACITY: usize = 1_000;

pub(super) async fn measure(ground: &Ground, runs: usize) -> anyhow::Result<Value> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open(&scratch.address()).await?;
    let here = burst(&stage, runs, "default").await?;
    let shutdown = CancellationToken::new();
    let folder = std::env::temp_dir().join(format!("ordo-bench-{}", new_id()));
    std::fs::create_dir_all(&folder)?;
    let socket = folder.join("s");
    let server = serve(&stage, &socket, &shutdown)?;
    let leave = shutdown.clone();
    let offer =
        ExecutorOffer { name: "far".into(), group: "far".into(), tools: vec!["noop".into()], capacity: CAPACITY };
    let executor = RemoteExecutor::new(Client::new(Target::Socket(socket), None), offer);
    let noop = handler(|_: Assigned, _: RunLog| async { RunOutcome::Completed(Value::Null) });
    let working = tokio::spawn(async move { executor.run(noop, leave.cancelled_owned()).await });
    while !stage.engine.offers("far", "noop") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let there = burst(&stage, runs, "far").await?;
    shutdown.cancel();
    drop(tokio::join!(working, server));
    stage.close().await;
    std::fs::remove_dir_all(&folder)?;
    scratch.remove().await?;
    Ok(json!({
        "runs": runs,
        "in_process_runs_per_s": here.round(),
        "remote_runs_per_s": there.round(),
        "ratio": (there / here * 100.0).round() / 100.0,
    }))
}

fn serve(
    stage: &BenchStage,
    socket: &Path,
    shutdown: &CancellationToken,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let node = NodeIdentity { name: "local".into(), tick_rate: ordo_model::Millis::from_secs(1) };
    let app = App::new(stage.engine.clone(), Auth::socket_only(), Arc::new(NoMaintenance), node);
    let listener = tokio::net::UnixListener::bind(socket)?;
    Ok(tokio::spawn(ordo_server::serve_unix(listener, app, shutdown.clone())))
}

/// Triggers so many jobs at once; how many runs per second were completed.
async fn burst(stage: &BenchStage, runs: usize, group: &str) -> anyhow::Result<f64> {
    let form = json!({ "label": "bench", "tool_name": "noop", "group": group, "trigger": { "type": "manual" } });
    let definition: Definition = serde_json::from_value(form)?;
    let ids: Vec<JobId> = (0..runs).map(|_| JobId(new_id())).collect();
    let schedule = |id: &JobId| (*id, Command::Schedule { definition: Box::new(definition.clone()), held: false });
    let progress = bar(runs, group);
    for batch in ids.chunks(4_096) {
        for answer in stage.engine.submit_all(batch.iter().map(schedule).collect()).await {
            answer?;
        }
    }
    let before = Metrics::read(&stage.engine.metrics().completed);
    let watch = Stopwatch::start();
    let trigger = |id: &JobId| (*id, Command::Trigger { tool_input: None, traceparent: None });
    for batch in ids.chunks(4_096) {
        for answer in stage.engine.submit_all(batch.iter().map(trigger).collect()).await {
            answer?;
        }
        progress.inc(batch.len() as u64);
    }
    stage.completed(before + runs as u64).await?;
    progress.finish_and_clear();
    Ok(runs as f64 * 1e6 / watch.elapsed_micros().max(1) as f64)
}

/// Nobody works on a store that is thrown away.
struct NoMaintenance;

fn not_here<T>() -> Result<T, MaintenanceError> {
    Err(MaintenanceError::Refused("a throw-away store has no maintenance".to_owned()))
}

#[async_trait::async_trait]
impl Maintenance for NoMaintenance {
    async fn stats(&self) -> Result<StoreStats, MaintenanceError> {
        not_here()
    }

    async fn backup(&self, _to: PathBuf) -> Result<StoreCopy, MaintenanceError> {
        not_here()
    }

    async fn check(&self) -> Result<StoreCheck, MaintenanceError> {
        not_here()
    }
}
