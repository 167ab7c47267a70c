//! All that goes into outboxes comes out: nothing lost, nothing unexpected, in order; and nobody waits for a bad sender.
//!
//! `ORDO_OUTBOX_MESSAGES=100000` is the full count; without it a short one runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ordo_engine::testing::World;
use ordo_engine::testing::incidents::{note, sending};
use ordo_engine::testing::recorder::Recorder;
use ordo_model::{EntityId, Kind};
use uuid::Uuid;

const MESSAGES_DEFAULT: usize = 600;
const CHANGES_PER_INCIDENT: usize = 20;
const WRITERS: usize = 32;

/// Starts an incident and adds notes: so many messages.
async fn work(world: &World, messages: usize) -> Uuid {
    let id = world.incident("down", None).await;
    for number in 1..messages {
        world.change(id, note(&format!("note {number}"))).await;
    }
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_into_the_outboxes_comes_out_of_a_faulty_sender_once_and_in_order() {
    let asked = std::env::var("ORDO_OUTBOX_MESSAGES").ok().and_then(|text| text.parse().ok());
    let messages: usize = asked.unwrap_or(MESSAGES_DEFAULT);
    let (good, faulty) = (Recorder::new("good").shared(), Recorder::new("faulty").failing_every(7).shared());
    let world = Arc::new(World::with(sending(&[good.clone(), faulty.clone()])).await);
    let left = Arc::new(AtomicUsize::new(messages / CHANGES_PER_INCIDENT));
    let writers = (0..WRITERS).map(|_| {
        let (world, left) = (world.clone(), left.clone());
        tokio::spawn(async move {
            let mut ids = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
                ids.push(work(&world, CHANGES_PER_INCIDENT).await);
            }
            ids
        })
    });
    let mut ids = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        ids.extend(writer.await.unwrap());
    }
    let wanted = ids.len() * CHANGES_PER_INCIDENT;
    for sender in [&good, &faulty] {
        // A disk that others keep busy takes a tenth of a second for a commit.
        let patience = Duration::from_secs(300 + messages as u64 / 100);
        tokio::time::timeout(patience, sender.until(|sender| sender.delivered_count() >= wanted)).await.unwrap();
        check(sender, &ids);
    }
    world.assert_clean().await;
}

fn check(sender: &Recorder, ids: &[Uuid]) {
    let delivered = sender.delivered();
    let expected: BTreeSet<EntityId> = ids.iter().map(|id| EntityId { kind: Kind::Incident, id: *id }).collect();
    let unexpected = delivered.keys().filter(|entity| !expected.contains(entity)).count();
    assert_eq!((unexpected, delivered.len()), (0, expected.len()));
    for (entity, versions) in &delivered {
        assert!(versions.is_sorted(), "{entity} was sent out of order: {versions:?}");
        let distinct: BTreeSet<&u64> = versions.iter().collect();
        assert_eq!((distinct.len(), versions.len()), (CHANGES_PER_INCIDENT, CHANGES_PER_INCIDENT), "{entity}");
    }
    let mut keys: BTreeMap<(EntityId, u64), BTreeSet<String>> = BTreeMap::new();
    for one in sender.tries() {
        keys.entry((one.entity, one.version)).or_default().insert(one.key);
    }
    assert!(keys.values().all(|keys| keys.len() == 1), "one key for each event, however often it is tried");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_hangs_does_not_delay_another() {
    const INCIDENTS: usize = 200;
    let (good, bad) = (Recorder::new("good").shared(), Recorder::new("bad").shared());
    let world = World::with(sending(&[good.clone(), bad.clone()])).await;
    bad.close();
    futures_util::future::join_all((0..INCIDENTS).map(|_| work(&world, 1))).await;
    bad.until(|bad| bad.came() > 0).await;
    // Whoever waited for the bad one would wait for ever.
    good.until(|good| good.delivered_count() == INCIDENTS).await;
    assert_eq!(bad.count(), 0, "no try of the bad one has come to its end");
    bad.open();
    bad.until(|bad| bad.delivered_count() == INCIDENTS).await;
    assert_eq!(good.count(), INCIDENTS, "and nothing was sent twice");
}
