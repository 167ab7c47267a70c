//! Quotas: what many entities share is never exceeded, whoever commits, and comes free again.

use std::sync::Arc;

use ordo_model::Millis;

use super::StoreUnderTest;
use super::given::{accept, at, commit, delete, item, job, positions, put, version};
use crate::{Batch, CommitOutcome, Item, KeyRange, Quota, QuotaLimit, Store, View};

pub async fn as_many_rows_as_the_quota_says_and_no_more(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 2)).await;
    accept(&*store, holding(2, 2)).await;
    assert_eq!(commit(&*store, vec![holding(3, 2)]).await, [used_up("k", None)]);
    accept(&*store, holding(3, 3)).await;
}

pub async fn an_exhausted_item_writes_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 1)).await;
    let before = positions(&*store).await;
    commit(&*store, vec![holding(2, 1)]).await;
    assert_eq!((version(&*store, job(2)).await, positions(&*store).await), (0, before));
    assert_eq!(holders(&*store).await, 1);
}

pub async fn an_exhausted_item_does_not_stop_the_others(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let outcomes = commit(&*store, vec![holding(1, 1), holding(2, 1), item(job(3), 0)]).await;
    assert!(matches!(outcomes[0], CommitOutcome::Committed { .. }));
    assert_eq!(outcomes[1], used_up("k", None));
    assert!(matches!(outcomes[2], CommitOutcome::Committed { .. }));
}

pub async fn a_row_that_goes_frees_its_share(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 1)).await;
    accept(&*store, released(1, 1)).await;
    accept(&*store, holding(2, 1)).await;
}

pub async fn a_share_that_is_freed_earlier_in_a_batch_can_be_taken_in_it(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 1)).await;
    let outcomes = commit(&*store, vec![released(1, 1), holding(2, 1), holding(3, 1)]).await;
    assert!(matches!(outcomes[..2], [CommitOutcome::Committed { .. }, CommitOutcome::Committed { .. }]));
    assert_eq!(outcomes[2], used_up("k", None));
}

pub async fn an_item_may_hand_its_share_on_to_itself(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 1)).await;
    let rows = vec![delete(View::Index, b"k/1"), put(View::Index, b"k/1b", b"")];
    accept(&*store, item(job(1), 1).with_rows(rows).with_quotas(vec![rows_of("k", 1)])).await;
    assert_eq!(holders(&*store).await, 1);
}

pub async fn quotas_with_other_keys_are_their_own(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 1)).await;
    let other = item(job(2), 0).with_rows(vec![put(View::Index, b"l/2", b"")]).with_quotas(vec![rows_of("l", 1)]);
    accept(&*store, other).await;
}

pub async fn one_of_several_quotas_that_is_used_up_refuses_the_item(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 1)).await;
    let both = holding(2, 1);
    let both = Item { quotas: vec![rate("r", 0, 100, 1), both.quotas[0].clone()], ..both };
    assert_eq!(commit(&*store, vec![both]).await, [used_up("k", None)]);
    // What it would have taken of the other one is not taken.
    accept(&*store, item(job(3), 0).with_quotas(vec![rate("r", 0, 100, 1)])).await;
}

pub async fn a_conflict_is_found_before_a_quota_is_judged(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, holding(1, 1)).await;
    let stale = Item { expected: 7, ..holding(2, 1) };
    assert_eq!(commit(&*store, vec![stale]).await, [CommitOutcome::Conflict { actual: 0 }]);
}

pub async fn in_no_window_are_there_more_than_the_rate_says(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let mut begun: Vec<i64> = Vec::new();
    for ms in 0..60 {
        let number = ms as u128 + 1;
        let outcome = commit(&*store, vec![item(job(number), 0).with_quotas(vec![rate("r", ms, 20, 3)])]).await;
        match outcome.as_slice() {
            [CommitOutcome::Committed { .. }] => begun.push(ms),
            [CommitOutcome::Exhausted { until: Some(until), .. }] => {
                assert_eq!(*until, at(begun[begun.len() - 3] + 20));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(begun, [0, 1, 2, 20, 21, 22, 40, 41, 42]);
}

pub async fn starts_of_one_batch_count_for_each_other(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let start = |number| item(job(number), 0).with_quotas(vec![rate("r", 0, 100, 2)]);
    let outcomes = commit(&*store, (1..=4).map(start).collect()).await;
    assert!(matches!(outcomes[..2], [CommitOutcome::Committed { .. }, CommitOutcome::Committed { .. }]));
    assert_eq!(outcomes[2..], [used_up("r", Some(100)), used_up("r", Some(100))]);
}

pub async fn an_item_may_start_several_or_none(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let three = vec![rate("r", 0, 100, 2); 3];
    assert_eq!(commit(&*store, vec![item(job(1), 0).with_quotas(three)]).await, [used_up("r", Some(100))]);
    accept(&*store, item(job(1), 0).with_quotas(vec![rate("r", 1, 100, 2); 2])).await;
    assert_eq!(
        commit(&*store, vec![item(job(2), 0).with_quotas(vec![rate("r", 50, 100, 2)])]).await,
        [used_up("r", Some(101))]
    );
}

pub async fn a_start_that_lies_ahead_does_not_close_a_rate(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_quotas(vec![rate("r", 900_000, 100, 1)])).await;
    accept(&*store, item(job(2), 0).with_quotas(vec![rate("r", 0, 100, 1)])).await;
}

pub async fn a_start_by_a_clock_that_is_a_little_ahead_counts(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_quotas(vec![rate("r", 1_001, 100, 1)])).await;
    let second = item(job(2), 0).with_quotas(vec![rate("r", 1_000, 100, 1)]);
    assert_eq!(commit(&*store, vec![second]).await, [used_up("r", Some(1_101))]);
}

pub async fn starts_are_remembered_after_reopening_and_forgotten_in_time(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_quotas(vec![rate("r", 0, 100, 1)])).await;
    drop(store);
    let store = place.open().await;
    let second = |ms| item(job(2), 0).with_quotas(vec![rate("r", ms, 100, 1)]);
    assert_eq!(commit(&*store, vec![second(99)]).await, [used_up("r", Some(100))]);
    assert_eq!(store.forget_dedup(at(99), 10).await.unwrap(), 0);
    assert_eq!(store.forget_dedup(at(100), 10).await.unwrap(), 1);
    accept(&*store, second(100)).await;
}

pub async fn of_many_concurrent_commits_as_many_get_a_share_as_there_are(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let commits: Vec<_> = (1..=40)
        .map(|number| {
            let store: Arc<dyn Store> = store.clone();
            tokio::spawn(async move {
                let batch = Batch { items: vec![holding(number, 7)], chunks: Vec::new() };
                matches!(store.commit(batch).await.unwrap()[..], [CommitOutcome::Committed { .. }])
            })
        })
        .collect();
    let mut got = 0;
    for commit in commits {
        got += usize::from(commit.await.unwrap());
    }
    assert_eq!((got, holders(&*store).await), (7, 7));
}

fn rows_of(key: &str, max: u32) -> Quota {
    Quota { key: format!("{key}/").into_bytes(), limit: QuotaLimit::Rows { view: View::Index, max } }
}

fn rate(key: &str, ms: i64, per_ms: u64, max: u32) -> Quota {
    let limit = QuotaLimit::Rate { at: at(ms), per: Millis::from_ms(per_ms), max };
    Quota { key: format!("{key}/").into_bytes(), limit }
}

fn holding(number: u128, max: u32) -> Item {
    let row = put(View::Index, format!("k/{number}").as_bytes(), b"");
    item(job(number), 0).with_rows(vec![row]).with_quotas(vec![rows_of("k", max)])
}

fn released(number: u128, expected: u64) -> Item {
    item(job(number), expected).with_rows(vec![delete(View::Index, format!("k/{number}").as_bytes())])
}

async fn holders(store: &dyn Store) -> usize {
    let range = KeyRange::prefix(b"k/");
    store.rows(View::Index, &range, crate::Direction::Ascending, 100).await.unwrap().len()
}

fn used_up(key: &str, until_ms: Option<i64>) -> CommitOutcome {
    CommitOutcome::Exhausted { key: format!("{key}/").into_bytes(), until: until_ms.map(at) }
}
