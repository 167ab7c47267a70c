//! What the daemon uses, moment by moment, as the kernel and its own metrics say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::lab::clock::now_ms;
use crate::lab::node::OrdoProcess;

/// Where lateness is counted in the metrics.
const LATENESS: &str = "ordo_run_lateness_seconds_bucket{le=\"";

#[derive(Debug, Clone)]
pub(super) struct ResourceSample {
    pub(super) at: i64,
    pub(super) rss_kib: i64,
    pub(super) descriptors: i64,
    pub(super) threads: i64,
    pub(super) store_kib: i64,
    /// Everything below the daemon's folder, the store included.
    pub(super) folder_kib: i64,
    /// What 99 of 100 runs since the last sample did not exceed, up to the width of a bucket; none: nothing ran.
    pub(super) lateness_p99_ms: Option<i64>,
    /// Runs that were over since the last sample.
    pub(super) runs: i64,
}

#[derive(Debug)]
pub(super) struct ResourceProbe {
    process: PathBuf,
    buckets: BTreeMap<i64, i64>,
    pub(super) samples: Vec<ResourceSample>,
}

impl ResourceProbe {
    pub(super) fn new(daemon: &OrdoProcess) -> Result<ResourceProbe> {
        let id = daemon.id().context("the daemon does not run")?;
        Ok(ResourceProbe {
            process: PathBuf::from(format!("/proc/{id}")),
            buckets: BTreeMap::new(),
            samples: Vec::new(),
        })
    }

    pub(super) fn sample(&mut self, daemon: &OrdoProcess) -> Result<()> {
        let status = std::fs::read_to_string(self.process.join("status")).context("the daemon has gone")?;
        let number =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).and_then(first_number).unwrap_or(0);
        let descriptors = std::fs::read_dir(self.process.join("fd"))?.count();
        let metrics = daemon.client().get("/metrics")?;
        let now = buckets(metrics.as_str().unwrap_or_default());
        let (lateness_p99_ms, runs) = p99(&self.buckets, &now);
        self.buckets = now;
        let folder = daemon.folder().join(".ordo");
        let kib = |bytes: u64| i64::try_from(bytes / 1_024).unwrap_or(i64::MAX);
        self.samples.push(ResourceSample {
            at: now_ms(),
            rss_kib: number("VmRSS:"),
            descriptors: i64::try_from(descriptors).unwrap_or(i64::MAX),
            threads: number("Threads:"),
            store_kib: kib(size_of(&folder, &|name| name.starts_with("orchestrator.db"))),
            folder_kib: kib(size_of(&folder, &|_| true)),
            lateness_p99_ms,
            runs,
        });
        Ok(())
    }
}

fn first_number(text: &str) -> Option<i64> {
    text.split_whitespace().next()?.parse().ok()
}

/// Bytes below a folder; what vanishes meanwhile has none.
fn size_of(folder: &Path, counts: &dyn Fn(&str) -> bool) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let entries = entries.filter_map(Result::ok);
    entries
        .filter_map(|entry| {
            let data = entry.metadata().ok()?;
            let is_counted = counts(&entry.file_name().to_string_lossy());
            Some(match (data.is_dir(), is_counted) {
                (true, true) => size_of(&entry.path(), &|_| true),
                (true, false) => size_of(&entry.path(), counts),
                (false, true) => data.len(),
                (false, false) => 0,
            })
        })
        .sum()
}

/// Upper bounds in milliseconds, and how many runs were not later; beyond the last there is no bound.
fn buckets(metrics: &str) -> BTreeMap<i64, i64> {
    let lines = metrics.lines().filter_map(|line| line.strip_prefix(LATENESS)?.split_once("\"} "));
    lines
        .filter_map(|(bound, count)| {
            #[expect(clippy::cast_possible_truncation, reason = "bounds are minutes at most")]
            let bound = if bound == "+Inf" { i64::MAX } else { (bound.parse::<f64>().ok()? * 1_000.0) as i64 };
            Some((bound, count.trim().parse().ok()?))
        })
        .collect()
}

/// The bound that 99 of 100 did not exceed between two scrapes, and how many there were.
fn p99(before: &BTreeMap<i64, i64>, now: &BTreeMap<i64, i64>) -> (Option<i64>, i64) {
    let since = |bound: &i64| now.get(bound).copied().unwrap_or(0) - before.get(bound).copied().unwrap_or(0);
    let all = since(&i64::MAX);
    let reached = now.keys().find(|bound| since(bound) * 100 >= all * 99);
    (reached.copied().filter(|_| all > 0), all)
}

/// For those who only want to know that something is there.
pub(super) fn count(page: &Value) -> usize {
    page["items"].as_array().map_or(0, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_that_of_the_runs_since_the_last_scrape() {
        let metrics = |fast: i64, all: i64| {
            format!("{LATENESS}0.005\"}} {fast}\n{LATENESS}0.25\"}} {all}\n{LATENESS}+Inf\"}} {all}\nordo_ready 1\n")
        };
        let (before, now) = (buckets(&metrics(10, 10)), buckets(&metrics(110, 110)));
        assert_eq!(p99(&BTreeMap::new(), &before), (Some(5), 10));
        assert_eq!(p99(&before, &now), (Some(5), 100));
        assert_eq!(p99(&now, &buckets(&metrics(110, 115))), (Some(250), 5));
        assert_eq!(p99(&now, &now), (None, 0));
    }
}
