//! The journal as a user meets it: what it takes into the tables, what it refuses to go on without, how much it holds.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ordo_store::conformance::given::{item, job};
use ordo_store::{Batch, CommitOutcome, Fault, JournalStats, Store};
use ordo_store_redb::simdisk::{DiskRng, FailurePlan, Op, SimDisk};
use ordo_store_redb::{RedbOptions, RedbStore, StoreFile};
use tempfile::TempDir;

mod common;
use common::{StoreWorkload, commit, dump, now, right_contents};

const BLOCK: u64 = 4096;

fn one(number: u128) -> Batch {
    Batch { items: vec![item(job(number), 0)], chunks: Vec::new() }
}

fn journal(store: &RedbStore) -> JournalStats {
    now(store.stats()).unwrap().journal.unwrap()
}

fn open_on(disk: &SimDisk) -> Result<RedbStore, Fault> {
    RedbStore::open_inline_on(disk.clone(), RedbOptions { journal_bytes: 1024 * 1024, ..RedbOptions::default() })
}

fn damage(opened: Result<RedbStore, Fault>) -> String {
    match opened {
        Err(Fault::Damaged { what }) => what,
        other => panic!("not damaged: {other:?}"),
    }
}

/// A disk on which so many batches are acknowledged and redb holds none of them durably.
fn crashed_after(batches: usize) -> SimDisk {
    let disk = SimDisk::new(7);
    let store = open_on(&disk).unwrap();
    let mut workload = StoreWorkload::new(7);
    (0..batches).for_each(|_| commit(&store, workload.batch()).unwrap());
    let crashed = disk.crash(&mut DiskRng::new(7));
    drop(store);
    crashed
}

#[test]
fn a_commit_costs_one_sync() {
    let disk = SimDisk::new(1);
    let store = RedbStore::open_inline_on(disk.clone(), RedbOptions::default()).unwrap();
    now(store.commit(one(0))).unwrap();
    let before = disk.syncs();
    for number in 1..=50 {
        assert!(matches!(now(store.commit(one(number))).unwrap().as_slice(), [CommitOutcome::Committed { .. }]));
    }
    assert_eq!(disk.syncs() - before, 50);
}

#[test]
fn a_recovery_says_what_it_replayed_and_how_long_it_took() {
    static MICROS: AtomicU64 = AtomicU64::new(0);
    let right = right_contents(7, 9);
    let micros = || MICROS.fetch_add(1_000, Ordering::Relaxed);
    let options = RedbOptions { journal_bytes: 1024 * 1024, micros, ..RedbOptions::default() };
    let store = RedbStore::open_inline_on(crashed_after(9), options).unwrap();
    let found = journal(&store);
    assert_eq!((found.recovered_records, found.recovery_micros), (9, 1_000));
    assert!(found.recovered_bytes >= 9 * BLOCK && found.pending_bytes == found.recovered_bytes, "{found:?}");
    assert_eq!(dump(&store).unwrap(), right[9]);
}

/// A sync of the journal fails, redb is well and closes: it holds more than at its last checkpoint, and says how much.
#[test]
fn what_redb_holds_beyond_its_last_checkpoint_is_not_replayed() {
    let right = right_contents(7, 6);
    let disk = SimDisk::new(7);
    // redb takes each commit when the next one comes.
    let options = RedbOptions { journal_bytes: 1024 * 1024, overlay_bytes: 8, ..RedbOptions::default() };
    let store = RedbStore::open_inline_on(disk.clone(), options).unwrap();
    let mut workload = StoreWorkload::new(7);
    (0..5).for_each(|_| commit(&store, workload.batch()).unwrap());
    disk.fail(FailurePlan { op: Op::Sync, after: 0, kind: ErrorKind::Other });
    assert!(matches!(commit(&store, workload.batch()), Err(Fault::Unavailable { .. })));
    disk.heal();
    assert!(right[5..].contains(&dump(&store).unwrap()));
    assert!(journal(&store).recovered_records <= 1, "{:?}", journal(&store));
}

#[test]
fn a_store_that_was_closed_leaves_nothing_to_replay_and_needs_no_journal() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    let store = RedbStore::open_file_inline(&path, RedbOptions::default()).unwrap();
    (0..20).for_each(|number| drop(now(store.commit(one(number))).unwrap()));
    assert!(journal(&store).pending_bytes > 0);
    drop(store);
    std::fs::remove_dir_all(folder.path().join("ordo.redb-journal")).unwrap();
    let store = RedbStore::open_file_inline(&path, RedbOptions::default()).unwrap();
    assert_eq!(now(store.stats()).unwrap().entities, 20);
    assert_eq!(journal(&store), JournalStats::default());
}

#[test]
fn the_journal_is_bounded_by_checkpoints() {
    const BYTES: u64 = 64 * 1024;
    let options = RedbOptions { journal_bytes: BYTES as usize, ..RedbOptions::default() };
    let disk = SimDisk::new(3);
    let store = RedbStore::open_inline_on(disk.clone(), options).unwrap();
    for number in 0..200 {
        now(store.commit(one(number))).unwrap();
        let found = journal(&store);
        assert!(found.pending_bytes <= BYTES && found.allocated_bytes <= BYTES + 2 * BLOCK, "{found:?}");
    }
    // What is worth a transaction comes together in seven commits; two blocks that are not durable are enough to make it so.
    assert!((20..=40).contains(&journal(&store).checkpoints), "{:?}", journal(&store));
    let large = vec![1; 5 * BYTES as usize];
    let chunk = |seq| ordo_store::Chunk { owner: uuid::Uuid::nil(), seq, bytes: large.clone() };
    for seq in 0..3 {
        now(store.commit(Batch { items: Vec::new(), chunks: vec![chunk(seq)] })).unwrap();
    }
    let crashed = RedbStore::open_inline_on(disk.crash(&mut DiskRng::new(3)), options).unwrap();
    assert_eq!(now(crashed.stats()).unwrap().chunks, 3);
}

/// Only what was never acknowledged may be cut off: a hole before something that is there is damage.
#[test]
fn a_damaged_record_before_a_good_one_is_refused_not_skipped() {
    let disk = crashed_after(9);
    disk.damage(StoreFile::Segment(0), BLOCK + 100);
    let what = damage(open_on(&disk));
    assert!(what.contains("record 1 ") && what.contains("restore a backup"), "{what}");
}

#[test]
fn a_damaged_last_record_is_what_a_crash_leaves() {
    let disk = crashed_after(1);
    disk.damage(StoreFile::Segment(0), BLOCK + 100);
    let store = open_on(&disk).unwrap();
    assert_eq!((now(store.stats()).unwrap().events, journal(&store).recovered_records), (0, 0));
}

#[test]
fn a_store_whose_journal_is_gone_says_so() {
    let disk = crashed_after(3);
    disk.damage(StoreFile::Segment(0), 9);
    let what = damage(open_on(&disk));
    assert!(what.contains("the journal is missing"), "{what}");
    let folder = TempDir::new().unwrap();
    let (path, killed) = (folder.path().join("ordo.redb"), folder.path().join("killed.redb"));
    let store = RedbStore::open_file_inline(&path, RedbOptions::default()).unwrap();
    now(store.commit(one(0))).unwrap();
    std::fs::copy(&path, &killed).unwrap();
    let what = damage(RedbStore::open_file_inline(&killed, RedbOptions::default()));
    assert!(what.contains("killed.redb-journal is missing"), "{what}");
    assert!(!folder.path().join("killed.redb-journal").exists());
}

/// The files as they lie while the store is open: what a kill leaves.
fn copy_of_files(from: &Path, to: &Path) {
    let beside = |path: &Path| PathBuf::from(format!("{}-journal", path.display()));
    std::fs::copy(from, to).unwrap();
    std::fs::create_dir_all(beside(to)).unwrap();
    for entry in std::fs::read_dir(beside(from)).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), beside(to).join(entry.file_name())).unwrap();
    }
}

/// A crash may lose the length of a file and keep what was written: zeros behind a record, or all but its header.
#[test]
fn a_segment_that_a_crash_left_shorter_goes_on_where_its_next_record_belongs() {
    for (len, kept) in [(BLOCK + 1_024, 1), (BLOCK, 0), (512, 0)] {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let store = RedbStore::open_file_inline(path("first"), RedbOptions::default()).unwrap();
        now(store.commit(one(0))).unwrap();
        copy_of_files(&path("first"), &path("second"));
        let segment = std::fs::File::options().write(true).open(path("second-journal/segment-0")).unwrap();
        segment.set_len(len).unwrap();
        let store = RedbStore::open_file_inline(path("second"), RedbOptions::default()).unwrap();
        assert_eq!(journal(&store).recovered_records, kept, "{len}");
        (1..=3).for_each(|number| drop(now(store.commit(one(number))).unwrap()));
        copy_of_files(&path("second"), &path("third"));
        let store = RedbStore::open_file_inline(path("third"), RedbOptions::default()).unwrap();
        assert_eq!(now(store.stats()).unwrap().entities, 3 + kept, "{len}");
    }
}

#[test]
fn a_backup_put_in_place_is_not_brought_up_to_the_journal_of_what_was_there() {
    let folder = TempDir::new().unwrap();
    let (path, backup) = (folder.path().join("ordo.redb"), folder.path().join("backup.redb"));
    let killed = folder.path().join("killed.redb");
    let store = RedbStore::open_file_inline(&path, RedbOptions::default()).unwrap();
    now(store.commit(one(1))).unwrap();
    store.backup(&backup, &mut |_, _| {}).unwrap();
    now(store.commit(one(2))).unwrap();
    copy_of_files(&path, &killed);
    // Somebody restores by hand, and leaves the journal where it is.
    std::fs::copy(&backup, &killed).unwrap();
    let restored = RedbStore::open_file_inline(&killed, RedbOptions::default()).unwrap();
    assert_eq!(now(restored.stats()).unwrap().entities, 1);
    now(restored.commit(one(3))).unwrap();
    drop(restored);
    assert_eq!(now(RedbStore::open_file_inline(&killed, RedbOptions::default()).unwrap().stats()).unwrap().entities, 2);
}

#[test]
fn an_older_copy_of_the_file_beside_a_newer_journal_is_refused() {
    let folder = TempDir::new().unwrap();
    let (path, old) = (folder.path().join("ordo.redb"), folder.path().join("old.redb"));
    let options = RedbOptions { journal_bytes: 64 * 1024, ..RedbOptions::default() };
    let store = RedbStore::open_file_inline(&path, options).unwrap();
    now(store.commit(one(0))).unwrap();
    copy_of_files(&path, &old);
    (1..60).for_each(|number| drop(now(store.commit(one(number))).unwrap()));
    let newer = std::fs::read_dir(folder.path().join("ordo.redb-journal")).unwrap();
    for entry in newer {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join("old.redb-journal").join(entry.file_name())).unwrap();
    }
    let what = damage(RedbStore::open_file_inline(&old, options));
    assert!(what.contains("restore a backup"), "{what}");
}

/// On a read-only mount nothing can be written, not even a lock.
#[test]
fn a_store_is_read_through_a_copy_with_what_its_journal_holds() {
    let folder = TempDir::new().unwrap();
    let (path, killed) = (folder.path().join("ordo.redb"), folder.path().join("killed.redb"));
    let store = RedbStore::open_file_inline(&path, RedbOptions::default()).unwrap();
    (0..5).for_each(|number| drop(now(store.commit(one(number))).unwrap()));
    copy_of_files(&path, &killed);
    let before: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let room = TempDir::new().unwrap();
    let copy = RedbStore::open_copy(&killed, room.path(), RedbOptions::default()).unwrap();
    assert_eq!(now(copy.stats()).unwrap().entities, 5);
    assert_eq!(journal(&copy).recovered_records, 5);
    let after: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(before, after);
    let held = RedbStore::open_copy(&path, TempDir::new().unwrap().path(), RedbOptions::default());
    assert!(matches!(held, Err(Fault::Held { .. })), "{held:?}");
}

/// Readers never see what could still be lost: while a sync is under way they see what was there before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_reader_saw_is_there_after_a_crash() {
    let disk = SimDisk::new(5);
    let store = Arc::new(RedbStore::open_on(disk.clone(), RedbOptions::default()).unwrap());
    let writer = Arc::clone(&store);
    let writing = tokio::spawn(async move {
        for number in 0..300 {
            writer.commit(one(number)).await.unwrap();
        }
    });
    let mut rng = DiskRng::new(5);
    while !writing.is_finished() {
        let seen = store.stats().await.unwrap().entities;
        let crashed = RedbStore::open_inline_on(disk.crash(&mut rng), RedbOptions::default()).unwrap();
        assert!(now(crashed.stats()).unwrap().entities >= seen);
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}
