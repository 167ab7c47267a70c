//! Power cuts: at every sync of a workload, any part of what was not yet synced may be lost.
//!
//! Whatever is acknowledged is there, a batch is there whole or not at all, and the file agrees with itself.
//! `ORDO_CRASH_IMAGES=100000 cargo test -p ordo-store-redb --test crash_images` looks at more images than the default;
//! a failure names the seed, the batch and the image.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use ordo_store_redb::RedbStore;
use ordo_store_redb::simdisk::{Rng, SimDisk};

mod common;
use common::{Dump, Workload, commit, dump, right_contents};

const BATCHES: usize = 12;
const IMAGES_DEFAULT: usize = 1_200;
const IMAGES_PER_SYNC: usize = 4;

fn images_wanted() -> usize {
    std::env::var("ORDO_CRASH_IMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(IMAGES_DEFAULT)
}

/// What is wrong with an image, if anything.
fn look(disk: &SimDisk, allowed: &[Dump]) -> Result<(), String> {
    let store = RedbStore::open_inline_on(disk.clone()).map_err(|fault| format!("does not open: {fault:?}"))?;
    let held = dump(&store).map_err(|fault| format!("cannot be read: {fault:?}"))?;
    if !allowed.contains(&held) {
        return Err("holds neither what was acknowledged nor that and the whole next batch".into());
    }
    let verified = store.verify().map_err(|fault| format!("cannot be verified: {fault:?}"))?;
    if verified.is_sound() { Ok(()) } else { Err(format!("does not agree with itself: {:?}", verified.findings)) }
}

fn expect_good(disk: &SimDisk, allowed: &[Dump], told: &str) {
    if let Err(wrong) = look(disk, allowed) {
        panic!("{told}: {wrong}");
    }
}

#[test]
fn a_crash_at_any_sync_loses_nothing_acknowledged_and_leaves_no_half_batch() {
    let (mut seen, mut seed) = (0, 0);
    while seen < images_wanted() {
        seed += 1;
        let right = right_contents(seed, BATCHES);
        let disk = SimDisk::new(seed);
        disk.take_images_at_sync(IMAGES_PER_SYNC);
        let store = RedbStore::open_inline_on(disk.clone()).unwrap();
        for (index, image) in disk.images().iter().enumerate() {
            expect_good(image, &right[..1], &format!("seed {seed}, making the store, image {index}"));
            seen += 1;
        }
        let mut workload = Workload::new(seed);
        for batch in 1..=BATCHES {
            commit(&store, workload.batch()).unwrap();
            for (index, image) in disk.images().iter().enumerate() {
                expect_good(image, &right[batch - 1..=batch], &format!("seed {seed}, batch {batch}, image {index}"));
                seen += 1;
            }
            let acknowledged = disk.crash(&mut Rng::new(seed));
            expect_good(&acknowledged, &right[batch..=batch], &format!("seed {seed}, after batch {batch}"));
            seen += 1;
        }
        drop(store);
        for (index, image) in disk.images().iter().enumerate() {
            expect_good(image, &right[BATCHES..], &format!("seed {seed}, closing the store, image {index}"));
            seen += 1;
        }
    }
}

#[test]
fn a_crash_while_recovering_from_a_crash_loses_nothing() {
    let (mut seen, mut seed) = (0, 1_000);
    while seen < images_wanted() / 2 {
        seed += 1;
        let right = right_contents(seed, BATCHES);
        let disk = SimDisk::new(seed);
        let store = RedbStore::open_inline_on(disk.clone()).unwrap();
        let mut workload = Workload::new(seed);
        for batch in 1..=BATCHES {
            disk.take_images_at_sync(usize::from(batch % 3 == 0));
            commit(&store, workload.batch()).unwrap();
            for (first, crashed) in disk.images().iter().enumerate() {
                crashed.take_images_at_sync(2);
                drop(RedbStore::open_inline_on(crashed.clone()).unwrap());
                for (second, image) in crashed.images().iter().enumerate() {
                    let told = format!("seed {seed}, batch {batch}, image {first}, then {second}");
                    expect_good(image, &right[batch - 1..=batch], &told);
                    seen += 1;
                }
            }
        }
    }
}

#[test]
fn work_goes_on_after_a_crash() {
    for seed in 2_001..2_011 {
        let right = right_contents(seed, BATCHES);
        let mut rng = Rng::new(seed);
        let mut workload = Workload::new(seed);
        let mut disk = SimDisk::new(seed);
        for batch in 1..=BATCHES {
            let store = RedbStore::open_inline_on(disk.clone()).unwrap();
            commit(&store, workload.batch()).unwrap();
            disk = disk.crash(&mut rng);
            drop(store);
            expect_good(&disk.crash(&mut rng), &right[batch..=batch], &format!("seed {seed}, batch {batch}"));
        }
    }
}

/// The control: if a disk that lies were not found out, the tests above would prove nothing.
#[test]
fn a_disk_that_lies_about_syncs_is_found_out() {
    let mut bad = 0;
    for seed in 3_001..3_011 {
        let right = right_contents(seed, BATCHES);
        let disk = SimDisk::new(seed);
        let store = RedbStore::open_inline_on(disk.clone()).unwrap();
        disk.lie_about_syncs(300);
        let mut workload = Workload::new(seed);
        for batch in 1..=BATCHES {
            commit(&store, workload.batch()).unwrap();
            let image = disk.crash(&mut Rng::new(seed));
            let looked = catch_unwind(AssertUnwindSafe(|| look(&image, &right[batch..=batch])));
            bad += usize::from(!matches!(looked, Ok(Ok(()))));
        }
    }
    assert!(bad > 10, "only {bad} of {} images of a lying disk were found out", 10 * BATCHES);
}
