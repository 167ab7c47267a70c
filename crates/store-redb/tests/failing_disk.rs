//! A disk that fails or is full: nothing is acknowledged that is not durable, nothing is written by halves,
//! and once the disk is well again the store goes on by itself, without a restart.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::io::ErrorKind;
use std::sync::Arc;

use ordo_model::Timestamp;
use ordo_store::{Batch, CommitOutcome, Fault, Position, Store};
use ordo_store_redb::simdisk::{DiskRng, FailurePlan, Op, SimDisk};
use ordo_store_redb::{RedbOptions, RedbStore, StoreFile};

mod common;
use common::{Dump, StoreWorkload, commit, dump, now, open_small, right_contents, seeds};

const BATCHES: usize = 8;
const KINDS: [ErrorKind; 2] = [ErrorKind::StorageFull, ErrorKind::Other];

/// Runs a workload during which the disk fails once, at batch `at`, and is healed after the fault was reported.
/// Returns whether the failure was met.
fn run(seed: u64, at: usize, failing: FailurePlan, right: &[Dump]) -> bool {
    let when = format!("seed {seed}, batch {at}, {failing:?}");
    let disk = SimDisk::new(seed);
    let store = open_small(disk.clone(), seed).unwrap();
    let mut workload = StoreWorkload::new(seed);
    let mut met = false;
    for batch in 1..=BATCHES {
        let given = workload.batch();
        if batch == at {
            disk.fail(failing);
        }
        if let Err(fault) = commit(&store, given.clone()) {
            met = true;
            assert!(matches!(fault, Fault::Unavailable { .. }), "{when}: {fault:?}");
            let crashed = open_small(disk.crash(&mut DiskRng::new(seed)), seed).unwrap();
            assert!(right[batch - 1..=batch].contains(&dump(&crashed).unwrap()), "{when}: a crash after the fault");
            disk.heal();
            let held = dump(&store).unwrap_or_else(|fault| panic!("{when}: does not recover: {fault:?}"));
            assert!(right[batch - 1..=batch].contains(&held), "{when}: half a batch");
            if held == right[batch - 1] {
                commit(&store, given).unwrap_or_else(|fault| panic!("{when}: does not go on: {fault:?}"));
            }
        }
        assert_eq!(dump(&store).unwrap(), right[batch], "{when}");
        let crashed = open_small(disk.crash(&mut DiskRng::new(seed)), seed).unwrap();
        assert_eq!(dump(&crashed).unwrap(), right[batch], "{when}: acknowledged, then lost in a crash");
        disk.heal();
    }
    assert_eq!(store.verify().unwrap().findings, Vec::<String>::new(), "{when}");
    met
}

fn fail_everywhere(op: Op, afters: &[u64]) {
    let mut met = 0;
    for seed in seeds(1, 9) {
        let right = right_contents(seed, BATCHES);
        for kind in KINDS {
            for after in afters {
                met += usize::from(run(seed, 2 + *after as usize % 5, FailurePlan { op, after: *after, kind }, &right));
            }
        }
    }
    assert!(met > 0, "no commit met a failing {op:?}");
}

#[test]
fn a_write_that_fails_is_not_acknowledged_and_the_store_goes_on_when_the_disk_is_well() {
    fail_everywhere(Op::Write, &[0, 1, 2, 3, 5, 8, 13]);
}

#[test]
fn a_sync_that_fails_is_not_acknowledged_even_if_the_disk_forgot_what_it_was_given() {
    fail_everywhere(Op::Sync, &[0, 1, 2]);
}

#[test]
fn a_file_that_cannot_grow_is_a_full_disk() {
    let disk = SimDisk::new(1);
    let store = RedbStore::open_inline_on(disk.clone(), RedbOptions::default()).unwrap();
    disk.fail(FailurePlan { op: Op::SetLen, after: 0, kind: ErrorKind::StorageFull });
    let large = |seq| Batch {
        items: Vec::new(),
        chunks: vec![ordo_store::Chunk { owner: uuid::Uuid::nil(), seq, bytes: vec![7; 1024 * 1024] }],
    };
    let (fault, held) = (0..100)
        .find_map(|seq| now(store.commit(large(seq))).err().map(|fault| (fault, seq)))
        .expect("a file that cannot grow takes no 100 MiB");
    assert!(fault.source().unwrap().to_string().contains("no space is left"), "{fault:?}");
    disk.heal();
    // What the fault was about is there whole or not at all: nothing was acknowledged.
    let found = now(store.chunks(uuid::Uuid::nil(), 0, 1_000)).unwrap().len() as u64;
    assert!((held..=held + 1).contains(&found), "{found} of {held}");
    now(store.commit(large(held))).unwrap();
    assert!(store.verify().unwrap().is_sound());
}

#[test]
fn as_long_as_the_disk_fails_every_commit_says_so() {
    let disk = SimDisk::new(1);
    let store = RedbStore::open_inline_on(disk.clone(), RedbOptions::default()).unwrap();
    let mut workload = StoreWorkload::new(1);
    let given = workload.batch();
    disk.fail(FailurePlan { op: Op::Write, after: 0, kind: ErrorKind::StorageFull });
    for _ in 0..5 {
        assert!(matches!(commit(&store, given.clone()), Err(Fault::Unavailable { .. })));
    }
    disk.heal();
    commit(&store, given).unwrap();
}

#[tokio::test]
async fn a_read_that_fails_is_a_fault_and_the_next_one_succeeds() {
    let disk = SimDisk::new(1);
    let store = RedbStore::open_on(disk.clone(), RedbOptions { cache_bytes: 0, ..RedbOptions::default() }).unwrap();
    let item = |version| ordo_store::conformance::given::item(common::job(1), version);
    store.commit(Batch { items: vec![item(0)], chunks: Vec::new() }).await.unwrap();
    // The follower takes it into redb: what is in memory cannot fail.
    store.forget_dedup(Timestamp::MIN, 0).await.unwrap();
    disk.fail(FailurePlan { op: Op::Read, after: 0, kind: ErrorKind::Other });
    assert!(matches!(store.events(&Position::default(), 10).await, Err(Fault::Unavailable { .. })));
    assert!(matches!(store.events(&Position::default(), 10).await, Err(Fault::Unavailable { .. })));
    disk.heal();
    assert_eq!(store.events(&Position::default(), 10).await.unwrap().len(), 1);
    store.commit(Batch { items: vec![item(1)], chunks: Vec::new() }).await.unwrap();
}

#[test]
fn a_backend_that_cannot_be_opened_again_says_what_to_do() {
    let disk = SimDisk::new(1);
    let store = RedbStore::open_inline(disk.file(StoreFile::Data)).unwrap();
    let mut workload = StoreWorkload::new(1);
    disk.fail(FailurePlan { op: Op::Sync, after: 0, kind: ErrorKind::Other });
    let given = workload.batch();
    assert!(commit(&store, given.clone()).is_err());
    disk.heal();
    let fault = commit(&store, given).unwrap_err();
    assert!(fault.source().unwrap().to_string().contains("restart"), "{fault:?}");
}

/// All who wait for one gathered commit get its fault, and none of them is acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_waiting_for_a_commit_that_fails_gets_the_fault() {
    let disk = SimDisk::new(1);
    let store = Arc::new(RedbStore::open_on(disk.clone(), RedbOptions::default()).unwrap());
    disk.fail(FailurePlan { op: Op::Sync, after: 0, kind: ErrorKind::StorageFull });
    let commit_all = |store: &Arc<RedbStore>| {
        let commit = |number| {
            let store = Arc::clone(store);
            let item = ordo_store::conformance::given::item(common::job(number), 0);
            tokio::spawn(async move { store.commit(Batch { items: vec![item], chunks: Vec::new() }).await })
        };
        (0..50).map(commit).collect::<Vec<_>>()
    };
    for task in commit_all(&store) {
        assert!(matches!(task.await.unwrap(), Err(Fault::Unavailable { .. })));
    }
    disk.heal();
    for task in commit_all(&store) {
        assert!(matches!(task.await.unwrap().unwrap().as_slice(), [CommitOutcome::Committed { version: 1, .. }]));
    }
    assert!(store.verify().unwrap().is_sound());
}

#[test]
fn whoever_asks_whether_a_commit_would_succeed_hears_of_a_full_disk_and_of_its_end() {
    let disk = SimDisk::new(1);
    let store = RedbStore::open_inline_on(disk.clone(), RedbOptions::default()).unwrap();
    commit(&store, StoreWorkload::new(1).batch()).unwrap();
    now(store.try_write()).unwrap();
    disk.fail(FailurePlan { op: Op::Write, after: 0, kind: ErrorKind::StorageFull });
    let fault = now(store.try_write()).unwrap_err();
    assert!(fault.source().unwrap().to_string().contains("no space is left"), "{fault:?}");
    assert!(now(store.try_write()).is_err(), "as long as it lasts");
    disk.heal();
    now(store.try_write()).unwrap();
}
