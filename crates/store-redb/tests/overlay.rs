//! Reads through the overlay are reads of a plain redb, whatever redb has already taken and while it takes it; memory
//! and journal are bounded; a redb that fails loses nothing that was acknowledged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::time::Duration;

use ordo_model::Timestamp;
use ordo_store::conformance::given::{item, job};
use ordo_store::{
    Alarm, Batch, Chunk, CommitOutcome, Dedup, Direction, Disposition, Fault, Item, KeyRange, Position, RowWrite,
    Store, Transfer, View,
};
use ordo_store_redb::simdisk::{DiskRng, FailurePlan, Op, SimDisk, SimFile};
use ordo_store_redb::{Disk, RedbOptions, RedbStore, StoreFile};
use redb::StorageBackend;
use tokio::sync::watch;
use uuid::Uuid;

mod common;
use common::{JOBS, StoreWorkload, dump, now, open_small, seeds};

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms as i64).unwrap()
}

/// A batch of the workload, or one that may be refused: by its version, by a dedup key that may have expired.
fn batch(workload: &mut StoreWorkload, rng: &mut DiskRng) -> Batch {
    let mut batch = workload.batch();
    if rng.chance(400) {
        let (key, ms) = (format!("key-{}", rng.below(6)).into_bytes(), rng.below(3_000));
        let dedup = Dedup { key, at: at(ms), until: at(ms + rng.below(500)), value: vec![rng.next() as u8] };
        let guarded = item(job(1_000 + u128::from(rng.below(5))), rng.below(3));
        batch.items.push(Item { dedup: vec![dedup], ..guarded });
    }
    batch
}

fn random_range(rng: &mut DiskRng) -> KeyRange {
    let bound = |rng: &mut DiskRng| [rng.below(JOBS).to_be_bytes(), rng.below(9).to_be_bytes()].concat();
    let from = if rng.chance(300) { Vec::new() } else { bound(rng) };
    KeyRange { from, to: rng.chance(700).then(|| bound(rng)) }
}

/// Asks both stores the same, at random; their answers must be the same.
fn expect_same_reads(plain: &RedbStore, layered: &RedbStore, rng: &mut DiskRng, context: &str) {
    macro_rules! same {
        ($store:ident => $read:expr) => {{
            let [one, other] = [plain, layered].map(|$store| now($read).unwrap());
            assert_eq!(other, one, "{context}: {}", stringify!($read));
            one
        }};
    }
    for store in [plain, layered] {
        let [counted, estimated] = [now(store.stats()).unwrap(), now(store.estimate()).unwrap()]
            .map(|stats| (stats.events, stats.entities, stats.alarms));
        assert_eq!(estimated, counted, "{context}: what is counted while it is written");
    }
    for _ in 0..12 {
        let (limit, number) = (rng.below(12) as usize, rng.below(JOBS));
        let (entity, other) = (common::job(number), common::job(rng.below(JOBS)));
        let order = if rng.chance(500) { Direction::Ascending } else { Direction::Descending };
        let view = if rng.chance(700) { View::Runs } else { View::JobsByState };
        let (range, more) = (random_range(rng), random_range(rng));
        same!(store => store.load(&[entity, other]));
        same!(store => store.history(entity, rng_version(number), limit));
        let after = Position(rng.below(60).to_string());
        same!(store => store.events(&after, limit));
        let until = at(rng.below(12_000));
        let due = same!(store => store.due(until, None, limit));
        same!(store => store.due(until, due.last().copied(), limit));
        same!(store => store.entities(rng_after(entity, number), limit));
        same!(store => store.streams(rng_after(entity, number), limit));
        same!(store => store.rows(view, &range, order, limit));
        let keys: Vec<Vec<u8>> = vec![range.from.clone(), more.from.clone()];
        same!(store => store.rows_by_key(view, &keys));
        same!(store => store.row(view, &keys[0]));
        let ranges = [range.clone(), more.clone()];
        same!(store => store.rows_of_ranges(view, &ranges, order, limit));
        let chunk_owner = Uuid::from_u64_pair(7, number);
        same!(store => store.chunks(chunk_owner, number % 7, limit));
        same!(store => store.all_chunks(Some((chunk_owner, 3)), limit));
        let (key, ms) = (format!("key-{}", number % 6).into_bytes(), rng.below(3_000));
        same!(store => store.dedup(&key, at(ms)));
        same!(store => store.all_keys(Some(&key), limit));
    }
    let counted = |store: &RedbStore| {
        let stats = now(store.stats()).unwrap();
        (stats.events, stats.entities, stats.alarms, stats.chunks, stats.rows)
    };
    assert_eq!(counted(layered), counted(plain), "{context}");
}

fn rng_version(number: u64) -> u64 {
    number % 4
}

fn rng_after(entity: ordo_model::EntityId, number: u64) -> Option<ordo_model::EntityId> {
    (!number.is_multiple_of(3)).then_some(entity)
}

#[test]
fn reads_through_the_overlay_are_reads_of_plain_redb() {
    for seed in seeds(1, 60) {
        let mut rng = DiskRng::new(seed);
        let mut workload = StoreWorkload::new(seed);
        let plain = RedbStore::in_memory().unwrap();
        let layered = open_small(SimDisk::new(seed), seed).unwrap();
        for step in 0..25 {
            let context = format!("seed {seed}, step {step}");
            let given = batch(&mut workload, &mut rng);
            let [one, other] = [&plain, &layered].map(|store| now(store.commit(given.clone())).unwrap());
            assert_eq!(other, one, "{context}");
            if rng.chance(150) {
                let (until, limit) = (at(rng.below(3_000)), rng.below(5) as usize);
                let [one, other] = [&plain, &layered].map(|store| now(store.forget_dedup(until, limit)).unwrap());
                assert_eq!(other, one, "{context}");
            }
            expect_same_reads(&plain, &layered, &mut rng, &context);
        }
        assert_eq!(dump(&layered).unwrap(), dump(&plain).unwrap(), "seed {seed}");
        assert_eq!(layered.verify().unwrap(), plain.verify().unwrap(), "seed {seed}");
    }
}

/// A pair of jobs that every batch moves together, with a row and an alarm that come and go.
fn pair(version: u64) -> Batch {
    let moved = |number: u128| {
        let alarm = version.is_multiple_of(2).then(|| Alarm { at: at(version), rank: 0 });
        let put = |version: u64, value| RowWrite {
            view: View::Runs,
            key: run_key(number, version),
            value,
            cells: Vec::new(),
        };
        Item {
            disposition: Disposition::Keep { snapshot: version.to_be_bytes().to_vec(), alarm },
            rows: vec![put(version + 1, Some(vec![b'r'; 200])), put(version, None)],
            ..item(job(number), version)
        }
    };
    Batch { items: vec![moved(1), moved(2)], chunks: Vec::new() }
}

fn run_key(number: u128, version: u64) -> Vec<u8> {
    [(number as u64).to_be_bytes(), version.to_be_bytes()].concat()
}

/// Looks at the pair, which was at `acknowledged` before this began.
async fn look_at_pair(store: &RedbStore, acknowledged: u64) {
    let versions: Vec<u64> =
        store.load(&[job(1), job(2)]).await.unwrap().into_iter().map(|found| found.map_or(0, |s| s.version)).collect();
    assert_eq!(versions[0], versions[1], "half a batch");
    assert!(versions[0] >= acknowledged, "{acknowledged} is missing");
    let all = KeyRange::all();
    for order in [Direction::Ascending, Direction::Descending] {
        let rows = store.rows(View::Runs, &all, order, 10).await.unwrap();
        let keys: Vec<_> = rows.iter().map(|row| row.key[8..].to_vec()).collect();
        assert!(acknowledged == 0 || (keys.len() == 2 && keys[0] == keys[1]), "half a batch: {keys:?}");
    }
    let due = store.due(Timestamp::MAX, None, 10).await.unwrap();
    assert!(due.is_empty() || (due.len() == 2 && due[0].at == due[1].at), "half a batch: {due:?}");
    let after = Position((2 * acknowledged.saturating_sub(5)).to_string());
    let events = store.events(&after, 1_000).await.unwrap();
    assert!(events.len() % 2 == 0 && events.len() as u64 >= 2 * acknowledged.min(5), "{} events", events.len());
    let history = store.history(job(2), acknowledged.max(1), 1).await.unwrap();
    assert!(acknowledged == 0 || history.events.len() == 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_whole_batches_and_all_that_is_acknowledged_while_redb_takes_them() {
    for (overlay_bytes, journal_bytes) in [(8, 1 << 20), (64 << 10, 256 << 10), (1 << 20, 32 << 10)] {
        let options = RedbOptions { overlay_bytes, journal_bytes, ..RedbOptions::default() };
        let store = Arc::new(RedbStore::open_on(SimDisk::new(1), options).unwrap());
        let acknowledged = Arc::new(AtomicU64::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (store, acknowledged, is_over) =
                    (Arc::clone(&store), Arc::clone(&acknowledged), Arc::clone(&is_over));
                tokio::spawn(async move {
                    while !is_over.load(Ordering::Acquire) {
                        look_at_pair(&store, acknowledged.load(Ordering::Acquire)).await;
                        tokio::task::yield_now().await;
                    }
                })
            })
            .collect();
        for version in 0..600 {
            let outcomes = store.commit(pair(version)).await.unwrap();
            assert!(matches!(outcomes[1], CommitOutcome::Committed { .. }));
            acknowledged.store(version + 1, Ordering::Release);
        }
        is_over.store(true, Ordering::Release);
        for reader in readers {
            reader.await.unwrap();
        }
        look_at_pair(&store, 600).await;
    }
}

/// A disk whose redb file can be held up or made to fail, while the journal goes on.
#[derive(Debug, Clone)]
struct SlowRedb {
    disk: SimDisk,
    how: Arc<(Mutex<How>, Condvar)>,
    progress: watch::Sender<StoreProgress>,
}

/// How far the store and its disk have come.
#[derive(Debug, Clone, Copy, Default)]
struct StoreProgress {
    /// The store looks at its clock when a commit begins to wait for redb, and when it need not any more.
    clock_looks: u64,
    /// redb stands still at its file.
    is_redb_held: bool,
}

impl StoreProgress {
    /// A commit waits for redb, and will until redb may go on.
    fn is_stuck(&self) -> bool {
        self.is_redb_held && !self.clock_looks.is_multiple_of(2)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Well,
    Waiting,
    Failing,
    Panicking,
}

impl SlowRedb {
    fn new() -> SlowRedb {
        SlowRedb::telling(watch::Sender::default())
    }

    fn telling(progress: watch::Sender<StoreProgress>) -> SlowRedb {
        SlowRedb { disk: SimDisk::new(1), how: Arc::new((Mutex::new(How::Well), Condvar::new())), progress }
    }

    fn set(&self, how: How) {
        *self.how.0.lock().unwrap() = how;
        self.how.1.notify_all();
    }

    fn pass(&self, file: StoreFile) -> io::Result<()> {
        if file != StoreFile::Data {
            return Ok(());
        }
        let how = self.how.0.lock().unwrap();
        self.progress.send_modify(|progress| progress.is_redb_held = *how == How::Waiting);
        let how = *self.how.1.wait_while(how, |how| *how == How::Waiting).unwrap();
        match how {
            How::Well | How::Waiting => Ok(()),
            How::Failing => Err(io::ErrorKind::StorageFull.into()),
            How::Panicking => panic!("page 7 is odd"),
        }
    }
}

impl Disk for SlowRedb {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(SlowFile { slow: self.clone(), inner: self.disk.file(file), file }))
    }
}

#[derive(Debug)]
struct SlowFile {
    slow: SlowRedb,
    inner: SimFile,
    file: StoreFile,
}

impl StorageBackend for SlowFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.slow.pass(self.file)?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.slow.pass(self.file)?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.slow.pass(self.file)?;
        self.inner.write(offset, data)
    }
}

fn large(seq: u64) -> Batch {
    Batch { items: Vec::new(), chunks: vec![Chunk { owner: Uuid::nil(), seq, bytes: vec![7; 10_000] }] }
}

/// A store has a function for its clock: each test that waits for it has one of its own.
static FULL_OVERLAY: LazyLock<watch::Sender<StoreProgress>> = LazyLock::new(watch::Sender::default);
static FULL_JOURNAL: LazyLock<watch::Sender<StoreProgress>> = LazyLock::new(watch::Sender::default);

fn looked_at(progress: &watch::Sender<StoreProgress>) -> u64 {
    progress.send_modify(|progress| progress.clock_looks += 1);
    0
}

/// How many commits are acknowledged before one has to wait for redb.
async fn acknowledged_while_redb_waits(options: RedbOptions, progress: &watch::Sender<StoreProgress>) -> u64 {
    let disk = SlowRedb::telling(progress.clone());
    let store = Arc::new(RedbStore::open_on(disk.clone(), options).unwrap());
    store.commit(large(0)).await.unwrap();
    disk.set(How::Waiting);
    let committed = Arc::new(AtomicU64::new(1));
    let writing = tokio::spawn({
        let (store, committed) = (Arc::clone(&store), Arc::clone(&committed));
        async move {
            for seq in 1..200 {
                store.commit(large(seq)).await.unwrap();
                committed.store(seq + 1, Ordering::Release);
            }
        }
    });
    progress.subscribe().wait_for(StoreProgress::is_stuck).await.unwrap();
    let seen = committed.load(Ordering::Acquire);
    // Readers do not wait.
    let found = store.chunks(Uuid::nil(), 0, 1_000).await.unwrap().len() as u64;
    assert!(found >= seen && !writing.is_finished());
    disk.set(How::Well);
    writing.await.unwrap();
    assert_eq!(store.chunks(Uuid::nil(), 0, 1_000).await.unwrap().len(), 200);
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_waits_for_redb_when_the_overlay_is_full() {
    let micros = || looked_at(&FULL_OVERLAY);
    let options = RedbOptions { overlay_bytes: 200_000, journal_bytes: 64 << 20, micros, ..RedbOptions::default() };
    let seen = acknowledged_while_redb_waits(options, &FULL_OVERLAY).await;
    // redb takes some before it meets its file; then an overlay is on its way there, and a full one behind it.
    assert!((20..=150).contains(&seen), "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_waits_for_redb_when_the_journal_is_full() {
    let micros = || looked_at(&FULL_JOURNAL);
    let options = RedbOptions { overlay_bytes: 64 << 20, journal_bytes: 400_000, micros, ..RedbOptions::default() };
    let seen = acknowledged_while_redb_waits(options, &FULL_JOURNAL).await;
    assert!((20..=60).contains(&seen), "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redb_follows_by_itself_when_nobody_commits_any_more() {
    let options = RedbOptions { overlay_bytes: 4 << 20, journal_bytes: 4 << 20, ..RedbOptions::default() };
    let progress = watch::Sender::default();
    let disk = SlowRedb::telling(progress.clone());
    let store = RedbStore::open_on(disk.clone(), options).unwrap();
    store.commit(large(0)).await.unwrap();
    let before = store.stats().await.unwrap().journal.unwrap().checkpoints;
    disk.set(How::Waiting);
    // Worth a transaction, and far from what is handed over at once.
    for seq in 1..60 {
        store.commit(large(seq)).await.unwrap();
    }
    let mut seen = progress.subscribe();
    seen.wait_for(|progress| progress.is_redb_held).await.unwrap();
    assert_eq!(store.chunks(Uuid::nil(), 0, 1_000).await.unwrap().len(), 60, "what is on its way is read");
    disk.set(How::Well);
    while store.stats().await.unwrap().journal.unwrap().checkpoints == before {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let crashed = RedbStore::open_inline_on(disk.disk.crash(&mut DiskRng::new(1)), options).unwrap();
    let replayed = now(crashed.stats()).unwrap().journal.unwrap().recovered_records;
    assert!(replayed < 30, "redb holds most of it durably, and {replayed} of 60 records are replayed");
    assert_eq!(now(crashed.stats()).unwrap().chunks, 60);
}

/// redb fails behind commits that were acknowledged: they are there when the disk is well, and nobody reads less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_before_redb_failed_is_there_when_it_is_well() {
    let options = RedbOptions { overlay_bytes: 400_000, journal_bytes: 400_000, ..RedbOptions::default() };
    let disk = SlowRedb::new();
    let store = RedbStore::open_on(disk.clone(), options).unwrap();
    let (mut acknowledged, mut refused) = (0, 0);
    for round in 0..6 {
        disk.set(How::Failing);
        for _ in 0..60 {
            match store.commit(large(acknowledged)).await {
                Ok(_) => acknowledged += 1,
                Err(Fault::Unavailable { .. }) => refused += 1,
                Err(other) => panic!("{other:?}"),
            }
            match store.chunks(Uuid::nil(), 0, 10_000).await {
                Ok(found) => assert!(found.len() as u64 >= acknowledged, "round {round}"),
                Err(fault) => assert!(matches!(fault, Fault::Unavailable { .. }), "{fault:?}"),
            }
            let crashed = RedbStore::open_inline_on(disk.disk.crash(&mut DiskRng::new(acknowledged)), options).unwrap();
            assert!(now(crashed.stats()).unwrap().chunks >= acknowledged, "round {round}: lost in a crash");
        }
        disk.set(How::Well);
        store.commit(large(acknowledged)).await.unwrap();
        acknowledged += 1;
        assert_eq!(store.chunks(Uuid::nil(), 0, 10_000).await.unwrap().len() as u64, acknowledged);
    }
    assert!(refused > 0, "redb never failed");
    assert!(store.verify().unwrap().is_sound());
    drop(store);
    let again = RedbStore::open_inline_on(disk.disk.clone(), options).unwrap();
    assert_eq!(now(again.stats()).unwrap().chunks, acknowledged);
    assert_eq!(now(again.stats()).unwrap().journal.unwrap().recovered_records, 0);
}

/// Says so, whatever is asked to write; what was acknowledged is read all the same.
async fn expect_damaged(store: &RedbStore, acknowledged: u64) {
    let damage = store.damage().expect("a panic of redb is damage");
    assert!(damage.contains("page 7 is odd"), "{damage}");
    let is_it = |fault: &Fault| matches!(fault, Fault::Damaged { what } if *what == damage);
    let refused = store.commit(large(acknowledged)).await.unwrap_err();
    assert!(is_it(&refused), "{refused:?}");
    let refused = store.try_write().await.unwrap_err();
    assert!(is_it(&refused), "{refused:?}");
    let refused = store.forget_dedup(Timestamp::MIN, 1).await.unwrap_err();
    assert!(is_it(&refused), "{refused:?}");
    let refused = store.clear_derived().await.unwrap_err();
    assert!(is_it(&refused), "{refused:?}");
    store.ping().await.unwrap();
    assert_eq!(store.chunks(Uuid::nil(), 0, 10_000).await.unwrap().len() as u64, acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_redb_behind_the_journal_is_damage_and_all_that_was_acknowledged_is_read_on() {
    let options = RedbOptions { overlay_bytes: 400_000, journal_bytes: 400_000, ..RedbOptions::default() };
    let disk = SlowRedb::new();
    let store = RedbStore::open_on(disk.clone(), options).unwrap();
    for seq in 0..3 {
        store.commit(large(seq)).await.unwrap();
    }
    disk.set(How::Panicking);
    let mut acknowledged = 3;
    let fault = loop {
        match store.commit(large(acknowledged)).await {
            Ok(_) => acknowledged += 1,
            Err(fault) => break fault,
        }
        assert!(acknowledged < 200, "redb is never met");
    };
    assert!(matches!(fault, Fault::Damaged { .. }), "{fault:?}");
    expect_damaged(&store, acknowledged).await;
    // It is not forgotten when the disk is well again,
    disk.set(How::Well);
    expect_damaged(&store, acknowledged).await;
    drop(store);
    // but the file is looked at anew by whoever opens it: the journal has kept everything.
    let again = RedbStore::open_inline_on(disk.disk.clone(), options).unwrap();
    assert_eq!(now(again.stats()).unwrap().chunks, acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_waits_for_redb_hears_of_its_panic() {
    let disk = SlowRedb::new();
    let store = RedbStore::open_on(disk.clone(), RedbOptions::default()).unwrap();
    store.commit(large(0)).await.unwrap();
    disk.set(How::Panicking);
    let fault = store.try_write().await.unwrap_err();
    assert!(matches!(fault, Fault::Damaged { .. }), "{fault:?}");
    expect_damaged(&store, 1).await;
}

#[test]
fn a_panic_of_redb_without_a_thread_is_damage_as_well() {
    let options = RedbOptions { overlay_bytes: 40_000, journal_bytes: 400_000, ..RedbOptions::default() };
    let disk = SlowRedb::new();
    let store = RedbStore::open_inline_on(disk.clone(), options).unwrap();
    now(store.commit(large(0))).unwrap();
    disk.set(How::Panicking);
    assert!(matches!(now(store.try_write()), Err(Fault::Damaged { .. })));
    now(expect_damaged(&store, 1));
}

/// The journal alone would take a commit; redb would not follow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_asks_whether_a_commit_would_succeed_hears_of_redb_as_well() {
    let disk = SlowRedb::new();
    let store = RedbStore::open_on(disk.clone(), RedbOptions::default()).unwrap();
    store.try_write().await.unwrap();
    for seq in 0..3 {
        disk.set(How::Well);
        store.try_write().await.unwrap();
        disk.set(How::Failing);
        store.commit(large(seq)).await.unwrap();
        let fault = store.try_write().await.unwrap_err();
        assert!(matches!(fault, Fault::Unavailable { .. }), "{fault:?}");
    }
    disk.set(How::Well);
    store.try_write().await.unwrap();
    store.try_write().await.unwrap();
    assert_eq!(store.chunks(Uuid::nil(), 0, 10).await.unwrap().len(), 3);
    assert_eq!(store.damage(), None);
}

/// A disk that counts how often redb's file is opened.
#[derive(Debug, Clone)]
struct CountedDisk {
    disk: SimDisk,
    opened: Arc<AtomicU64>,
}

impl Disk for CountedDisk {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        self.opened.fetch_add(u64::from(file == StoreFile::Data), Ordering::SeqCst);
        self.disk.open(file)
    }
}

/// The journal has room, redb's file has none: the store is opened anew, and redb fails again as soon as it is tried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_stays_full_is_not_tried_again_for_every_reader() {
    let options = RedbOptions { overlay_bytes: 4 << 20, journal_bytes: 4 << 20, ..RedbOptions::default() };
    let disk = CountedDisk { disk: SimDisk::new(1), opened: Arc::default() };
    let store = RedbStore::open_on(disk.clone(), options).unwrap();
    store.commit(large(0)).await.unwrap();
    disk.disk.fail(FailurePlan { op: Op::SetLen, after: 0, kind: io::ErrorKind::StorageFull });
    let chunk = |seq| Chunk { owner: Uuid::nil(), seq, bytes: vec![7; 100 * 1024] };
    let mut acknowledged = 1;
    for seq in 1..20 {
        // On a slow machine redb may have failed by now.
        acknowledged += usize::from(store.commit(Batch { items: Vec::new(), chunks: vec![chunk(seq)] }).await.is_ok());
    }
    let read = async || drop(store.chunks(Uuid::nil(), 0, 1).await);
    while disk.opened.load(Ordering::SeqCst) < 2 {
        read().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (began, before) = (tokio::time::Instant::now(), disk.opened.load(Ordering::SeqCst));
    for _ in 0..200 {
        read().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let (opened, seconds) = (disk.opened.load(Ordering::SeqCst) - before, began.elapsed().as_secs());
    assert!(opened <= seconds + 2, "opened {opened} times in {seconds} seconds");
    disk.disk.heal();
    assert!(store.chunks(Uuid::nil(), 0, 1_000).await.unwrap().len() >= acknowledged);
    store.try_write().await.unwrap();
}
