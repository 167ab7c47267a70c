//! Backup, compaction and verification of a real file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;

use ordo_store::conformance::given::{item, job};
use ordo_store::{Batch, Fault, Store};
use ordo_store_redb::{RedbOptions, RedbStore};
use redb::{Database, ReadableTable, TableDefinition};
use tempfile::TempDir;

mod common;
use common::{StoreWorkload, commit, dump};

fn filled(folder: &TempDir, batches: usize) -> (PathBuf, RedbStore) {
    filled_with(folder, batches, RedbOptions::default())
}

fn filled_with(folder: &TempDir, batches: usize, options: RedbOptions) -> (PathBuf, RedbStore) {
    let path = folder.path().join("ordo.redb");
    let store = RedbStore::open_file_inline(&path, options).unwrap();
    let mut workload = StoreWorkload::new(7);
    for _ in 0..batches {
        commit(&store, workload.batch()).unwrap();
    }
    (path, store)
}

#[test]
fn a_backup_holds_what_the_store_holds_and_reports_its_progress() {
    let folder = TempDir::new().unwrap();
    let (_, store) = filled(&folder, 30);
    let to = folder.path().join("backup.redb");
    let mut progress = Vec::new();
    store.backup(&to, &mut |done, total| progress.push((done, total))).unwrap();
    let (done, total) = *progress.last().unwrap();
    assert!(done == total && total > 100, "{progress:?}");
    let copy = RedbStore::open_file_inline(&to, RedbOptions::default()).unwrap();
    assert_eq!(dump(&copy).unwrap(), dump(&store).unwrap());
    assert_eq!(copy.verify().unwrap().findings, Vec::<String>::new());
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["backup.redb", "backup.redb.lock", "ordo.redb", "ordo.redb-journal", "ordo.redb.lock"]);
}

#[test]
fn a_backup_replaces_nothing() {
    let folder = TempDir::new().unwrap();
    let (path, store) = filled(&folder, 1);
    let other = folder.path().join("precious");
    std::fs::write(&other, "precious").unwrap();
    for to in [&other, &path] {
        assert!(matches!(store.backup(to, &mut |_, _| {}), Err(Fault::Held { .. })));
    }
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
}

#[test]
fn a_backup_that_fails_leaves_the_store_at_work() {
    let folder = TempDir::new().unwrap();
    let (_, store) = filled(&folder, 3);
    let before = dump(&store).unwrap();
    let nowhere = folder.path().join("no/such/folder/backup.redb");
    assert!(matches!(store.backup(&nowhere, &mut |_, _| {}), Err(Fault::Unavailable { .. })));
    assert_eq!(dump(&store).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_made_while_others_write_is_one_moment_of_the_store() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(RedbStore::open(folder.path().join("ordo.redb"), RedbOptions::default()).unwrap());
    let writer = Arc::clone(&store);
    // Each batch moves two entities together: a backup with one of them alone would not be one moment.
    let writing = tokio::spawn(async move {
        for version in 0..300 {
            let items = vec![item(job(1), version), item(job(2), version)];
            writer.commit(Batch { items, chunks: Vec::new() }).await.unwrap();
        }
    });
    for number in 0..5 {
        let to = folder.path().join(format!("backup-{number}.redb"));
        store.backup(&to, &mut |_, _| {}).unwrap();
        let copy = RedbStore::open_file_inline(&to, RedbOptions::default()).unwrap();
        let versions: Vec<_> =
            copy.load(&[job(1), job(2)]).await.unwrap().into_iter().map(|found| found.map(|s| s.version)).collect();
        assert_eq!(versions[0], versions[1]);
        assert!(copy.verify().unwrap().is_sound());
    }
    writing.await.unwrap();
}

#[test]
fn compaction_gives_space_back_and_keeps_everything() {
    let folder = TempDir::new().unwrap();
    let (_, store) = filled(&folder, 10);
    let owner = uuid::Uuid::from_u128(1);
    let chunks = (0..200).map(|seq| ordo_store::Chunk { owner, seq, bytes: vec![1; 50_000] }).collect();
    common::now(store.commit(Batch { items: Vec::new(), chunks })).unwrap();
    let forget = ordo_store::Item { forget_chunks: vec![owner], ..item(job(99), 0) };
    common::now(store.commit(Batch { items: vec![forget], chunks: Vec::new() })).unwrap();
    let before = dump(&store).unwrap();
    let compacted = store.compact().unwrap();
    assert!(compacted.bytes_after < compacted.bytes_before / 2, "{compacted:?}");
    assert_eq!(dump(&store).unwrap(), before);
    assert!(store.verify().unwrap().is_sound());
    common::now(store.commit(Batch { items: vec![item(job(100), 0)], chunks: Vec::new() })).unwrap();
}

/// A store as it grows in use: many small transactions with keys in no order, redb's pages half empty.
#[test]
fn compaction_makes_a_store_smaller_and_never_larger() {
    let folder = TempDir::new().unwrap();
    let (path, store) = filled_with(&folder, 400, RedbOptions { overlay_bytes: 8, ..RedbOptions::default() });
    let before = dump(&store).unwrap();
    let file = || std::fs::metadata(&path).unwrap().len();
    let grown = file();
    let first = store.compact().unwrap();
    assert!(file() < grown && first.bytes_after < first.bytes_before, "{first:?}, {grown} → {}", file());
    assert_eq!(dump(&store).unwrap(), before);
    let once = file();
    let again = store.compact().unwrap();
    assert!(file() <= once && again.bytes_after <= again.bytes_before, "{again:?}");
    common::now(store.commit(Batch { items: vec![item(job(100), 0)], chunks: Vec::new() })).unwrap();
    assert!(store.verify().unwrap().is_sound());
}

/// The control: each kind of disagreement, made by hand, is found.
#[test]
fn verification_finds_what_does_not_agree() {
    const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
    const STREAMS: TableDefinition<'_, &[u8; 25], u64> = TableDefinition::new("streams");
    const SNAPSHOTS: TableDefinition<'_, &[u8; 17], &[u8]> = TableDefinition::new("snapshots");
    const ALARMS: TableDefinition<'_, &[u8; 24], &[u8; 2]> = TableDefinition::new("alarms");
    const DEDUP: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("dedup");
    const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
    type Tamper = fn(&redb::WriteTransaction);
    let tampers: [(&str, Tamper); 8] = [
        ("points to no event", |t| drop(t.open_table(EVENTS).unwrap().pop_last().unwrap())),
        ("in the stream index", |t| drop(t.open_table(STREAMS).unwrap().pop_first().unwrap())),
        ("has events and no snapshot", |t| drop(t.open_table(SNAPSHOTS).unwrap().pop_first().unwrap())),
        ("that the index lacks", |t| drop(t.open_table(ALARMS).unwrap().pop_first().unwrap())),
        ("entities want one", |t| drop(t.open_table(ALARMS).unwrap().insert(&[0; 24], &[1, 1]).unwrap())),
        ("expiries", |t| drop(t.open_table(DEDUP).unwrap().pop_first().unwrap())),
        ("were given out", |t| drop(t.open_table(META).unwrap().insert("position", 1).unwrap())),
        ("points to another's event", |t| {
            let mut streams = t.open_table(STREAMS).unwrap();
            let (first, last) =
                (*streams.first().unwrap().unwrap().0.value(), streams.last().unwrap().unwrap().1.value());
            streams.insert(&first, last).unwrap();
        }),
    ];
    for (finding, tamper) in tampers {
        let folder = TempDir::new().unwrap();
        let (path, store) = filled(&folder, 10);
        drop(store);
        let database = Database::open(&path).unwrap();
        let transaction = database.begin_write().unwrap();
        tamper(&transaction);
        transaction.commit().unwrap();
        drop(database);
        let verified = RedbStore::open_file_inline(&path, RedbOptions::default()).unwrap().verify().unwrap();
        assert!(verified.findings.iter().any(|found| found.contains(finding)), "{finding}: {:?}", verified.findings);
    }
}
