//! Reopening: what was acknowledged is there, and numbers go on where they were.

use super::StoreUnderTest;
use super::given::{
    accept, alarm, at, chunk, commit, due, grow, item, job, kinds, once, positions, purge, put, version,
};
use crate::{Batch, CommitOutcome, View};

pub async fn what_was_committed_is_there_after_reopening(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let full = item(job(1), 0)
        .with_alarm(Some(alarm(5)))
        .with_rows(vec![put(View::Queue, b"k", b"v")])
        .with_dedup(vec![once("d", 0, 100, "D")]);
    store.commit(Batch { items: vec![full], chunks: vec![chunk(1, 0, "log")] }).await.unwrap();
    let before = (store.load(&[job(1)]).await.unwrap(), due(&*store).await, positions(&*store).await);
    drop(store);
    let store = place.open().await;
    assert_eq!((store.load(&[job(1)]).await.unwrap(), due(&*store).await, positions(&*store).await), before);
    assert_eq!(store.row(View::Queue, b"k").await.unwrap(), Some(b"v".to_vec()));
    assert_eq!(store.dedup(b"d", at(1)).await.unwrap(), Some(b"D".to_vec()));
    assert_eq!(store.chunks(chunk(1, 0, "").owner, 0, 10).await.unwrap(), [chunk(1, 0, "log")]);
    assert_eq!(kinds(&*store, job(1)).await, ["e1"]);
}

pub async fn positions_go_on_after_reopening(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 3).await;
    let last = store.events(&Default::default(), 10).await.unwrap().pop().unwrap().position;
    drop(store);
    let store = place.open().await;
    accept(&*store, item(job(1), 3)).await;
    let news = store.events(&last, 10).await.unwrap();
    assert_eq!(news.iter().map(|event| event.version).collect::<Vec<_>>(), [4]);
}

pub async fn positions_of_purged_events_are_not_given_again_after_reopening(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 3).await;
    let old = positions(&*store).await;
    accept(&*store, purge(job(1), 3)).await;
    drop(store);
    let store = place.open().await;
    accept(&*store, item(job(2), 0)).await;
    assert!(!old.contains(&positions(&*store).await[0]));
}

pub async fn versions_guard_across_reopening(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    drop(store);
    let store = place.open().await;
    assert_eq!(commit(&*store, vec![item(job(1), 1)]).await, [CommitOutcome::Conflict { actual: 2 }]);
    accept(&*store, item(job(1), 2)).await;
    assert_eq!(version(&*store, job(1)).await, 3);
}
