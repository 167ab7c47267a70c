//! What a million waiting jobs cost: memory, disk, and the time to open and to find what is due.
//!
//! `cargo run --release -p ordo-store-redb --example pending_million [jobs] [folder]` prints JSON.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]
#![allow(clippy::unwrap_used, reason = "an example, not the product")]

use std::time::Instant;

use ordo_model::{JobId, Timestamp};
use ordo_store::{Alarm, Batch, Disposition, EventActor, Item, NewEvent, RowWrite, Store, View};
use ordo_store_redb::{RedbOptions, RedbStore};
use uuid::Uuid;

const START_MS: i64 = 1_763_000_000_000;
const BATCH: u64 = 4_096;

fn job(number: u64) -> Item {
    let chance = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let id = Uuid::from_u64_pair(START_MS as u64 + number / 100, chance);
    let due_at = Timestamp::from_ms(START_MS + (chance % 86_400_000) as i64).unwrap();
    let row = |view, key: Vec<u8>| RowWrite::put(view, key, Vec::new());
    Item {
        entity: JobId(id).into(),
        expected: 0,
        events: vec![NewEvent {
            at: due_at,
            kind: "job_created".into(),
            data: vec![b'e'; 150],
            actor: EventActor::Ordo,
        }],
        disposition: Disposition::Keep { snapshot: vec![b's'; 300], alarm: Some(Alarm { at: due_at, rank: 5 }) },
        rows: vec![
            row(View::JobsByLabel, [b"label-".as_slice(), id.as_bytes()].concat()),
            row(View::JobsByState, [b"active-".as_slice(), id.as_bytes()].concat()),
        ],
        dedup: Vec::new(),
        quotas: Vec::new(),
        freed: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    }
}

/// A line of /proc/self/status in MiB.
fn memory_mib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let jobs: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let folder = std::env::args().nth(2).unwrap_or_else(|| std::env::temp_dir().display().to_string());
    let place = tempfile::tempdir_in(folder).unwrap();
    let path = place.path().join("ordo.redb");
    let started = Instant::now();
    let store = RedbStore::open(&path, RedbOptions::default()).unwrap();
    for first in (0..jobs).step_by(BATCH as usize) {
        let items = (first..jobs.min(first + BATCH)).map(job).collect();
        store.commit(Batch { items, chunks: Vec::new() }).await.unwrap();
    }
    let (filled_s, filled_rss) = (started.elapsed().as_secs_f64(), memory_mib("VmRSS"));
    drop(store);
    let started = Instant::now();
    let store = RedbStore::open(&path, RedbOptions::default()).unwrap();
    let opened_ms = started.elapsed().as_millis();
    let (started, mut after, mut found) = (Instant::now(), None, 0);
    loop {
        let page = store.due(Timestamp::MAX, after, 10_000).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(*last);
        found += page.len() as u64;
    }
    assert_eq!(found, jobs);
    let report = serde_json::json!({
        "jobs": jobs,
        "filled_s": filled_s,
        "filled_jobs_per_s": (jobs as f64 / filled_s).round(),
        "rss_mib_after_filling": filled_rss,
        "rss_mib_at_most": memory_mib("VmHWM"),
        "file_mib": store.stats().await.unwrap().bytes_on_disk / 1024 / 1024,
        "reopened_ms": opened_ms as u64,
        "all_alarms_read_ms": started.elapsed().as_millis() as u64,
        "rss_mib_after_reading": memory_mib("VmRSS"),
    });
    println!("{report}");
}
