//! Stores of each layout, made when the layout was made: every later Ordo must open them, find them sound and read the
//! same. Layout 1 is a file, layout 2 a file and a journal with records that the file lacks, as a kill leaves them.
//!
//! To make the last one anew (only for a layout that was never released):
//! `cargo test -p ordo-store-redb --test format_fixture -- --ignored make_the_fixture`

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{
    Alarm, Batch, Chunk, CommitOutcome, Dedup, Direction, Disposition, DueAlarm, EventActor, Item, KeyRange, NewEvent,
    Position, RowWrite, Snapshot, Store, Trim, View,
};
use ordo_store_redb::{RedbOptions, RedbStore};
use tempfile::TempDir;
use uuid::Uuid;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The store and its journal, if it has one.
fn copy_store(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
    let beside = |path: &Path| PathBuf::from(format!("{}-journal", path.display()));
    let Ok(segments) = std::fs::read_dir(beside(from)) else { return };
    std::fs::create_dir_all(beside(to)).unwrap();
    for segment in segments {
        let segment = segment.unwrap();
        std::fs::copy(segment.path(), beside(to).join(segment.file_name())).unwrap();
    }
}

fn job(number: u128) -> EntityId {
    EntityId { kind: Kind::Job, id: Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0000 | number) }
}

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(1_763_236_800_000 + ms).unwrap()
}

fn event(kind: &str, ms: i64) -> NewEvent {
    let data = format!("{{\"kind\":\"{kind}\"}}").into_bytes();
    // The files were made before events had actors.
    NewEvent { at: at(ms), kind: kind.into(), data, actor: EventActor::Unknown }
}

fn item(number: u128, expected: u64, kinds: &[&str], alarm: Option<Alarm>) -> Item {
    Item {
        entity: job(number),
        expected,
        events: kinds.iter().map(|kind| event(kind, 0)).collect(),
        disposition: Disposition::Keep { snapshot: format!("{{\"job\":{number}}}").into_bytes(), alarm },
        rows: Vec::new(),
        dedup: Vec::new(),
        quotas: Vec::new(),
        freed: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    }
}

/// Two jobs, one of them trimmed; a third one purged.
fn batches() -> [Batch; 3] {
    let mut first = item(1, 0, &["job_created", "run_fired", "run_completed"], Some(Alarm { at: at(60_000), rank: 4 }));
    first.rows = vec![RowWrite::put(View::Runs, b"run-1".to_vec(), b"{\"run\":1}".to_vec())];
    first.dedup = vec![Dedup { key: b"request-1".to_vec(), at: at(0), until: at(3_600_000), value: b"job-1".to_vec() }];
    let second = item(2, 0, &["job_created"], None);
    let third = item(3, 0, &["job_created"], Some(Alarm { at: at(5), rank: 0 }));
    let mut trimmed = item(1, 3, &["run_fired"], Some(Alarm { at: at(120_000), rank: 4 }));
    trimmed.trim = Some(Trim { through: 2, checkpoint: event("checkpoint", 7) });
    let purged = Item { disposition: Disposition::Purge, ..item(3, 1, &[], None) };
    let chunk = Chunk { owner: Uuid::from_u128(9), seq: 0, bytes: b"a line of log\n".to_vec() };
    [
        Batch { items: vec![first, second], chunks: vec![chunk] },
        Batch { items: vec![third], chunks: Vec::new() },
        Batch { items: vec![trimmed, purged], chunks: Vec::new() },
    ]
}

async fn expect_contents(store: &RedbStore) {
    let events = store.events(&Position::default(), 100).await.unwrap();
    let read: Vec<_> = events.iter().map(|e| (e.position.0.as_str(), e.entity, e.version, e.kind.as_str())).collect();
    assert_eq!(
        read,
        [
            ("2", job(1), 2, "checkpoint"),
            ("3", job(1), 3, "run_completed"),
            ("4", job(2), 1, "job_created"),
            ("6", job(1), 4, "run_fired"),
        ]
    );
    assert_eq!((events[0].at, events[0].data.as_slice()), (at(7), b"{\"kind\":\"checkpoint\"}".as_slice()));
    assert!(events.iter().all(|event| event.actor == EventActor::Unknown), "{events:?}");
    let alarm = Alarm { at: at(120_000), rank: 4 };
    let first = Snapshot { version: 4, alarm: Some(alarm), state: b"{\"job\":1}".to_vec() };
    let second = Snapshot { version: 1, alarm: None, state: b"{\"job\":2}".to_vec() };
    let loaded = store.load(&[job(1), job(2), job(3)]).await.unwrap();
    assert_eq!(loaded, [Some(first), Some(second), None]);
    let due = DueAlarm { at: alarm.at, rank: 4, entity: job(1) };
    assert_eq!(store.due(Timestamp::MAX, None, 10).await.unwrap(), [due]);
    let rows = store.rows(View::Runs, &KeyRange::all(), Direction::Ascending, 10).await.unwrap();
    assert_eq!((rows.len(), rows[0].value.as_slice()), (1, b"{\"run\":1}".as_slice()));
    assert_eq!(store.dedup(b"request-1", at(0)).await.unwrap(), Some(b"job-1".to_vec()));
    assert_eq!(store.chunks(Uuid::from_u128(9), 0, 10).await.unwrap()[0].bytes, b"a line of log\n");
}

/// Opens a copy of a fixture, twice, and works on in it.
async fn expect_good(fixture: &str, recovered: u64) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    copy_store(&fixtures().join(fixture), &path);
    let store = RedbStore::open(&path, RedbOptions::default()).unwrap();
    expect_contents(&store).await;
    assert_eq!(store.verify().unwrap().findings, Vec::<String>::new());
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.format, stats.journal.unwrap().recovered_records), (2, recovered));
    let next = Batch { items: vec![item(2, 1, &["run_fired"], None)], chunks: Vec::new() };
    let last = Some(Position("7".into()));
    assert_eq!(store.commit(next).await.unwrap(), [CommitOutcome::Committed { version: 2, last }]);
    drop(store);
    let store = RedbStore::open(&path, RedbOptions::default()).unwrap();
    assert_eq!(store.stats().await.unwrap().events, 5);
}

#[tokio::test]
async fn a_store_of_layout_1_opens_is_sound_and_holds_what_it_held() {
    expect_good("format-1.redb", 0).await;
}

#[tokio::test]
async fn a_store_of_layout_2_opens_is_brought_up_to_its_journal_and_holds_what_it_held() {
    expect_good("format-2.redb", 2).await;
}

/// As small as redb makes it: a compacted store that goes on, copied while it is open.
#[tokio::test]
#[ignore = "makes the checked-in files"]
async fn make_the_fixture() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ordo.redb");
    let options = RedbOptions { journal_bytes: 64 * 1024, ..RedbOptions::default() };
    let [first, rest @ ..] = batches();
    let store = RedbStore::open(&path, options).unwrap();
    store.commit(first).await.unwrap();
    store.compact().unwrap();
    for batch in rest {
        let outcomes = store.commit(batch).await.unwrap();
        assert!(outcomes.iter().all(|outcome| matches!(outcome, CommitOutcome::Committed { .. })));
    }
    expect_contents(&store).await;
    copy_store(&path, &fixtures().join("format-2.redb"));
}
