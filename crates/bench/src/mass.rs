//! A million jobs waiting: what they cost in lateness, memory and time to restart.

use anyhow::Context;
use ordo_engine::clock::Stopwatch;
use ordo_model::Millis;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::fire::steady_on;
use super::stage::{BenchStage, Ground, Scratch, bar, spread};

const PER_SECOND: usize = 1_000;

pub(super) fn measure(runtime: &Runtime, ground: &Ground, pending: usize, seconds: usize) -> anyhow::Result<Value> {
    let scratch = Scratch::new(ground)?;
    let address = scratch.address();
    let (none, fill_ms, many) = runtime.block_on(async {
        let stage = BenchStage::open(&address).await?;
        let none = steady_on(&stage, PER_SECOND, seconds, 0).await?;
        let watch = Stopwatch::start();
        let progress = bar(pending, "pending jobs");
        let far = stage.now().plus(Millis::from_days(30));
        stage.schedule(&spread(far, pending, PER_SECOND), &progress).await?;
        progress.finish_and_clear();
        let fill_ms = watch.elapsed().ms();
        let before = (PER_SECOND * seconds) as u64;
        let many = steady_on(&stage, PER_SECOND, seconds, before).await?;
        stage.close().await;
        anyhow::Ok((none, fill_ms, many))
    })?;
    let restart = runtime.block_on(async {
        let watch = Stopwatch::start();
        let stage = BenchStage::open(&address).await?;
        let ready_ms = watch.elapsed().ms();
        stage.close().await;
        anyhow::Ok(ready_ms)
    })?;
    let file_bytes = runtime.block_on(scratch.bytes())?;
    runtime.block_on(scratch.remove())?;
    let p99 = |report: &Value| report["lateness"]["p99_ms"].as_f64().unwrap_or(f64::NAN);
    Ok(json!({
        "pending": pending,
        "schedule_per_s": (pending as f64 * 1e3 / fill_ms.max(1) as f64).round(),
        "steady_with_none_pending": none,
        "steady_with_all_pending": many,
        "p99_ratio": ((p99(&many) / p99(&none)) * 100.0).round() / 100.0,
        "rss_mib": resident_mib()?,
        "restart_to_ready_ms": restart,
        "file_mib": file_bytes / (1 << 20),
    }))
}

/// The largest resident size so far, as Linux counts it: the memory that the machine must have.
fn resident_mib() -> anyhow::Result<Value> {
    let status = std::fs::read_to_string("/proc/self/status").context("this machine does not report its memory")?;
    let kib = |name: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let mib = |name| kib(name).map(|kib| kib / 1_024);
    Ok(json!({ "now": mib("VmRSS:"), "anonymous": mib("RssAnon:"), "peak": mib("VmHWM:") }))
}
