//! Many nodes: the same work on one database, by one node and by three.
//!
//! Invariant: callers, batches and jobs are the same; only how many nodes there are differs.

use std::time::Duration;

use ordo_engine::Engine;
use ordo_engine::clock::Stopwatch;
use ordo_engine::metrics::Metrics;
use ordo_model::{Millis, Timestamp};
use ordo_store::PARTITIONS;
use serde_json::{Value, json};

use super::fire::lead;
use super::schedule::{AHEAD, command, per_second};
use super::stage::{BenchStage, Ground, Scratch, bar};

const NODES: usize = 3;
/// As many as there are nodes at most, so that each has somebody to serve.
const CALLERS: usize = NODES;
const BATCH: usize = 1_024;
/// Each is measured so often, in turn; the best counts, as it was disturbed least.
const TURNS: usize = 2;
/// Nodes share the partitions anew within seconds.
const PATIENCE: Millis = Millis::from_secs(60);

pub(super) async fn measure(ground: &Ground, jobs: usize) -> anyhow::Result<Value> {
    let progress = bar(2 * TURNS, "nodes");
    let (mut one, mut three) = (NodeRates::default(), NodeRates::default());
    for _ in 0..TURNS {
        one = one.better(found(ground, 1, jobs).await?);
        progress.inc(1);
        three = three.better(found(ground, NODES, jobs).await?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let ratio = |three: f64, one: f64| (three / one * 100.0).round() / 100.0;
    Ok(json!({
        "jobs": jobs,
        "one": one.report(),
        "three": three.report(),
        "schedule_ratio": ratio(three.jobs_per_s, one.jobs_per_s),
        "burst_ratio": ratio(three.runs_per_s, one.runs_per_s),
    }))
}

#[derive(Default, Clone, Copy)]
struct NodeRates {
    jobs_per_s: f64,
    runs_per_s: f64,
}

impl NodeRates {
    fn better(self, other: NodeRates) -> NodeRates {
        NodeRates {
            jobs_per_s: self.jobs_per_s.max(other.jobs_per_s),
            runs_per_s: self.runs_per_s.max(other.runs_per_s),
        }
    }

    fn report(self) -> Value {
        json!({ "jobs_per_s": self.jobs_per_s.round(), "runs_per_s": self.runs_per_s.round() })
    }
}

async fn found(ground: &Ground, count: usize, jobs: usize) -> anyhow::Result<NodeRates> {
    let scratch = Scratch::new(ground)?;
    let mut stages = Vec::new();
    for number in 1..=count {
        stages.push(BenchStage::open_node(&scratch.address(), &format!("bench-{number}")).await?);
    }
    settled(&stages).await?;
    let watch = Stopwatch::start();
    schedule(&stages, jobs, stages[0].now().plus(AHEAD)).await?;
    let jobs_per_s = per_second(jobs, &watch);
    let at = stages[0].now().plus(lead(jobs));
    schedule(&stages, jobs, at).await?;
    completed(&stages, jobs as u64).await?;
    let runs_per_s = jobs as f64 * 1e3 / stages[0].now().since(at).ms().max(1) as f64;
    for stage in stages {
        stage.close().await;
    }
    scratch.remove().await?;
    Ok(NodeRates { jobs_per_s, runs_per_s })
}

/// Waits until every partition is served and every node has its share.
async fn settled(stages: &[BenchStage]) -> anyhow::Result<()> {
    let watch = Stopwatch::start();
    loop {
        let nodes = stages[0].engine.nodes().await?;
        let taken: usize = nodes.iter().map(|node| node.partitions).sum();
        if nodes.len() == stages.len() && taken == PARTITIONS && nodes.iter().all(|node| node.partitions > 0) {
            return Ok(());
        }
        anyhow::ensure!(watch.elapsed() < PATIENCE, "the nodes do not share the partitions: {nodes:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Callers side by side, each of them at the next node.
async fn schedule(stages: &[BenchStage], jobs: usize, at: Timestamp) -> anyhow::Result<()> {
    let mut calling = tokio::task::JoinSet::new();
    for caller in 0..CALLERS {
        let share = jobs / CALLERS + usize::from(caller < jobs % CALLERS);
        calling.spawn(call(stages[caller % stages.len()].engine.clone(), share, at));
    }
    while let Some(called) = calling.join_next().await {
        called??;
    }
    Ok(())
}

async fn call(engine: Engine, mut left: usize, at: Timestamp) -> anyhow::Result<()> {
    while left > 0 {
        let size = left.min(BATCH);
        for answer in engine.submit_all((0..size).map(|_| command(at)).collect()).await {
            answer?;
        }
        left -= size;
    }
    Ok(())
}

async fn completed(stages: &[BenchStage], count: u64) -> anyhow::Result<()> {
    let watch = Stopwatch::start();
    loop {
        let done: u64 = stages.iter().map(|stage| Metrics::read(&stage.engine.metrics().completed)).sum();
        if done >= count {
            return Ok(());
        }
        let longest = Millis::from_ms(PATIENCE.ms() + count * 10);
        anyhow::ensure!(watch.elapsed() < longest, "only {done} of {count} runs completed");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
