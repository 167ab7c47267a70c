//! Power cuts: at every sync and at many writes of a workload, of the tables and of the journal, any part of what was
//! not yet synced may be lost, in either of them.
//!
//! Whatever is acknowledged is there, a batch is there whole or not at all, and the store agrees with itself.
//! `ORDO_CRASH_IMAGES=1000000 cargo test -p ordo-store-redb --test crash_images` looks at more images than the default;
//! a failure names the seed, the batch and the image.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ordo_model::Timestamp;
use ordo_model::testing::seed_or;
use ordo_store::Store;
use ordo_store_redb::RedbStore;
use ordo_store_redb::simdisk::{DiskRng, SimDisk};

mod common;
use common::{Dump, StoreWorkload, commit, dump, now, open_small, right_contents};

const BATCHES: usize = 12;
const IMAGES_DEFAULT: usize = 20_000;
const IMAGES_PER_SYNC: usize = 4;
const IMAGES_PER_MILLE_WRITES: u64 = 150;

fn images_wanted() -> usize {
    std::env::var("ORDO_CRASH_IMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(IMAGES_DEFAULT)
}

/// Runs one seed after the other, on all cores, until there were so many images. A seed says how many it looked at.
fn look_at(images: usize, usual_seed: u64, run: impl Fn(u64) -> usize + Sync) {
    let first_seed = seed_or(usual_seed);
    let (seen, seed) = (AtomicUsize::new(0), AtomicU64::new(first_seed));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while seen.load(Ordering::Relaxed) < images {
                    seen.fetch_add(run(seed.fetch_add(1, Ordering::Relaxed)), Ordering::Relaxed);
                }
            });
        }
    });
    println!("{} images of {} seeds", seen.into_inner(), seed.into_inner() - first_seed);
}

/// What is wrong with an image, if anything.
fn look(disk: &SimDisk, seed: u64, allowed: &[Dump]) -> Result<(), String> {
    let opened = open_small(disk.clone(), seed);
    let store = opened.map_err(|fault| format!("does not open: {fault:?}"))?;
    let held = dump(&store).map_err(|fault| format!("cannot be read: {fault:?}"))?;
    if !allowed.contains(&held) {
        return Err("holds neither what was acknowledged nor that and the whole next batch".into());
    }
    let verified = store.verify().map_err(|fault| format!("cannot be verified: {fault:?}"))?;
    if verified.is_sound() { Ok(()) } else { Err(format!("does not agree with itself: {:?}", verified.findings)) }
}

fn expect_good(disk: &SimDisk, seed: u64, allowed: &[Dump], when: &str) {
    if let Err(wrong) = look(disk, seed, allowed) {
        panic!("{when}: {wrong}");
    }
}

/// Looks at all images taken since the last look, and says how many there were.
fn expect_all_good(disk: &SimDisk, seed: u64, allowed: &[Dump], when: &str) -> usize {
    let images = disk.images();
    for (index, image) in images.iter().enumerate() {
        expect_good(image, seed, allowed, &format!("{when}, image {index}"));
    }
    images.len()
}

/// From time to time redb is made durable out of turn, as when a daemon maintains its store.
fn tidy(store: &RedbStore, rng: &mut DiskRng) {
    if rng.chance(100) {
        assert_eq!(now(store.forget_dedup(Timestamp::MIN, 10)).unwrap(), 0);
    }
}

#[test]
fn a_crash_at_any_write_or_sync_loses_nothing_acknowledged_and_leaves_no_half_batch() {
    look_at(images_wanted() / 2, 1, |seed| {
        let right = right_contents(seed, BATCHES);
        let (disk, mut rng) = (SimDisk::new(seed), DiskRng::new(seed));
        disk.take_images_at_sync(IMAGES_PER_SYNC);
        disk.take_images_at_write(IMAGES_PER_MILLE_WRITES);
        let store = open_small(disk.clone(), seed).unwrap();
        let mut seen = expect_all_good(&disk, seed, &right[..1], &format!("seed {seed}, making the store"));
        let mut workload = StoreWorkload::new(seed);
        for batch in 1..=BATCHES {
            commit(&store, workload.batch()).unwrap();
            let when = format!("seed {seed}, batch {batch}");
            seen += expect_all_good(&disk, seed, &right[batch - 1..=batch], &when);
            tidy(&store, &mut rng);
            let when = format!("seed {seed}, after batch {batch}");
            seen += expect_all_good(&disk, seed, &right[batch..=batch], &when);
            expect_good(&disk.crash(&mut rng), seed, &right[batch..=batch], &when);
            seen += 1;
        }
        drop(store);
        seen + expect_all_good(&disk, seed, &right[BATCHES..], &format!("seed {seed}, closing the store"))
    });
}

/// The power goes again while the store recovers, and once more while it recovers from that.
#[test]
fn a_crash_while_recovering_from_a_crash_loses_nothing() {
    look_at(images_wanted() / 4, 100_001, |seed| {
        let right = right_contents(seed, BATCHES);
        let disk = SimDisk::new(seed);
        let store = open_small(disk.clone(), seed).unwrap();
        let mut workload = StoreWorkload::new(seed);
        let mut seen = 0;
        for batch in 1..=BATCHES {
            disk.take_images_at_sync(usize::from(batch % 3 == 0));
            commit(&store, workload.batch()).unwrap();
            for (first, crashed) in disk.images().iter().enumerate() {
                for (second, again) in crashed_while_opening(crashed, seed).iter().enumerate() {
                    for (third, image) in crashed_while_opening(again, seed).iter().enumerate().take(3) {
                        let when = format!("seed {seed}, batch {batch}, image {first}, then {second}, then {third}");
                        expect_good(image, seed, &right[batch - 1..=batch], &when);
                        seen += 1;
                    }
                }
            }
        }
        seen
    });
}

fn crashed_while_opening(disk: &SimDisk, seed: u64) -> Vec<SimDisk> {
    disk.take_images_at_sync(1);
    disk.take_images_at_write(IMAGES_PER_MILLE_WRITES);
    drop(open_small(disk.clone(), seed).unwrap());
    disk.images()
}

/// What one generation left, durable or not, the next one builds on.
#[test]
fn work_goes_on_after_a_crash_or_a_kill() {
    look_at(images_wanted() / 4, 200_001, |seed| {
        let right = right_contents(seed, BATCHES);
        let (mut rng, mut workload) = (DiskRng::new(seed), StoreWorkload::new(seed));
        let mut disk = SimDisk::new(seed);
        let mut seen = 0;
        for batch in 1..=BATCHES {
            let store = open_small(disk.clone(), seed).unwrap();
            commit(&store, workload.batch()).unwrap();
            tidy(&store, &mut rng);
            match rng.below(3) {
                0 => drop(store),
                // The process is gone, its writes are not.
                1 => std::mem::forget(store),
                _ => {
                    disk = disk.crash(&mut rng);
                    std::mem::forget(store);
                }
            }
            disk.take_images_at_sync(2);
            expect_good(&disk, seed, &right[batch..=batch], &format!("seed {seed}, batch {batch}"));
            disk.take_images_at_sync(0);
            let when = format!("seed {seed}, batch {batch}, opened again");
            seen += 1 + expect_all_good(&disk, seed, &right[batch..=batch], &when);
        }
        seen
    });
}

/// The control: if a disk that lies were not found out, the tests above would prove nothing.
#[test]
fn a_disk_that_lies_about_syncs_is_found_out() {
    let mut bad = 0;
    for seed in 300_001..300_011 {
        let right = right_contents(seed, BATCHES);
        let disk = SimDisk::new(seed);
        let store = open_small(disk.clone(), seed).unwrap();
        disk.lie_about_syncs(300);
        let mut workload = StoreWorkload::new(seed);
        for batch in 1..=BATCHES {
            commit(&store, workload.batch()).unwrap();
            let image = disk.crash(&mut DiskRng::new(seed));
            let looked = catch_unwind(AssertUnwindSafe(|| look(&image, seed, &right[batch..=batch])));
            bad += usize::from(!matches!(looked, Ok(Ok(()))));
        }
    }
    assert!(bad > 10, "only {bad} of {} images of a lying disk were found out", 10 * BATCHES);
}
