//! What the tests of crashes and faults share: an Ordo-shaped workload and a dump of everything a store holds.
//!
//! Invariant: a workload follows from its seed, and no item of it is refused, so that after n batches there is one
//! right content.

#![allow(unreachable_pub, reason = "a module of several test programs")]
#![allow(dead_code, reason = "each test uses its part")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{
    Alarm, Batch, Chunk, CommitOutcome, Dedup, Direction, Disposition, DueAlarm, EventActor, Item, KeyRange, NewEvent,
    Position, Row, RowWrite, Snapshot, Store, StoredEvent, Transfer, TransferredKey, Trim, View,
};
use ordo_store_redb::simdisk::DiskRng;
use ordo_store_redb::{Disk, RedbOptions, RedbStore};
use uuid::Uuid;

/// An inline store never waits: its futures are ready at the first look.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("an inline store waits"),
    }
}

/// So many seeds one after the other; the first one is that of `ORDO_SEED`, if it is given.
pub fn seeds(first: u64, count: u64) -> std::ops::Range<u64> {
    let first = ordo_model::testing::seed_or(first);
    first..first + count
}

/// Journals and overlays so small that a workload meets checkpoints, new segments and transactions of redb that are not
/// durable, some at every batch, some hardly ever.
pub fn small_journal(seed: u64) -> RedbOptions {
    const JOURNAL: [usize; 6] = [8 * 1024, 16 * 1024, 32 * 1024, 64 * 1024, 128 * 1024, 1024 * 1024];
    const OVERLAY: [usize; 5] = [8, 16 * 1024, 64 * 1024, 256 * 1024, 1024 * 1024];
    let (journal_bytes, overlay_bytes) = (JOURNAL[(seed % 6) as usize], OVERLAY[(seed / 6 % 5) as usize]);
    RedbOptions { journal_bytes, overlay_bytes, ..RedbOptions::default() }
}

/// A store on this disk with a small journal; by seed, redb takes what is committed at once, or later, as in a daemon: then several
/// overlays wait for it, and a recovery leaves some of them where they are.
pub fn open_small(disk: impl Disk, seed: u64) -> Result<RedbStore, ordo_store::Fault> {
    match DiskRng::new(!seed).below(4) {
        0 => RedbStore::open_inline_on(disk, small_journal(seed)),
        1 => RedbStore::open_following_on(disk, small_journal(seed), 0),
        2 => RedbStore::open_following_on(disk, small_journal(seed), 2),
        _ => RedbStore::open_following_on(disk, small_journal(seed), 5),
    }
}

/// Everything a store holds.
#[derive(Debug, PartialEq, Eq, Clone)]
pub struct Dump {
    events: Vec<StoredEvent>,
    entities: Vec<(EntityId, Snapshot)>,
    alarms: Vec<DueAlarm>,
    rows: Vec<Vec<Row>>,
    chunks: Vec<Chunk>,
    dedup: Vec<TransferredKey>,
}

const ALL: usize = 1_000_000;

pub fn dump(store: &RedbStore) -> Result<Dump, ordo_store::Fault> {
    let mut rows = Vec::new();
    for view in View::ALL {
        rows.push(now(store.rows(view, &KeyRange::all(), Direction::Ascending, ALL))?);
    }
    Ok(Dump {
        events: now(store.events(&Position::default(), ALL))?,
        entities: now(store.entities(None, ALL))?,
        alarms: now(store.due(Timestamp::MAX, None, ALL))?,
        rows,
        chunks: now(store.all_chunks(None, ALL))?,
        dedup: now(store.all_keys(None, ALL))?,
    })
}

pub const JOBS: u64 = 40;

/// What the workload knows of the jobs it made.
pub struct StoreWorkload {
    rng: DiskRng,
    jobs: Vec<KnownEntity>,
}

#[derive(Clone, Default)]
struct KnownEntity {
    version: u64,
}

impl StoreWorkload {
    pub fn new(seed: u64) -> StoreWorkload {
        StoreWorkload { rng: DiskRng::new(seed), jobs: vec![KnownEntity::default(); JOBS as usize] }
    }

    /// Some changes of some jobs, some log text: never refused.
    pub fn batch(&mut self) -> Batch {
        let items = (0..1 + self.rng.below(12)).map(|_| self.item()).collect();
        let chunks = (0..self.rng.below(3)).map(|_| self.chunk()).collect();
        Batch { items, chunks }
    }

    fn item(&mut self) -> Item {
        let number = self.rng.below(JOBS);
        let expected = self.jobs[number as usize].version;
        match (expected, self.rng.below(20)) {
            (0, _) => self.create(number),
            (_, 0) => self.purge(number, expected),
            (2.., 1..=3) => self.trim(number, expected),
            _ => self.fire(number, expected),
        }
    }

    fn create(&mut self, number: u64) -> Item {
        let mut item = self.fire(number, 0);
        item.dedup = vec![Dedup {
            key: dedup_key(number, self.rng.below(8)),
            at: Timestamp::MAX,
            until: at(1_000 + self.rng.below(1_000)),
            value: number.to_be_bytes().to_vec(),
        }];
        item
    }

    fn fire(&mut self, number: u64, expected: u64) -> Item {
        let events: Vec<NewEvent> = (0..1 + self.rng.below(2)).map(|_| self.event("run_fired")).collect();
        let version = expected + events.len() as u64;
        self.jobs[number as usize].version = version;
        Item {
            entity: job(number),
            expected,
            events,
            disposition: self.keep(),
            rows: self.rows(number, version),
            dedup: Vec::new(),
            quotas: Vec::new(),
            freed: Vec::new(),
            trim: None,
            forget_chunks: Vec::new(),
        }
    }

    fn trim(&mut self, number: u64, expected: u64) -> Item {
        let through = 1 + self.rng.below(expected);
        let mut item = self.fire(number, expected);
        item.trim = Some(Trim { through, checkpoint: self.event("checkpoint") });
        item
    }

    fn purge(&mut self, number: u64, expected: u64) -> Item {
        self.jobs[number as usize].version = 0;
        let gone = RowWrite::delete;
        let rows = (1..=expected).map(|version| gone(View::Runs, row_key(number, version)));
        Item {
            entity: job(number),
            expected,
            events: Vec::new(),
            disposition: Disposition::Purge,
            rows: rows.chain([gone(View::JobsByState, row_key(number, 0))]).collect(),
            dedup: Vec::new(),
            quotas: Vec::new(),
            freed: Vec::new(),
            trim: None,
            forget_chunks: vec![owner(number)],
        }
    }

    fn keep(&mut self) -> Disposition {
        let snapshot = self.bytes(400);
        let alarm =
            self.rng.chance(800).then(|| Alarm { at: at(self.rng.below(10_000)), rank: self.rng.below(10) as u8 });
        Disposition::Keep { snapshot, alarm }
    }

    fn rows(&mut self, number: u64, version: u64) -> Vec<RowWrite> {
        let run = self.bytes(200);
        vec![
            RowWrite::put(View::JobsByState, row_key(number, 0), Vec::new()),
            RowWrite::put(View::Runs, row_key(number, version), run),
        ]
    }

    fn event(&mut self, kind: &str) -> NewEvent {
        let actor = match self.rng.below(3) {
            0 => EventActor::Ordo,
            1 => EventActor::Unknown,
            _ => EventActor::Recorded(vec![b'a'; 1 + self.rng.below(100) as usize].into()),
        };
        NewEvent { at: at(self.rng.below(10_000)), kind: kind.into(), data: self.bytes(200), actor }
    }

    fn chunk(&mut self) -> Chunk {
        Chunk { owner: owner(self.rng.below(JOBS)), seq: self.rng.below(50), bytes: self.bytes(3_000) }
    }

    fn bytes(&mut self, max: u64) -> Vec<u8> {
        let (len, byte) = (self.rng.below(max) as usize, self.rng.next() as u8);
        vec![byte; len]
    }
}

/// Commits a batch of a workload, none of whose items may be refused.
pub fn commit(store: &RedbStore, batch: Batch) -> Result<(), ordo_store::Fault> {
    let outcomes = now(store.commit(batch))?;
    let refused = outcomes.iter().find(|outcome| !matches!(outcome, CommitOutcome::Committed { .. }));
    assert_eq!(refused, None);
    Ok(())
}

/// What a store holds after each batch of a workload: `[0]` before the first.
pub fn right_contents(seed: u64, batches: usize) -> Vec<Dump> {
    let store = RedbStore::in_memory().unwrap();
    let mut workload = StoreWorkload::new(seed);
    let mut contents = vec![dump(&store).unwrap()];
    for _ in 0..batches {
        commit(&store, workload.batch()).unwrap();
        contents.push(dump(&store).unwrap());
    }
    contents
}

pub fn job(number: u64) -> EntityId {
    EntityId { kind: Kind::Job, id: Uuid::from_u64_pair(number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number) }
}

fn owner(number: u64) -> Uuid {
    Uuid::from_u64_pair(7, number)
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms as i64).unwrap()
}

fn row_key(number: u64, version: u64) -> Vec<u8> {
    [number.to_be_bytes(), version.to_be_bytes()].concat()
}

fn dedup_key(number: u64, which: u64) -> Vec<u8> {
    format!("create-{number}-{which}").into_bytes()
}
