//! Rebuilds: the events are the truth, the rest comes and goes.

use super::StoreUnderTest;
use super::given::{accept, alarm, at, chunk, due, item, job, kinds, once, put};
use crate::{Batch, CommitOutcome, Fault, Rebuilt, Snapshot, Store, View};

pub async fn clearing_empties_what_is_derived_and_keeps_the_events(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    seed(&*store).await;
    store.clear_derived().await.unwrap();
    assert_eq!(store.load(&[job(1)]).await.unwrap(), [None]);
    assert_eq!(due(&*store).await, []);
    assert_eq!(store.row(View::Queue, b"k").await.unwrap(), None);
    assert_eq!(kinds(&*store, job(1)).await, ["e1", "e2"]);
}

pub async fn a_rebuild_puts_back_snapshots_alarms_and_rows(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    seed(&*store).await;
    let before = (store.load(&[job(1)]).await.unwrap(), due(&*store).await);
    store.clear_derived().await.unwrap();
    store.rebuild(vec![rebuilt()]).await.unwrap();
    store.end_rebuild().await.unwrap();
    assert_eq!((store.load(&[job(1)]).await.unwrap(), due(&*store).await), before);
    assert_eq!(store.row(View::Queue, b"k").await.unwrap(), Some(b"v".to_vec()));
    assert_eq!(accept(&*store, item(job(1), 2)).await, 3);
}

pub async fn between_clearing_and_the_end_of_a_rebuild_nothing_is_committed(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    seed(&*store).await;
    store.clear_derived().await.unwrap();
    refuses(&*store).await;
    store.rebuild(vec![rebuilt()]).await.unwrap();
    refuses(&*store).await;
    store.end_rebuild().await.unwrap();
    accept(&*store, item(job(2), 0)).await;
    store.try_write().await.unwrap();
}

pub async fn an_interrupted_rebuild_is_remembered_and_can_be_repeated(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    seed(&*store).await;
    store.clear_derived().await.unwrap();
    store.rebuild(vec![rebuilt()]).await.unwrap();
    drop(store);
    let store = place.open().await;
    refuses(&*store).await;
    store.clear_derived().await.unwrap();
    store.rebuild(vec![rebuilt()]).await.unwrap();
    store.rebuild(vec![rebuilt()]).await.unwrap();
    store.end_rebuild().await.unwrap();
    assert_eq!(due(&*store).await.len(), 1);
    accept(&*store, item(job(1), 2)).await;
}

pub async fn a_rebuild_keeps_dedup_keys_and_chunks(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    seed(&*store).await;
    store.clear_derived().await.unwrap();
    store.rebuild(vec![rebuilt()]).await.unwrap();
    store.end_rebuild().await.unwrap();
    assert_eq!(store.dedup(b"once", at(1)).await.unwrap(), Some(b"value".to_vec()));
    assert_eq!(store.stats().await.unwrap().chunks, 1);
    let again = item(job(2), 0).with_dedup(vec![once("once", 2, 100, "")]);
    let outcomes = store.commit(Batch { items: vec![again], chunks: Vec::new() }).await.unwrap();
    assert_eq!(outcomes, [CommitOutcome::Duplicate { key: b"once".to_vec(), value: b"value".to_vec() }]);
}

async fn seed(store: &dyn Store) {
    let first = item(job(1), 0).with_dedup(vec![once("once", 0, 100, "value")]);
    store.commit(Batch { items: vec![first], chunks: vec![chunk(1, 0, "log")] }).await.unwrap();
    accept(store, item(job(1), 1).with_alarm(Some(alarm(500))).with_rows(vec![put(View::Queue, b"k", b"v")])).await;
}

/// What a fold over the events of `seed` finds.
fn rebuilt() -> Rebuilt {
    let snapshot = Snapshot { version: 2, alarm: Some(alarm(500)), state: b"e2".to_vec() };
    Rebuilt { entity: job(1), snapshot, rows: vec![put(View::Queue, b"k", b"v")] }
}

async fn refuses(store: &dyn Store) {
    let answer = store.commit(Batch { items: vec![item(job(9), 0)], chunks: Vec::new() }).await;
    assert!(matches!(answer, Err(Fault::Damaged { .. })), "{answer:?}");
    let tried = store.try_write().await;
    assert!(matches!(&tried, Err(Fault::Damaged { what }) if what.contains("reindex")), "{tried:?}");
}
