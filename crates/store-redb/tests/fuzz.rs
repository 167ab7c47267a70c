//! A journal with made-up bytes in it, and made-up positions in the log: the store opens and reads, or says what is wrong;
//! it never breaks.

use std::panic::AssertUnwindSafe;

use ordo_fuzz::fuzz;
use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{Batch, Disposition, EventActor, Item, NewEvent, Position, Store};
use ordo_store_redb::simdisk::SimDisk;
use ordo_store_redb::{RedbOptions, RedbStore, StoreFile};
use redb::StorageBackend;
use uuid::Uuid;

fn batch(id: u128) -> Batch {
    let at = Timestamp::from_ms(1_792_800_000_000).expect("a time");
    let event = NewEvent { at, kind: "made".into(), data: b"{}".to_vec(), actor: EventActor::Ordo };
    let item = Item {
        entity: EntityId { kind: Kind::Job, id: Uuid::from_u128(id) },
        expected: 0,
        events: vec![event],
        disposition: Disposition::Keep { snapshot: b"state".to_vec(), alarm: None },
        rows: Vec::new(),
        dedup: Vec::new(),
        quotas: Vec::new(),
        freed: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    };
    Batch { items: vec![item], chunks: Vec::new() }
}

/// A disk as a process left it that was killed.
fn used_disk() -> SimDisk {
    let disk = SimDisk::new(1);
    let store = RedbStore::open_inline_on(disk.clone(), RedbOptions::default()).expect("a disk that does not fail");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a disk that does not fail");
    for id in 1..=5 {
        runtime.block_on(store.commit(batch(id))).expect("a disk that does not fail");
    }
    let left = disk.crash(&mut ordo_store_redb::simdisk::DiskRng::new(1));
    drop(store);
    left
}

#[test]
fn fuzz_journal_records() {
    let used = used_disk();
    let journal = used.file(StoreFile::Segment(0));
    let len = usize::try_from(journal.len().unwrap()).unwrap();
    let mut begin = vec![0; len.min(2_048)];
    journal.read(0, &mut begin).unwrap();
    fuzz("journal", &[begin], |bytes| {
        let disk = used.crash(&mut ordo_store_redb::simdisk::DiskRng::new(1));
        let bytes = &bytes[..bytes.len().min(len)];
        disk.file(StoreFile::Segment(0)).write(0, bytes).unwrap();
        drop(RedbStore::open_inline_on(disk, RedbOptions::default()));
    });
}

/// Whoever follows the events names the last one that it saw: a header of a request, in the end a position of the store.
#[test]
fn fuzz_stream_ids() {
    let store = RedbStore::open_inline_on(used_disk(), RedbOptions::default()).expect("a disk that does not fail");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let all = runtime.block_on(store.events(&Position::default(), 100)).expect("the log can be read");
    let corpus: Vec<Vec<u8>> = all.iter().map(|event| event.position.0.clone().into_bytes()).collect();
    let (store, runtime) = (AssertUnwindSafe(store), AssertUnwindSafe(runtime));
    fuzz("stream-id", &corpus, |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let id = Position(text.to_owned());
        if let Ok(page) = runtime.block_on(store.events(&id, 100)) {
            assert!(page.len() <= all.len(), "{text:?} leads to more than there is");
            assert!(page.iter().all(|event| all.contains(event)), "{text:?} leads to events that are not there");
        }
        drop(store.distance(&id, &Position::default()));
    });
}
