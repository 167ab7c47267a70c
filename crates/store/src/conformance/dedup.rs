//! Dedup keys: what must not happen twice, until when, and how the keys go away.

use super::StoreUnderTest;
use super::given::{accept, at, commit, item, job, once, positions, version};
use crate::CommitOutcome;

pub async fn a_second_item_with_a_key_is_a_duplicate_and_gets_the_first_value(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_dedup(vec![once("k", 0, 100, "first")])).await;
    let second = item(job(2), 0).with_dedup(vec![once("k", 50, 150, "second")]);
    assert_eq!(commit(&*store, vec![second]).await, [duplicate("k", "first")]);
}

pub async fn a_duplicate_writes_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_dedup(vec![once("k", 0, 100, "first")])).await;
    let before = positions(&*store).await;
    commit(&*store, vec![item(job(2), 0).with_dedup(vec![once("k", 50, 150, "x"), once("other", 50, 150, "x")])]).await;
    assert_eq!((version(&*store, job(2)).await, positions(&*store).await), (0, before));
    assert_eq!(store.dedup(b"other", at(60)).await.unwrap(), None);
    assert_eq!(store.dedup(b"k", at(120)).await.unwrap(), None);
}

pub async fn a_duplicate_inside_one_batch_is_found(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let items = vec![
        item(job(1), 0).with_dedup(vec![once("k", 0, 100, "first")]),
        item(job(2), 0).with_dedup(vec![once("k", 0, 100, "second")]),
    ];
    let outcomes = commit(&*store, items).await;
    assert!(matches!(outcomes[0], CommitOutcome::Committed { .. }));
    assert_eq!(outcomes[1], duplicate("k", "first"));
}

pub async fn one_known_key_of_several_makes_the_item_a_duplicate(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_dedup(vec![once("b", 0, 100, "B")])).await;
    let three = vec![once("a", 1, 100, "x"), once("b", 1, 100, "x"), once("c", 1, 100, "x")];
    assert_eq!(commit(&*store, vec![item(job(2), 0).with_dedup(three)]).await, [duplicate("b", "B")]);
}

pub async fn an_expired_key_is_no_duplicate(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_dedup(vec![once("k", 0, 100, "first")])).await;
    accept(&*store, item(job(2), 0).with_dedup(vec![once("k", 101, 200, "second")])).await;
    assert_eq!(store.dedup(b"k", at(150)).await.unwrap(), Some(b"second".to_vec()));
}

pub async fn a_key_expires_at_its_very_moment(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_dedup(vec![once("k", 0, 100, "first")])).await;
    let just_before = item(job(2), 0).with_dedup(vec![once("k", 99, 200, "x")]);
    assert_eq!(commit(&*store, vec![just_before]).await, [duplicate("k", "first")]);
    accept(&*store, item(job(2), 0).with_dedup(vec![once("k", 100, 200, "x")])).await;
}

pub async fn a_duplicate_that_is_also_a_conflict_is_a_duplicate(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let first = item(job(1), 0).with_dedup(vec![once("k", 0, 100, "first")]);
    accept(&*store, first.clone()).await;
    assert_eq!(commit(&*store, vec![first]).await, [duplicate("k", "first")]);
}

pub async fn a_key_of_a_refused_item_is_not_taken(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let refused = item(job(1), 5).with_dedup(vec![once("k", 0, 100, "refused")]);
    assert_eq!(commit(&*store, vec![refused]).await, [CommitOutcome::Conflict { actual: 0 }]);
    accept(&*store, item(job(1), 0).with_dedup(vec![once("k", 0, 100, "taken")])).await;
}

pub async fn reading_a_key_respects_its_expiry(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_dedup(vec![once("k", 0, 100, "v")])).await;
    assert_eq!(store.dedup(b"k", at(99)).await.unwrap(), Some(b"v".to_vec()));
    assert_eq!(store.dedup(b"k", at(100)).await.unwrap(), None);
    assert_eq!(store.dedup(b"unknown", at(0)).await.unwrap(), None);
}

pub async fn expired_keys_are_forgotten_and_the_others_kept(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let three = vec![once("a", 0, 100, "A"), once("b", 0, 101, "B"), once("c", 0, 102, "C")];
    accept(&*store, item(job(1), 0).with_dedup(three)).await;
    assert_eq!(store.forget_dedup(at(101), 10).await.unwrap(), 2);
    assert_eq!(store.forget_dedup(at(101), 10).await.unwrap(), 0);
    assert_eq!(store.dedup(b"a", at(0)).await.unwrap(), None);
    assert_eq!(store.dedup(b"c", at(0)).await.unwrap(), Some(b"C".to_vec()));
}

pub async fn forgetting_stops_at_its_limit(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let keys = ["a", "b", "c", "d", "e"].map(|key| once(key, 0, 100, "v")).to_vec();
    accept(&*store, item(job(1), 0).with_dedup(keys)).await;
    assert_eq!(store.forget_dedup(at(200), 2).await.unwrap(), 2);
    assert_eq!(store.forget_dedup(at(200), 2).await.unwrap(), 2);
    assert_eq!(store.forget_dedup(at(200), 2).await.unwrap(), 1);
}

pub async fn a_key_that_was_renewed_is_not_forgotten_at_its_old_expiry(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_dedup(vec![once("k", 0, 100, "old")])).await;
    accept(&*store, item(job(2), 0).with_dedup(vec![once("k", 100, 300, "new")])).await;
    assert_eq!(store.forget_dedup(at(200), 10).await.unwrap(), 0);
    assert_eq!(store.dedup(b"k", at(200)).await.unwrap(), Some(b"new".to_vec()));
}

pub async fn keys_may_be_empty_or_prefixes_of_each_other(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let keys = vec![once("", 0, 100, "none"), once("k", 0, 100, "k"), once("k\0", 0, 100, "k0")];
    accept(&*store, item(job(1), 0).with_dedup(keys)).await;
    assert_eq!(store.dedup(b"", at(0)).await.unwrap(), Some(b"none".to_vec()));
    assert_eq!(store.dedup(b"k\0", at(0)).await.unwrap(), Some(b"k0".to_vec()));
    assert_eq!(store.forget_dedup(at(100), 10).await.unwrap(), 3);
}

fn duplicate(key: &str, value: &str) -> CommitOutcome {
    CommitOutcome::Duplicate { key: key.into(), value: value.into() }
}
