//! How much of redb's speed is left once it is an Ordo store: the same bytes through [`RedbStore`] and through redb.
//!
//! `cargo run --release -p ordo-store-redb --example raw_vs_store [folder]` prints JSON. An item is an event (150 B),
//! a snapshot (300 B), an alarm and two rows; `create` makes new entities, `fire` changes known ones.

#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]
#![allow(clippy::unwrap_used, reason = "an example, not the product")]

use std::path::Path;
use std::time::Instant;

use ordo_model::{EntityId, JobId, Timestamp};
use ordo_store::{Alarm, Batch, CommitOutcome, Disposition, EventActor, Item, NewEvent, RowWrite, Store, View};
use ordo_store_redb::{RedbOptions, RedbStore};
use redb::{Database, TableDefinition};
use uuid::Uuid;

const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
const STREAMS: TableDefinition<'_, &[u8; 25], u64> = TableDefinition::new("streams");
const SNAPSHOTS: TableDefinition<'_, &[u8; 17], &[u8]> = TableDefinition::new("snapshots");
const ALARMS: TableDefinition<'_, &[u8; 24], &[u8; 2]> = TableDefinition::new("alarms");
const RUNS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("runs");
const RUNS_BY_JOB: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("runs_by_job");
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

/// The same entities and times for both: a splitmix64 of the item's number.
fn mix(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Ids grow with time in their first half and are chance in their second, as version 7 has it.
fn job(number: usize) -> EntityId {
    JobId(Uuid::from_u64_pair(1_763_000_000_000 + number as u64 / 100, mix(number as u64))).into()
}

fn due_at(number: usize, version: u64) -> Timestamp {
    let ms = 1_763_000_000_000 + (mix(number as u64 ^ version << 40) % 3_600_000) as i64;
    Timestamp::from_ms(ms).unwrap()
}

fn item(number: usize, expected: u64) -> Item {
    let entity = job(number);
    let row = RowWrite::put;
    let run = Uuid::from_u64_pair(1_763_000_000_000 + (number as u64 / 100) + (expected << 32), mix(number as u64));
    let by_job = [entity.id.as_bytes().as_slice(), run.as_bytes()].concat();
    Item {
        entity,
        expected,
        events: vec![NewEvent {
            at: due_at(number, 0),
            kind: "run_fired".into(),
            data: vec![b'e'; 107],
            actor: EventActor::Ordo,
        }],
        disposition: Disposition::Keep {
            snapshot: vec![b's'; 283],
            alarm: Some(Alarm { at: due_at(number, expected + 1), rank: 5 }),
        },
        rows: vec![row(View::Runs, run.as_bytes().to_vec(), vec![b'r'; 100]), row(View::RunsByJob, by_job, Vec::new())],
        dedup: Vec::new(),
        quotas: Vec::new(),
        freed: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    }
}

fn batches(items: usize, batch: usize, expected: u64) -> Vec<Batch> {
    let of = |start: usize| (start..(start + batch).min(items)).map(|number| item(number, expected)).collect();
    (0..items).step_by(batch).map(|start| Batch { items: of(start), chunks: Vec::new() }).collect()
}

/// Time on the clock and on the processor (0 where /proc does not say): the latter is hardly disturbed by neighbours.
struct Watch {
    started: Instant,
    cpu_ns: f64,
}

#[derive(Clone, Copy)]
struct Took {
    seconds: f64,
    cpu_seconds: f64,
}

impl Watch {
    fn start() -> Watch {
        Watch { started: Instant::now(), cpu_ns: Watch::cpu_ns() }
    }

    fn stop(&self) -> Took {
        let cpu_seconds = (Watch::cpu_ns() - self.cpu_ns) / 1e9;
        Took { seconds: self.started.elapsed().as_secs_f64(), cpu_seconds }
    }

    fn cpu_ns() -> f64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0)
    }
}

fn through_store(runtime: &tokio::runtime::Runtime, store: &RedbStore, batches: Vec<Batch>) -> Took {
    let watch = Watch::start();
    for batch in batches {
        let outcomes = runtime.block_on(store.commit(batch)).unwrap();
        assert!(outcomes.iter().all(|outcome| matches!(outcome, CommitOutcome::Committed { .. })));
    }
    watch.stop()
}

struct Written {
    stream: [u8; 25],
    event: Vec<u8>,
    snapshot: Vec<u8>,
    old_alarm: Option<[u8; 24]>,
    alarm: [u8; 24],
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

fn written(number: usize, item: Item) -> Written {
    let (id, version) = (item.entity.id, item.expected + 1);
    let alarm = |version| {
        let mut key = [0; 24];
        key[..8].copy_from_slice(&due_at(number, version).ms().to_be_bytes());
        key[8..].copy_from_slice(id.as_bytes());
        key
    };
    let mut stream = [1; 25];
    stream[1..17].copy_from_slice(id.as_bytes());
    stream[17..].copy_from_slice(&version.to_be_bytes());
    Written {
        stream,
        event: vec![b'e'; 150],
        snapshot: vec![b's'; 300],
        old_alarm: (item.expected > 0).then(|| alarm(item.expected)),
        alarm: alarm(version),
        rows: item.rows.into_iter().map(|row| (row.key, row.value.unwrap())).collect(),
    }
}

fn through_redb(database: &Database, batches: &[Vec<Written>]) -> Took {
    let mut position = 0;
    let watch = Watch::start();
    for batch in batches {
        let mut transaction = database.begin_write().unwrap();
        transaction.set_quick_repair(true);
        {
            let mut events = transaction.open_table(EVENTS).unwrap();
            let mut streams = transaction.open_table(STREAMS).unwrap();
            let mut snapshots = transaction.open_table(SNAPSHOTS).unwrap();
            let mut alarms = transaction.open_table(ALARMS).unwrap();
            let mut runs = transaction.open_table(RUNS).unwrap();
            let mut by_job = transaction.open_table(RUNS_BY_JOB).unwrap();
            let mut meta = transaction.open_table(META).unwrap();
            position = meta.get_mut("position").unwrap().map_or(position, |last| last.value());
            for item in batch {
                position += 1;
                let entity: &[u8; 17] = item.stream.first_chunk().unwrap();
                events.insert(position, item.event.as_slice()).unwrap();
                streams.insert(&item.stream, position).unwrap();
                snapshots.insert(entity, item.snapshot.as_slice()).unwrap();
                if let Some(old) = &item.old_alarm {
                    alarms.remove(old).unwrap();
                }
                alarms.insert(&item.alarm, &[1, 5]).unwrap();
                runs.insert(item.rows[0].0.as_slice(), item.rows[0].1.as_slice()).unwrap();
                by_job.insert(item.rows[1].0.as_slice(), item.rows[1].1.as_slice()).unwrap();
            }
            meta.insert("position", position).unwrap();
        }
        transaction.commit().unwrap();
    }
    watch.stop()
}

fn raw_batches(items: usize, batch: usize, expected: u64) -> Vec<Vec<Written>> {
    let of = |start: usize| (start..(start + batch).min(items)).map(|n| written(n, item(n, expected))).collect();
    (0..items).step_by(batch).map(of).collect()
}

fn measure(folder: &Path, batch: usize) -> serde_json::Value {
    let items = if batch == 1 { 2_000 } else { 40_000.max(batch * 20) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let place = tempfile::tempdir_in(folder).unwrap();
    let store = RedbStore::open_file_inline(place.path().join("store.redb"), RedbOptions::default()).unwrap();
    let mut builder = Database::builder();
    builder.set_cache_size(RedbOptions::default().cache_bytes);
    let raw = builder.create(place.path().join("raw.redb")).unwrap();
    let per_second = |seconds: f64| (items as f64 / seconds).round();
    let mut line = serde_json::json!({ "batch": batch, "items": items });
    for (name, expected) in [("create", 0), ("fire", 1)] {
        let raw = through_redb(&raw, &raw_batches(items, batch, expected));
        let store = through_store(&runtime, &store, batches(items, batch, expected));
        let percent = |ratio: f64| (ratio * 100.0).round() / 100.0;
        line[name] = serde_json::json!({
            "raw_items_per_s": per_second(raw.seconds),
            "store_items_per_s": per_second(store.seconds),
            "ratio": percent(raw.seconds / store.seconds),
            "cpu_ratio": percent(raw.cpu_seconds / store.cpu_seconds),
        });
    }
    line
}

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_else(|| std::env::temp_dir().display().to_string());
    for batch in [1, 64, 256, 1_024, 4_096] {
        println!("{}", measure(Path::new(&folder), batch));
    }
}
