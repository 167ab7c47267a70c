//! Firing: many jobs at one instant, and so many every second.

use ordo_model::{Millis, Timestamp};
use serde_json::{Value, json};

use super::stage::{BenchStage, Ground, Scratch, bar, spread};

pub(super) async fn burst(ground: &Ground, jobs: usize) -> anyhow::Result<Value> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open(&scratch.address()).await?;
    let at = stage.now().plus(lead(jobs));
    let progress = bar(jobs, "burst");
    stage.schedule(&vec![at; jobs], &progress).await?;
    stage.completed(jobs as u64).await?;
    let took = stage.now().since(at);
    progress.finish_and_clear();
    let lateness = stage.probe.take();
    let rounds = stage.rounds();
    stage.close().await;
    scratch.remove().await?;
    let rate = jobs as f64 * 1e3 / took.ms().max(1) as f64;
    Ok(
        json!({ "jobs": jobs, "runs_per_s": rate.round(), "until_all_completed_ms": took.ms(), "lateness": lateness, "rounds": rounds }),
    )
}

pub(super) async fn steady(ground: &Ground, per_second: usize, seconds: usize) -> anyhow::Result<Value> {
    let scratch = Scratch::new(ground)?;
    let stage = BenchStage::open(&scratch.address()).await?;
    let report = steady_on(&stage, per_second, seconds, 0).await?;
    stage.close().await;
    scratch.remove().await?;
    Ok(report)
}

/// Fires `per_second` one-off jobs a second; `before` runs were completed on this stage already.
pub(super) async fn steady_on(
    stage: &BenchStage,
    per_second: usize,
    seconds: usize,
    before: u64,
) -> anyhow::Result<Value> {
    let jobs = per_second * seconds;
    let start = stage.now().plus(lead(jobs));
    let times: Vec<Timestamp> = spread(start, jobs, per_second);
    let progress = bar(jobs, &format!("steady {per_second}/s"));
    stage.schedule(&times, &progress).await?;
    anyhow::ensure!(stage.now() < start, "scheduling took longer than expected: the machine is too busy to measure");
    stage.completed(before + jobs as u64).await?;
    progress.finish_and_clear();
    Ok(json!({ "jobs": jobs, "per_second": per_second, "lateness": stage.probe.take() }))
}

/// Long enough to have everything scheduled before the first falls due.
pub(super) fn lead(jobs: usize) -> Millis {
    Millis::from_ms(3_000 + jobs as u64 / 10)
}
