//! How many commits a second: through redb alone, through the journal, and what the disk gives at best.
//!
//! `cargo run --release -p ordo-store-redb --example commits -- [FOLDER] [SECONDS] [JOBS]`
//!
//! With JOBS: commits that each change 64 jobs drawn from so many, and what checkpoints and the file's size come to.
//!
//! "sustained" counts until redb holds everything, too; the longest stall is the longest a single commit took, "waited"
//! how long of that it waited for redb.
//!
//! One caller that waits for each answer; an item is what scheduling one job writes: an event of 500 bytes, its entry in
//! the stream index, a snapshot of 700, an alarm, two rows. "disk" appends as many bytes to a file that is there
//! already and syncs it.

#![allow(clippy::unwrap_used, reason = "a measurement fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{Alarm, Batch, CommitOutcome, Disposition, EventActor, Item, NewEvent, RowWrite, Store, View};
use ordo_store_redb::simdisk::DiskRng;
use ordo_store_redb::{RedbOptions, RedbStore};
use redb::backends::FileBackend;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use uuid::Uuid;

const SIZES: [usize; 5] = [1, 16, 64, 256, 1_024];
const DISK_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Jobs one after the other: ids begin with the time, as version 7 does.
struct Jobs {
    number: u64,
}

impl Jobs {
    fn batch(&mut self, items: usize) -> Batch {
        Batch { items: (0..items).map(|_| self.item()).collect(), chunks: Vec::new() }
    }

    fn item(&mut self) -> Item {
        self.number += 1;
        let id = Uuid::from_u64_pair(self.number / 8, self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let at = Timestamp::from_ms(1_800_000_000_000 + (self.number % 3_600_000) as i64).unwrap();
        let row = |view, value: usize| {
            let key = [self.number.to_be_bytes(), self.number.to_be_bytes(), self.number.to_be_bytes()].concat();
            RowWrite::put(view, key, vec![b'r'; value])
        };
        Item {
            entity: EntityId { kind: Kind::Job, id },
            expected: 0,
            events: vec![NewEvent { at, kind: "job_scheduled".into(), data: vec![b'e'; 500], actor: EventActor::Ordo }],
            disposition: Disposition::Keep { snapshot: vec![b's'; 700], alarm: Some(Alarm { at, rank: 4 }) },
            rows: vec![row(View::JobsByState, 0), row(View::JobsByLabel, 0)],
            dedup: Vec::new(),
            quotas: Vec::new(),
            freed: Vec::new(),
            trim: None,
            forget_chunks: Vec::new(),
        }
    }
}

/// Commits of one way of writing, and how long each took.
struct CommitFigures {
    per_second: f64,
    /// Until everything was in redb.
    sustained: f64,
    latencies: Vec<Duration>,
    /// The longest a commit waited for redb.
    waited_micros: u64,
}

fn measure(seconds: u64, items: usize, mut commit: impl FnMut(), settle: impl FnOnce()) -> CommitFigures {
    let (begin, mut latencies) = (Instant::now(), Vec::new());
    while begin.elapsed() < Duration::from_secs(seconds) {
        let commit_begin = Instant::now();
        commit();
        latencies.push(commit_begin.elapsed());
    }
    let per_second = (latencies.len() * items) as f64 / begin.elapsed().as_secs_f64();
    settle();
    let sustained = (latencies.len() * items) as f64 / begin.elapsed().as_secs_f64();
    latencies.sort();
    CommitFigures { per_second, sustained, latencies, waited_micros: 0 }
}

impl CommitFigures {
    fn show(&self) -> String {
        let at = |per_mille: usize| self.latencies[(self.latencies.len() - 1) * per_mille / 1_000].as_micros();
        format!(
            "{:>9.0}/s acknowledged  {:>9.0}/s sustained  p50 {:>6}  p99 {:>6}  longest {:>7} (waited {:>7}) µs",
            self.per_second,
            self.sustained,
            at(500),
            at(990),
            at(1_000),
            self.waited_micros
        )
    }
}

fn store(seconds: u64, items: usize, store: &RedbStore) -> CommitFigures {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut jobs = Jobs { number: 0 };
    let commit = || {
        let outcomes = runtime.block_on(store.commit(jobs.batch(items))).unwrap();
        assert_eq!(outcomes.len(), items);
    };
    let mut measured = measure(seconds, items, commit, || settle(&runtime, store));
    let journal = runtime.block_on(store.stats()).unwrap().journal.unwrap_or_default();
    measured.waited_micros = journal.checkpoint_micros_max;
    measured
}

/// Waits until redb holds everything durably.
fn settle(runtime: &Runtime, store: &RedbStore) {
    runtime.block_on(store.forget_dedup(Timestamp::MIN, 0)).unwrap();
}

fn micros() -> u64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGIN.elapsed().as_micros() as u64
}

fn options() -> RedbOptions {
    RedbOptions { micros, ..RedbOptions::default() }
}

/// Another event of 64 jobs drawn at random.
fn updates(random: &mut DiskRng, versions: &mut [u64]) -> Batch {
    let change = |_| {
        let number = random.below(versions.len() as u64);
        let expected = versions[number as usize];
        versions[number as usize] += 1;
        Item { expected, ..Jobs { number }.item() }
    };
    Batch { items: (0..64).map(change).collect(), chunks: Vec::new() }
}

fn large(folder: &Path, seconds: u64, jobs: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for journal in [false, true] {
        let path = folder.join(format!("large-{journal}.db"));
        let store = if journal {
            RedbStore::open(&path, options()).unwrap()
        } else {
            let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
            RedbStore::open_inline(FileBackend::new(file).unwrap()).unwrap()
        };
        let mut new = Jobs { number: 0 };
        while new.number < jobs {
            runtime.block_on(store.commit(new.batch(4_096))).unwrap();
        }
        let mib = || std::fs::metadata(&path).unwrap().len() >> 20;
        let (before, mut random, mut versions) = (mib(), DiskRng::new(1), vec![1; jobs as usize]);
        let commit = || {
            let outcomes = runtime.block_on(store.commit(updates(&mut random, &mut versions))).unwrap();
            assert!(outcomes.iter().all(|outcome| matches!(outcome, CommitOutcome::Committed { .. })));
        };
        let measured = measure(seconds, 64, commit, || settle(&runtime, &store));
        let stats = runtime.block_on(store.stats()).unwrap().journal.unwrap_or_default();
        println!("journal {journal:<5} {} {before} → {} MiB", measured.show(), mib());
        println!("  {} checkpoints", stats.checkpoints);
    }
}

fn disk(folder: &Path, seconds: u64, items: usize) -> CommitFigures {
    let file = File::create(folder.join("disk")).unwrap();
    let bytes = vec![7; (items * 1_450).next_multiple_of(4_096)];
    let zeros = vec![0; 1024 * 1024];
    (0..DISK_FILE_BYTES / zeros.len() as u64).for_each(|mib| file.write_all_at(&zeros, mib << 20).unwrap());
    file.sync_all().unwrap();
    let mut offset = 0;
    let append = || {
        offset = if offset + bytes.len() as u64 > DISK_FILE_BYTES { 0 } else { offset };
        file.write_all_at(&bytes, offset).unwrap();
        file.sync_data().unwrap();
        offset += bytes.len() as u64;
    };
    measure(seconds, items, append, || {})
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(TempDir::new, TempDir::new_in).unwrap();
    let seconds = arguments.next().map_or(3, |text| text.parse().unwrap());
    if let Some(jobs) = arguments.next() {
        return large(folder.path(), seconds, jobs.parse().unwrap());
    }
    let path = |name: &str, items: usize| folder.path().join(format!("{name}-{items}.db"));
    for items in SIZES {
        let redb_file = File::options().read(true).write(true).create_new(true).open(path("redb", items)).unwrap();
        let redb = RedbStore::open_inline(FileBackend::new(redb_file).unwrap()).unwrap();
        println!("{items:>5} redb            {}", store(seconds, items, &redb).show());
        drop(redb);
        let inline = RedbStore::open_file_inline(path("inline", items), options()).unwrap();
        println!("{items:>5} journal, inline {}", store(seconds, items, &inline).show());
        drop(inline);
        let journal = RedbStore::open(path("journal", items), options()).unwrap();
        println!("{items:>5} journal         {}", store(seconds, items, &journal).show());
        drop(journal);
        println!("{items:>5} disk            {}", disk(folder.path(), seconds, items).show());
    }
}
