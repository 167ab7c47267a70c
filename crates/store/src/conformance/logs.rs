//! The log: a stream by version, all streams by position.

use super::StoreUnderTest;
use super::given::{accept, at, commit, event, grow, item, job, kinds, positions, purge, trim};
use crate::{CommitOutcome, EVENT_ACTOR_MAX_BYTES, EventActor, Fault, Item, NewEvent, Position, Store, StoredEvent};

pub async fn history_pages_by_version(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 5).await;
    let page = store.history(job(1), 2, 2).await.unwrap();
    assert_eq!(page.events.iter().map(|event| event.version).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(page.oldest, 1);
    let rest = store.history(job(1), 4, 10).await.unwrap();
    assert_eq!(rest.events.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["e4", "e5"]);
    assert_eq!(store.history(job(1), 0, 0).await.unwrap().events, []);
}

pub async fn history_of_nobody_is_empty(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    assert_eq!(store.history(job(1), 0, 10).await.unwrap(), Default::default());
}

pub async fn history_from_beyond_the_end_is_empty_but_has_the_oldest(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    let beyond = store.history(job(1), 3, 10).await.unwrap();
    assert_eq!((beyond.events.len(), beyond.oldest), (0, 1));
}

pub async fn histories_of_neighbours_do_not_mix(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    for number in [1, 2, 3] {
        grow(&*store, job(number), number as u64).await;
    }
    assert_eq!(kinds(&*store, job(2)).await, ["e1", "e2"]);
    let history = store.history(job(2), 0, 10).await.unwrap();
    assert!(history.events.iter().all(|event| event.entity == job(2)));
}

pub async fn events_of_one_entity_come_by_version_and_reading_on_after_any_gives_the_rest(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    commit(&*store, vec![item(job(9), 0), item(job(1), 0), item(job(9), 1)]).await;
    accept(&*store, item(job(5), 0)).await;
    let events = store.events(&Position::default(), 10).await.unwrap();
    let versions = |entity| -> Vec<_> {
        events.iter().filter(|event| event.entity == entity).map(|event| event.version).collect()
    };
    assert_eq!([versions(job(9)), versions(job(1)), versions(job(5))], [vec![1, 2], vec![1], vec![1]]);
    for (place, event) in events.iter().enumerate() {
        assert_eq!(store.events(&event.position, 10).await.unwrap(), events[place + 1..]);
    }
}

pub async fn events_page_by_position_without_gap_or_repetition(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    for number in 1..=5 {
        grow(&*store, job(number), 5).await;
    }
    let (mut paged, mut after) = (Vec::new(), Position::default());
    loop {
        let page = store.events(&after, 7).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.position.clone();
        paged.extend(page.into_iter().map(|event| event.position.0));
    }
    assert_eq!(paged, positions(&*store).await);
    assert_eq!(paged.len(), 25);
    assert_eq!(store.events(&Position::default(), 0).await.unwrap(), []);
}

pub async fn events_after_the_last_position_are_none_until_there_are_new_ones(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    grow(&*store, job(1), 2).await;
    let last = store.events(&Position::default(), 10).await.unwrap().pop().unwrap().position;
    assert_eq!(store.events(&last, 10).await.unwrap(), []);
    accept(&*store, item(job(1), 2)).await;
    let news = store.events(&last, 10).await.unwrap();
    assert_eq!(news.iter().map(|event| event.version).collect::<Vec<_>>(), [3]);
}

pub async fn the_last_position_of_an_outcome_is_where_its_last_event_stands(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let two = Item { events: vec![event("a"), event("b")], ..item(job(1), 0) };
    let outcomes = commit(&*store, vec![two, item(job(2), 0)]).await;
    for (outcome, entity) in outcomes.into_iter().zip([job(1), job(2)]) {
        let event = store.history(entity, 0, 10).await.unwrap().events.pop().unwrap();
        assert_eq!(outcome, CommitOutcome::Committed { version: event.version, last: Some(event.position.clone()) });
        let after = store.events(&event.position, 10).await.unwrap();
        assert!(after.iter().all(|later| later.entity != entity), "{after:?}");
    }
}

pub async fn an_event_comes_back_as_it_was_given(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let data = b"{\"a\":[1,\"\\u0000\"]}".to_vec();
    let given = NewEvent { at: at(1_763_236_800_123), kind: "job_größer".into(), data, actor: EventActor::Ordo };
    accept(&*store, Item { events: vec![given.clone()], ..item(job(1), 0) }).await;
    let stored = store.history(job(1), 1, 1).await.unwrap().events.remove(0);
    assert_eq!((stored.entity, stored.version), (job(1), 1));
    assert_eq!(new(stored), given);
}

fn new(StoredEvent { at, kind, data, actor, .. }: StoredEvent) -> NewEvent {
    NewEvent { at, kind, data, actor }
}

pub async fn who_brought_an_event_about_comes_back_after_a_restart_too(place: &dyn StoreUnderTest) {
    let by = |name: &str, actor| NewEvent { actor, ..event(name) };
    let longest = EventActor::Recorded(vec![b'x'; EVENT_ACTOR_MAX_BYTES].into());
    let given = [
        by("scheduled", EventActor::Recorded(b"{\"name\":\"ana\"}".as_slice().into())),
        by("fired", EventActor::Ordo),
        by("from before", EventActor::Unknown),
        by("paused", longest),
    ];
    let store = place.open().await;
    accept(&*store, Item { events: given.to_vec(), ..item(job(1), 0) }).await;
    let expect_all = async |store: &dyn Store| {
        let history = store.history(job(1), 0, 10).await.unwrap().events;
        assert_eq!(history.into_iter().map(new).collect::<Vec<_>>(), given);
        let log = store.events(&Position::default(), 10).await.unwrap();
        assert_eq!(log.into_iter().map(new).collect::<Vec<_>>(), given);
    };
    expect_all(&*store).await;
    drop(store);
    expect_all(&*place.open().await).await;
}

pub async fn a_checkpoint_has_an_actor_of_its_own(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let by = |name: &str| NewEvent { actor: EventActor::Recorded(name.as_bytes().into()), ..event(name) };
    accept(&*store, Item { events: vec![by("ana"), by("bo"), by("cy")], ..item(job(1), 0) }).await;
    accept(&*store, trim(job(1), 3, 2)).await;
    let kept = store.history(job(1), 0, 10).await.unwrap().events.into_iter().map(|event| event.actor);
    assert_eq!(kept.collect::<Vec<_>>(), [EventActor::Ordo, by("cy").actor]);
}

pub async fn a_made_up_position_is_refused(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    let answer = store.events(&Position("no such position".into()), 10).await;
    assert!(matches!(answer, Err(Fault::NotAPosition { .. })), "{answer:?}");
    assert_eq!(store.events(&Position::default(), 10).await.unwrap(), []);
}

pub async fn the_distance_of_positions_counts_events_that_are_gone_too(place: &dyn StoreUnderTest) {
    let store = place.open().await;
    for number in 1..=4 {
        grow(&*store, job(number), 4).await;
    }
    let all = store.events(&Position::default(), 100).await.unwrap();
    let last = all.last().unwrap().position.clone();
    for (place, event) in all.iter().enumerate() {
        assert_eq!(store.distance(&Position::default(), &event.position).unwrap(), place as u64 + 1);
        assert_eq!(store.distance(&event.position, &last).unwrap(), (all.len() - place) as u64 - 1);
    }
    let (early, late) = (&all[3].position, &all[4].position);
    assert_eq!(store.distance(late, early).unwrap(), 0, "backwards there is nothing");
    // Three of job 2 become a checkpoint; job 3 goes altogether.
    accept(&*store, trim(job(2), 4, 4)).await;
    accept(&*store, purge(job(3), 4)).await;
    let kept = store.events(&Position::default(), 100).await.unwrap();
    let through = kept.last().unwrap().position.clone();
    let gone = store.distance(&Position::default(), &through).unwrap() - kept.len() as u64;
    assert_eq!(gone + store.distance(&through, &last).unwrap(), 7);
}
