//! Commits: the guard by version, the order of items, what a refusal leaves behind (nothing).

use std::sync::Arc;

use super::StoreUnderTest;
use super::given::{accept, alarm, chunk, commit, event, grow, item, job, kinds, positions, purge, put, version};
use crate::{
    Batch, CommitOutcome, Disposition, EVENT_ACTOR_MAX_BYTES, EVENT_KIND_MAX_BYTES, EventActor, Fault, Item, NewEvent,
    Position, Store, View,
};

pub async fn a_new_stream_starts_at_version_one(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    assert_eq!(accept(&*store, item(job(1), 0)).await, 1);
    assert_eq!(version(&*store, job(1)).await, 1);
}

pub async fn several_events_of_one_item_get_consecutive_versions(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let three = Item { events: vec![event("a"), event("b"), event("c")], ..item(job(1), 0) };
    assert_eq!(accept(&*store, three).await, 3);
    let history = store.history(job(1), 0, 10).await.unwrap();
    let read: Vec<_> = history.events.iter().map(|event| (event.version, event.kind.as_str())).collect();
    assert_eq!(read, [(1, "a"), (2, "b"), (3, "c")]);
}

pub async fn an_item_without_events_keeps_the_version(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 1).await;
    let quiet = Item { events: Vec::new(), disposition: keep("other"), ..item(job(1), 1) };
    let outcomes = commit(&*store, vec![quiet]).await;
    assert_eq!(outcomes, [CommitOutcome::Committed { version: 1, last: None }]);
    assert_eq!(store.load(&[job(1)]).await.unwrap()[0].as_ref().unwrap().state, b"other");
}

pub async fn a_stale_version_is_a_conflict_with_the_actual_one(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 3).await;
    assert_eq!(commit(&*store, vec![item(job(1), 2)]).await, [CommitOutcome::Conflict { actual: 3 }]);
    assert_eq!(commit(&*store, vec![item(job(1), 4)]).await, [CommitOutcome::Conflict { actual: 3 }]);
}

pub async fn creating_what_exists_is_a_conflict(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 1).await;
    assert_eq!(commit(&*store, vec![item(job(1), 0)]).await, [CommitOutcome::Conflict { actual: 1 }]);
}

pub async fn changing_what_does_not_exist_is_a_conflict_with_zero(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    assert_eq!(commit(&*store, vec![item(job(1), 1)]).await, [CommitOutcome::Conflict { actual: 0 }]);
}

pub async fn a_conflict_writes_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 1).await;
    let before = (positions(&*store).await, store.load(&[job(1)]).await.unwrap(), store.stats().await.unwrap());
    let late = item(job(1), 0).with_alarm(Some(alarm(5))).with_rows(vec![put(View::Queue, b"k", b"v")]);
    assert_eq!(commit(&*store, vec![late]).await, [CommitOutcome::Conflict { actual: 1 }]);
    let after = (positions(&*store).await, store.load(&[job(1)]).await.unwrap(), store.stats().await.unwrap());
    assert_eq!((before.0, before.1, before.2.events), (after.0, after.1, after.2.events));
    assert_eq!((after.2.alarms, store.row(View::Queue, b"k").await.unwrap()), (0, None));
}

pub async fn a_conflict_does_not_stop_the_other_items(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let outcomes = commit(&*store, vec![item(job(1), 0), item(job(2), 7), item(job(3), 0)]).await;
    assert!(matches!(outcomes[0], CommitOutcome::Committed { version: 1, .. }));
    assert_eq!(outcomes[1], CommitOutcome::Conflict { actual: 0 });
    assert!(matches!(outcomes[2], CommitOutcome::Committed { version: 1, .. }));
    assert_eq!((version(&*store, job(2)).await, version(&*store, job(3)).await), (0, 1));
}

pub async fn items_of_one_entity_apply_in_order(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let outcomes = commit(&*store, vec![item(job(1), 0), item(job(1), 1), item(job(1), 2)]).await;
    assert!(matches!(outcomes[2], CommitOutcome::Committed { version: 3, .. }));
    assert_eq!(kinds(&*store, job(1)).await, ["e1", "e2", "e3"]);
    let again = commit(&*store, vec![purge(job(1), 3), item(job(1), 0)]).await;
    assert!(matches!(again[1], CommitOutcome::Committed { version: 1, .. }));
    assert_eq!(kinds(&*store, job(1)).await, ["e1"]);
}

pub async fn of_two_items_with_one_version_the_first_wins(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let second = Item { disposition: keep("second"), ..item(job(1), 0) };
    let outcomes = commit(&*store, vec![item(job(1), 0), second]).await;
    assert_eq!(outcomes[1], CommitOutcome::Conflict { actual: 1 });
    assert_eq!(store.load(&[job(1)]).await.unwrap()[0].as_ref().unwrap().state, b"e1");
}

pub async fn an_empty_batch_is_committed(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    assert_eq!(commit(&*store, Vec::new()).await, []);
}

pub async fn a_snapshot_without_any_event_is_misuse(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    misuse(&*store, Item { events: Vec::new(), ..item(job(1), 0) }).await;
}

pub async fn a_kind_without_a_name_or_with_too_long_a_name_is_misuse(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    misuse(&*store, Item { events: vec![event("")], ..item(job(1), 0) }).await;
    misuse(&*store, Item { events: vec![event(&"x".repeat(EVENT_KIND_MAX_BYTES + 1))], ..item(job(1), 0) }).await;
    accept(&*store, Item { events: vec![event(&"x".repeat(EVENT_KIND_MAX_BYTES))], ..item(job(1), 0) }).await;
}

pub async fn an_actor_without_a_byte_or_with_too_many_is_misuse(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let by = |bytes: usize| NewEvent { actor: EventActor::Recorded(vec![b'x'; bytes].into()), ..event("e") };
    for bytes in [0, EVENT_ACTOR_MAX_BYTES + 1] {
        misuse(&*store, Item { events: vec![by(bytes)], ..item(job(1), 0) }).await;
    }
    accept(&*store, Item { events: vec![by(EVENT_ACTOR_MAX_BYTES)], ..item(job(1), 0) }).await;
}

pub async fn a_misused_batch_writes_nothing(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let bad = Item { events: vec![event("")], ..item(job(2), 0) };
    let batch = Batch { items: vec![item(job(1), 0), bad], chunks: vec![chunk(1, 0, "log")] };
    assert!(matches!(store.commit(batch).await, Err(Fault::Misuse { .. })));
    assert_eq!((version(&*store, job(1)).await, store.stats().await.unwrap().chunks), (0, 0));
}

pub async fn of_many_concurrent_commits_to_one_entity_one_wins_each_version(place: &dyn StoreUnderTest) {
    const WRITERS: usize = 8;
    const ROUNDS: u64 = 5;
    let store = place.open().await;
    for round in 0..ROUNDS {
        let mut tasks = Vec::new();
        for _ in 0..WRITERS {
            let store = Arc::clone(&store);
            tasks.push(tokio::spawn(async move { commit(&*store, vec![item(job(1), round)]).await }));
        }
        let mut won = 0;
        for task in tasks {
            match task.await.unwrap().as_slice() {
                [CommitOutcome::Committed { .. }] => won += 1,
                other => assert_eq!(other, [CommitOutcome::Conflict { actual: round + 1 }]),
            }
        }
        assert_eq!(won, 1);
    }
    assert_eq!(version(&*store, job(1)).await, ROUNDS);
}

pub async fn many_concurrent_commits_to_many_entities_all_succeed(place: &dyn StoreUnderTest) {
    const WRITERS: u128 = 40;
    let store = place.open().await;
    let mut tasks = Vec::new();
    for number in 1..=WRITERS {
        let store = Arc::clone(&store);
        tasks.push(tokio::spawn(async move { grow(&*store, job(number), 3).await }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let log = positions(&*store).await;
    assert_eq!(log.len(), 3 * WRITERS as usize);
    assert_eq!(store.entities(None, 1_000).await.unwrap().len(), WRITERS as usize);
}

pub async fn large_values_come_back_whole(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let large = |byte: u8| vec![byte; 1024 * 1024];
    let mut big = Item { disposition: Disposition::Keep { snapshot: large(b's'), alarm: None }, ..item(job(1), 0) };
    big.events[0].data = large(b'e');
    big.rows = vec![put(View::Queue, b"big", &large(b'r'))];
    let chunks = vec![crate::Chunk { bytes: large(b'c'), ..chunk(1, 0, "") }];
    store.commit(Batch { items: vec![big], chunks }).await.unwrap();
    assert_eq!(store.load(&[job(1)]).await.unwrap()[0].as_ref().unwrap().state, large(b's'));
    assert_eq!(store.events(&Position::default(), 1).await.unwrap()[0].data, large(b'e'));
    assert_eq!(store.row(View::Queue, b"big").await.unwrap(), Some(large(b'r')));
    assert_eq!(store.chunks(chunk(1, 0, "").owner, 0, 1).await.unwrap()[0].bytes, large(b'c'));
}

pub async fn a_batch_of_thousands_of_items_is_committed(place: &dyn StoreUnderTest) {
    const ITEMS: u128 = 3_000;
    let store = place.open().await;
    let outcomes = commit(&*store, (1..=ITEMS).map(|number| item(job(number), 0)).collect()).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, CommitOutcome::Committed { version: 1, .. })));
    assert_eq!(store.stats().await.unwrap().entities, ITEMS as u64);
}

fn keep(state: &str) -> Disposition {
    Disposition::Keep { snapshot: state.into(), alarm: None }
}

async fn misuse(store: &dyn Store, item: Item) {
    let answer = store.commit(Batch { items: vec![item], chunks: Vec::new() }).await;
    assert!(matches!(answer, Err(Fault::Misuse { .. })), "{answer:?}");
}

pub async fn trying_to_write_leaves_nothing_behind(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    store.try_write().await.unwrap();
    accept(&*store, item(job(1), 0)).await;
    let before = store.stats().await.unwrap();
    store.try_write().await.unwrap();
    store.try_write().await.unwrap();
    let after = store.stats().await.unwrap();
    assert_eq!((after.events, after.entities, after.rows), (before.events, before.entities, before.rows));
}
