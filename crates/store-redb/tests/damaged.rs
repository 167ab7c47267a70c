//! Files that lost a piece, or were written over: nobody meets a panic, and what is damaged is not made worse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{StoreWorkload, dump, now, seeds};
use ordo_store::{Fault, Store};
use ordo_store_redb::simdisk::DiskRng;
use ordo_store_redb::{RedbOptions, RedbStore, is_guarded};
use tempfile::TempDir;

/// Without a cache everything is read from the file.
const COLD: RedbOptions =
    RedbOptions { cache_bytes: 0, journal_bytes: 64 * 1024, overlay_bytes: 16 * 1024, micros: || 0 };

fn sound(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("ordo.redb");
    let store = RedbStore::open_file_inline(&path, COLD).unwrap();
    let mut workload = StoreWorkload::new(7);
    for _ in 0..60 {
        now(store.commit(workload.batch())).unwrap();
    }
    drop(store);
    path
}

/// Uses the file in every way. Whatever comes of it, no panic may leave the store.
fn use_it(path: &Path) -> Option<Fault> {
    let store = match RedbStore::open_file_inline(path, COLD) {
        Ok(store) => store,
        Err(fault) => return Some(fault),
    };
    let read = dump(&store).err();
    let written = now(store.commit(StoreWorkload::new(99).batch())).err();
    let verified = store.verify().err();
    let copied = store.backup(&path.with_extension("copy"), &mut |_, _| {}).err();
    if let Some(damage) = store.damage() {
        let refused = now(store.commit(StoreWorkload::new(98).batch())).unwrap_err();
        assert!(matches!(&refused, Fault::Damaged { what } if *what == damage), "{refused:?}");
        assert!(matches!(now(store.try_write()), Err(Fault::Damaged { .. })));
    }
    [read, written, verified, copied].into_iter().flatten().next()
}

#[test]
fn bytes_that_were_written_over_never_become_a_panic() {
    // What is caught need not be printed.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_guarded() {
            usual(panic);
        }
    }));
    let folder = TempDir::new().unwrap();
    let original = std::fs::read(sound(&folder)).unwrap();
    let mut met = 0;
    for seed in seeds(0, 120) {
        let place = TempDir::new().unwrap();
        let path = place.path().join("ordo.redb");
        let (mut bytes, mut rng) = (original.clone(), DiskRng::new(seed));
        for _ in 0..1 + rng.below(4) {
            let at = 4096 + rng.below(bytes.len() as u64 - 4096 - 64) as usize;
            let fill = rng.below(256) as u8;
            bytes[at..at + 64].fill(fill);
        }
        if seed % 4 == 0 {
            bytes.truncate(4096 * (1 + rng.below(bytes.len() as u64 / 4096) as usize));
        }
        std::fs::write(&path, &bytes).unwrap();
        met += usize::from(use_it(&path).is_some());
    }
    assert!(met > 20, "only {met} of the damaged files were found out");
}

#[test]
fn the_files_of_a_store_are_for_their_owner_only_and_repaired_where_they_were_not() {
    let folder = TempDir::new().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = sound(&folder);
    let store = RedbStore::open(&path, RedbOptions::default()).unwrap();
    now_or_wait(&store);
    let copy = folder.path().join("copy.redb");
    store.backup(&copy, &mut |_, _| {}).unwrap();
    let files = ["ordo.redb", "ordo.redb.lock", "copy.redb", "ordo.redb-journal/segment-0"];
    for file in files {
        assert_eq!(mode(&folder.path().join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&folder.path().join("ordo.redb-journal")), 0o700);
    drop(store);
    let open_to_all = |file: &str, mode| {
        std::fs::set_permissions(folder.path().join(file), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open_to_all("ordo.redb", 0o644);
    open_to_all("ordo.redb-journal", 0o755);
    drop(RedbStore::open(&path, RedbOptions::default()).unwrap());
    assert_eq!((mode(&path), mode(&folder.path().join("ordo.redb-journal"))), (0o600, 0o700));
}

/// One commit, so that there is a journal.
fn now_or_wait(store: &RedbStore) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.commit(StoreWorkload::new(3).batch())).unwrap();
}
