//! Fairness: how late quick jobs are beside hundreds of slow ones.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ordo_engine::clock::{Stopwatch, new_id};
use ordo_engine::tool::{Failure, Tool, Work};
use ordo_model::job::{Command, Pool};
use ordo_model::{JobId, Millis};
use serde_json::{Value, json};

use super::stage::{BenchStage, Ground, Scratch, bar, spread};

const SLOW_JOBS: usize = 500;
const PER_SECOND: usize = 500;
/// Longer than the limit of the fast pool.
const NAP: Duration = Duration::from_millis(600);
/// After this long every slow job must have been recognised.
const PATIENCE: Millis = Millis::from_secs(120);

/// Does nothing, slowly.
struct Nap;

#[async_trait]
impl Tool for Nap {
    fn check(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    async fn run(&self, _: Work) -> Result<Value, Failure> {
        tokio::time::sleep(NAP).await;
        Ok(Value::Null)
    }
}

pub(super) async fn measure(ground: &Ground, seconds: usize) -> anyhow::Result<Value> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open_with(&scratch.address(), [("nap".to_owned(), Arc::new(Nap) as _)]).await?;
    let alone = quick(&stage, seconds).await?;
    let slow = slow_jobs(&stage).await?;
    let recognised = recognised(&stage, &slow).await?;
    let beside = quick(&stage, seconds).await?;
    stage.close().await;
    scratch.remove().await?;
    let p99 = |report: &Value| report["p99_ms"].as_f64().unwrap_or(f64::NAN);
    let ratio = (p99(&beside) / p99(&alone) * 100.0).round() / 100.0;
    Ok(json!({
        "slow_jobs": SLOW_JOBS,
        "recognised_after_ms": recognised.ms(),
        "quick_alone": alone,
        "quick_beside_slow": beside,
        "p99_ratio": ratio,
    }))
}

async fn quick(stage: &BenchStage, seconds: usize) -> anyhow::Result<Value> {
    let jobs = PER_SECOND * seconds;
    let times = spread(stage.now().plus(Millis::from_ms(2_000 + jobs as u64 / 5)), jobs, PER_SECOND);
    let progress = bar(jobs, "quick jobs");
    stage.schedule(&times, &progress).await?;
    let watch = Stopwatch::start();
    while stage.probe.len() < jobs as u64 {
        let longest = Millis::from_secs(60 + 2 * seconds as u64);
        anyhow::ensure!(watch.elapsed() < longest, "only {} of {jobs} quick runs began", stage.probe.len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    progress.finish_and_clear();
    Ok(stage.probe.take())
}

async fn slow_jobs(stage: &BenchStage) -> anyhow::Result<Vec<JobId>> {
    let form = json!({ "label": "slow", "tool_name": "nap", "block": "discard",
        "trigger": { "type": "scheduled", "every": "700ms" } });
    let definition: ordo_model::job::Definition = serde_json::from_value(form)?;
    let one = || (JobId(new_id()), Command::Schedule { definition: Box::new(definition.clone()), held: false });
    let commands: Vec<(JobId, Command)> = (0..SLOW_JOBS).map(|_| one()).collect();
    let ids = commands.iter().map(|(id, _)| *id).collect();
    for answer in stage.engine.submit_all(commands).await {
        answer?;
    }
    Ok(ids)
}

/// How long it took until all of them were in the slow pool.
async fn recognised(stage: &BenchStage, jobs: &[JobId]) -> anyhow::Result<Millis> {
    let watch = Stopwatch::start();
    for id in jobs {
        loop {
            let job = stage.engine.job(*id).await?;
            if job.is_some_and(|job| job.pool() == Pool::Slow) {
                break;
            }
            anyhow::ensure!(watch.elapsed() < PATIENCE, "not all slow jobs were recognised");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(watch.elapsed())
}
