//! Committers, readers, the follower and the thread that syncs, in many orders: shuttle chooses who goes on at every lock, channel and
//! condition, and finds it when nobody can.
//!
//! Invariant: everything here is the store's own code on a simulated disk; only locks, channels and threads are shuttle's. The queue
//! in front of the writer's thread is tokio's and is not part of it: its callers commit themselves.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::sync::{Arc, Mutex};

use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{Batch, CommitOutcome, Disposition, EventActor, Fault, Item, NewEvent, RowWrite, View};
use shuttle::future::block_on;
use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner, thread};
use uuid::Uuid;

use super::Handle;
use crate::apply::Lasting;
use crate::files::open::RedbOptions;
use crate::files::source::BackendSource;
use crate::follower::Following;
use crate::simdisk::{DiskRng, FailurePlan, Op, SimDisk};
use crate::tables::TableId;

/// So many orders are tried in each of two ways; `ORDO_RACES` says another number.
const ORDERS: usize = 300;
/// How many times PCT lets a thread be overtaken at the worst moment.
const DEPTH: usize = 3;
const STACK_BYTES: usize = 1024 * 1024;
/// A record that is synced beside.
const LARGE: usize = 160 * 1024;

fn in_many_orders(story: fn()) {
    let orders = std::env::var("ORDO_RACES").ok().and_then(|orders| orders.parse().ok()).unwrap_or(ORDERS);
    let config = || {
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.failure_persistence = FailurePersistence::Print;
        config
    };
    Runner::new(RandomScheduler::new(orders), config()).run(story);
    Runner::new(PctScheduler::new(DEPTH, orders), config()).run(story);
}

/// The follower has something to do after every commit or two, a checkpoint comes after a few, and commits wait for both.
fn small() -> RedbOptions {
    RedbOptions { cache_bytes: 1024 * 1024, journal_bytes: 64 * 1024, overlay_bytes: 4 * 1024, micros: || 0 }
}

fn open(disk: &SimDisk, options: RedbOptions, following: Following) -> Handle {
    Handle::open(BackendSource::disk(disk.clone()), options, following).unwrap()
}

fn batch(id: u128, bytes: usize) -> Batch {
    let at = Timestamp::from_ms(1_792_800_000_000).unwrap();
    let event = NewEvent { at, kind: "made".into(), data: b"{}".to_vec(), actor: EventActor::Ordo };
    let item = Item {
        entity: EntityId { kind: Kind::Job, id: Uuid::from_u128(id) },
        expected: 0,
        events: vec![event],
        disposition: Disposition::Keep { snapshot: vec![b's'; bytes], alarm: None },
        rows: vec![RowWrite::put(View::Index, row(id), Vec::new())],
        dedup: Vec::new(),
        quotas: Vec::new(),
        freed: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    };
    Batch { items: vec![item], chunks: Vec::new() }
}

fn row(id: u128) -> Vec<u8> {
    id.to_be_bytes().to_vec()
}

/// What was acknowledged, as those who have the answers know it.
#[derive(Clone, Default)]
struct Acknowledged(Arc<Mutex<Vec<u128>>>);

impl Acknowledged {
    fn now(&self) -> Vec<u128> {
        self.0.lock().unwrap().clone()
    }

    fn commit(&self, handle: &Handle, id: u128, bytes: usize) -> Result<(), Fault> {
        let answers = handle.commit(&[batch(id, bytes)])?;
        let [Ok(outcomes)] = answers.as_slice() else { panic!("{answers:?}") };
        assert!(matches!(outcomes[..], [CommitOutcome::Committed { .. }]), "{outcomes:?}");
        self.0.lock().unwrap().push(id);
        Ok(())
    }
}

/// A reader sees all of these.
fn assert_seen(handle: &Handle, ids: &[u128], by: &str) -> Result<(), Fault> {
    let lost = handle.read(|layers| {
        let is_there = |id: u128| layers.get(TableId::Rows(View::Index), &row(id), |_| Ok(()));
        ids.iter().map(|id| Ok((*id, is_there(*id)?))).collect::<Result<Vec<_>, Fault>>()
    })?;
    let lost: Vec<u128> = lost.into_iter().filter_map(|(id, found)| found.is_none().then_some(id)).collect();
    assert!(lost.is_empty(), "{by} does not see {lost:?}, which were acknowledged");
    Ok(())
}

#[test]
fn whoever_reads_sees_everything_acknowledged() {
    in_many_orders(|| {
        let (disk, acknowledged) = (SimDisk::new(1), Acknowledged::default());
        let handle = Arc::new(open(&disk, small(), Following::Beside));
        let committers = [1, 100].map(|first| {
            let (handle, acknowledged) = (handle.clone(), acknowledged.clone());
            thread::spawn(move || (first..first + 4).for_each(|id| acknowledged.commit(&handle, id, 300).unwrap()))
        });
        let reader = {
            let (handle, acknowledged) = (handle.clone(), acknowledged.clone());
            thread::spawn(move || {
                for _ in 0..6 {
                    assert_seen(&handle, &acknowledged.now(), "a reader").unwrap();
                    thread::yield_now();
                }
            })
        };
        committers.into_iter().chain([reader]).for_each(|thread| thread.join().unwrap());
        let left = disk.crash(&mut DiskRng::new(7));
        drop(handle);
        for (disk, how) in [(disk, "closed"), (left, "cut off")] {
            assert_seen(&open(&disk, small(), Following::AtOnce), &acknowledged.now(), how).unwrap();
        }
    });
}

#[test]
fn whoever_waits_for_redb_is_woken_and_finds_what_was_there() {
    in_many_orders(|| {
        let (disk, acknowledged) = (SimDisk::new(1), Acknowledged::default());
        let handle = Arc::new(open(&disk, small(), Following::Beside));
        let committer = {
            let (handle, acknowledged) = (handle.clone(), acknowledged.clone());
            thread::spawn(move || (1..5).for_each(|id| acknowledged.commit(&handle, id, 300).unwrap()))
        };
        let copier = {
            let (handle, acknowledged) = (handle.clone(), acknowledged.clone());
            thread::spawn(move || {
                let before = acknowledged.now().len() as u64;
                let base = handle.tables().unwrap();
                assert!(base.record >= before, "the tables hold {} of {before} records", base.record);
            })
        };
        let proof = handle.try_append().unwrap();
        while let Some(proving) = handle.begin_proving(proof).unwrap() {
            block_on(proving).unwrap_err();
        }
        block_on(handle.begin_draining(Lasting::Durably).unwrap()).unwrap_err();
        [committer, copier].into_iter().for_each(|thread| thread.join().unwrap());
        acknowledged.commit(&handle, 7, 300).unwrap();
        let waiting = handle.begin_draining(Lasting::Durably).unwrap();
        drop(handle);
        block_on(waiting).unwrap_err();
    });
}

#[test]
fn a_large_record_is_synced_beside_and_acknowledged_after_it() {
    in_many_orders(|| {
        let options = RedbOptions { journal_bytes: 1024 * 1024, ..small() };
        let (disk, acknowledged) = (SimDisk::new(1), Acknowledged::default());
        let handle = open(&disk, options, Following::Beside);
        let committer = {
            let acknowledged = acknowledged.clone();
            thread::spawn(move || {
                for (id, bytes) in [(1, 300), (2, LARGE), (3, 300), (4, LARGE)] {
                    acknowledged.commit(&handle, id, bytes).unwrap();
                }
            })
        };
        for crash in 0..3 {
            // The power may go at any moment: what was acknowledged before it is on the disk.
            let before = acknowledged.now();
            let left = disk.crash(&mut DiskRng::new(crash));
            assert_seen(&open(&left, options, Following::AtOnce), &before, "whoever opens it after the crash").unwrap();
        }
        committer.join().unwrap();
    });
}

#[test]
fn a_disk_that_fails_keeps_nobody_waiting_and_loses_nothing() {
    in_many_orders(|| {
        let (disk, acknowledged) = (SimDisk::new(1), Acknowledged::default());
        let handle = Arc::new(open(&disk, small(), Following::Beside));
        let mut rng = shuttle::rand::thread_rng();
        let op = if rng.gen_bool(0.5) { Op::Write } else { Op::Sync };
        disk.fail(FailurePlan { op, after: rng.gen_range(0..40), kind: std::io::ErrorKind::Other });
        let heals_early = rng.gen_bool(0.5);
        let committers = [1, 100].map(|first| {
            let (handle, acknowledged) = (handle.clone(), acknowledged.clone());
            // Whether a commit that failed is there is not known: each has an id of its own.
            thread::spawn(move || (first..first + 6).for_each(|id| drop(acknowledged.commit(&handle, id, 300))))
        });
        let reader = {
            let (handle, acknowledged) = (handle.clone(), acknowledged.clone());
            thread::spawn(move || (0..4).for_each(|_| drop(assert_seen(&handle, &acknowledged.now(), "a reader"))))
        };
        if heals_early {
            disk.heal();
        }
        committers.into_iter().chain([reader]).for_each(|thread| thread.join().unwrap());
        disk.heal();
        let goes_on = (1_000..1_003).any(|id| acknowledged.commit(&handle, id, 300).is_ok());
        assert!(goes_on, "the disk is well, and the store takes nothing");
        assert_seen(&handle, &acknowledged.now(), "a reader after it").unwrap();
        drop(handle);
        assert_seen(&open(&disk, small(), Following::AtOnce), &acknowledged.now(), "whoever opens it").unwrap();
    });
}

/// Nobody comes after them whose rows would set redb going, and nobody whose commit would open the store anew.
#[test]
fn whoever_waits_for_redb_is_woken_when_the_disk_fails() {
    in_many_orders(|| {
        let (disk, acknowledged) = (SimDisk::new(1), Acknowledged::default());
        // What is committed here is never worth a transaction.
        let handle = Arc::new(open(&disk, RedbOptions { overlay_bytes: 64 * 1024, ..small() }, Following::Beside));
        acknowledged.commit(&handle, 1, 300).unwrap();
        let mut rng = shuttle::rand::thread_rng();
        let op = if rng.gen_bool(0.5) { Op::Write } else { Op::Sync };
        disk.fail(FailurePlan { op, after: rng.gen_range(0..20), kind: std::io::ErrorKind::Other });
        let committer = {
            let (handle, acknowledged) = (handle.clone(), acknowledged.clone());
            thread::spawn(move || (10..13).for_each(|id| drop(acknowledged.commit(&handle, id, 300))))
        };
        let copier = {
            let handle = handle.clone();
            thread::spawn(move || drop(handle.tables()))
        };
        let drainer = thread::spawn(move || {
            if let Ok(waiting) = handle.begin_draining(Lasting::Durably) {
                block_on(waiting).unwrap_err();
            }
        });
        // In the middle of it the disk is well again, or after it.
        for _ in 0..rng.gen_range(0..40) {
            thread::yield_now();
        }
        if rng.gen_bool(0.7) {
            disk.heal();
        }
        [committer, copier, drainer].into_iter().for_each(|thread| thread.join().unwrap());
        disk.heal();
        assert_seen(&open(&disk, small(), Following::AtOnce), &acknowledged.now(), "whoever opens it").unwrap();
    });
}
