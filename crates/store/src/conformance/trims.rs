//! Trims and purges: what goes, what stays, and that numbers are never used twice.

use super::StoreUnderTest;
use super::given::{
    accept, alarm, at, commit, due, event, grow, item, job, kinds, positions, purge, put, trim, version,
};
use crate::{Batch, CommitOutcome, Fault, Item, Position, StreamPage, View};

pub async fn a_checkpoint_replaces_the_prefix_and_keeps_version_and_position(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 5).await;
    let before = store.history(job(1), 0, 10).await.unwrap();
    let outcomes = commit(&*store, vec![trim(job(1), 5, 3)]).await;
    assert_eq!(outcomes, [CommitOutcome::Committed { version: 5, last: None }]);
    let after = store.history(job(1), 0, 10).await.unwrap();
    assert_eq!(after.oldest, 3);
    assert_eq!(kinds(&*store, job(1)).await, ["checkpoint", "e4", "e5"]);
    let place_of =
        |history: &StreamPage, index: usize| (history.events[index].version, history.events[index].position.clone());
    assert_eq!(place_of(&after, 0), place_of(&before, 2));
    assert_eq!(after.events[1..], before.events[3..]);
}

pub async fn a_trim_may_cover_the_whole_stream(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 3).await;
    accept(&*store, trim(job(1), 3, 3)).await;
    let history = store.history(job(1), 0, 10).await.unwrap();
    assert_eq!((history.oldest, history.events.len(), history.events[0].version), (3, 1, 3));
    assert_eq!(version(&*store, job(1)).await, 3);
}

pub async fn a_trim_applies_after_the_items_own_events(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    let both = Item { events: vec![event("e3"), event("e4")], ..trim(job(1), 2, 3) };
    assert_eq!(accept(&*store, both).await, 4);
    assert_eq!(kinds(&*store, job(1)).await, ["checkpoint", "e4"]);
}

pub async fn the_same_trim_twice_is_once(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 5).await;
    accept(&*store, trim(job(1), 5, 3)).await;
    let once = (store.history(job(1), 0, 10).await.unwrap(), positions(&*store).await);
    accept(&*store, trim(job(1), 5, 3)).await;
    assert_eq!((store.history(job(1), 0, 10).await.unwrap(), positions(&*store).await), once);
}

pub async fn an_older_trim_changes_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 5).await;
    accept(&*store, trim(job(1), 5, 4)).await;
    let before = store.history(job(1), 0, 10).await.unwrap();
    accept(&*store, trim(job(1), 5, 2)).await;
    assert_eq!(store.history(job(1), 0, 10).await.unwrap(), before);
}

pub async fn a_trim_of_nothing_changes_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    accept(&*store, trim(job(1), 2, 0)).await;
    assert_eq!(kinds(&*store, job(1)).await, ["e1", "e2"]);
}

pub async fn a_trim_beyond_the_end_is_misuse(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    let answer = store.commit(Batch { items: vec![trim(job(1), 2, 3)], chunks: Vec::new() }).await;
    assert!(matches!(answer, Err(Fault::Misuse { .. })), "{answer:?}");
}

pub async fn events_after_a_trimmed_position_go_on_with_the_checkpoint(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 4).await;
    let first = store.events(&Position::default(), 1).await.unwrap()[0].position.clone();
    accept(&*store, trim(job(1), 4, 3)).await;
    let rest = store.events(&first, 10).await.unwrap();
    let read: Vec<_> = rest.iter().map(|event| (event.version, event.kind.as_str())).collect();
    assert_eq!(read, [(3, "checkpoint"), (4, "e4")]);
}

pub async fn a_refused_item_trims_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 3).await;
    assert_eq!(commit(&*store, vec![trim(job(1), 2, 2)]).await, [CommitOutcome::Conflict { actual: 3 }]);
    assert_eq!(kinds(&*store, job(1)).await, ["e1", "e2", "e3"]);
}

pub async fn a_stream_goes_on_after_a_trim(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 3).await;
    accept(&*store, trim(job(1), 3, 3)).await;
    accept(&*store, item(job(1), 3)).await;
    accept(&*store, trim(job(1), 4, 4)).await;
    accept(&*store, item(job(1), 4)).await;
    let history = store.history(job(1), 0, 10).await.unwrap();
    let read: Vec<_> = history.events.iter().map(|event| (event.version, event.kind.as_str())).collect();
    assert_eq!((history.oldest, read), (4, vec![(4, "checkpoint"), (5, "e5")]));
}

pub async fn a_purge_leaves_no_trace(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    accept(&*store, item(job(1), 0).with_alarm(Some(alarm(5))).with_rows(vec![put(View::Queue, b"k", b"v")])).await;
    accept(&*store, item(job(1), 1).with_alarm(Some(alarm(6)))).await;
    let mut gone = purge(job(1), 2);
    gone.events = vec![event("last words")];
    gone.rows = vec![super::given::delete(View::Queue, b"k")];
    assert_eq!(commit(&*store, vec![gone]).await, [CommitOutcome::Committed { version: 0, last: None }]);
    assert_eq!(store.load(&[job(1)]).await.unwrap(), [None]);
    assert_eq!(store.history(job(1), 0, 10).await.unwrap(), StreamPage::default());
    assert_eq!((due(&*store).await.len(), positions(&*store).await.len()), (0, 0));
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.events, stats.entities, stats.alarms), (0, 0, 0));
    assert_eq!(store.row(View::Queue, b"k").await.unwrap(), None);
}

pub async fn a_purge_keeps_the_neighbours(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    for number in [1, 2, 3] {
        accept(&*store, item(job(number), 0).with_alarm(Some(alarm(7)))).await;
    }
    accept(&*store, purge(job(2), 1)).await;
    assert_eq!((kinds(&*store, job(1)).await.len(), kinds(&*store, job(3)).await.len()), (1, 1));
    assert_eq!(store.due(at(7), None, 10).await.unwrap().len(), 2);
}

pub async fn a_purge_of_another_version_is_a_conflict(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    assert_eq!(commit(&*store, vec![purge(job(1), 1)]).await, [CommitOutcome::Conflict { actual: 2 }]);
    assert_eq!(version(&*store, job(1)).await, 2);
}

pub async fn a_purged_stream_may_begin_again_at_new_positions(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    let old = positions(&*store).await;
    accept(&*store, purge(job(1), 2)).await;
    grow(&*store, job(1), 1).await;
    let new = positions(&*store).await;
    assert!(!old.contains(&new[0]), "{new:?} was given before");
    let last = Position(old[1].clone());
    assert_eq!(store.events(&last, 10).await.unwrap().len(), 1);
}

pub async fn a_purge_of_nobody_is_harmless(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let outcomes = commit(&*store, vec![purge(job(1), 0)]).await;
    assert_eq!(outcomes, [CommitOutcome::Committed { version: 0, last: None }]);
}
