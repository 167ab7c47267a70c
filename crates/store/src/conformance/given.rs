//! What the cases are written with: entities, events, items, short and always the same.
//!
//! Invariant: everything follows from small numbers; two calls with the same numbers are equal.

use ordo_model::{EntityId, Kind, Timestamp};
use uuid::Uuid;

use crate::{
    Alarm, Batch, Chunk, CommitOutcome, Dedup, Disposition, DueAlarm, EventActor, Item, NewEvent, RowWrite, Store,
    Trim, Version, View,
};

pub fn job(number: u128) -> EntityId {
    EntityId { kind: Kind::Job, id: Uuid::from_u128(number) }
}

pub fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms).unwrap()
}

pub fn event(name: &str) -> NewEvent {
    let data = format!("{{\"event\":\"{name}\"}}").into_bytes();
    NewEvent { at: at(1_000), kind: name.to_owned(), data, actor: EventActor::Ordo }
}

pub fn alarm(ms: i64) -> Alarm {
    Alarm { at: at(ms), rank: 5 }
}

/// An item with one event named after the version it makes.
pub fn item(entity: EntityId, expected: Version) -> Item {
    let name = format!("e{}", expected + 1);
    Item {
        entity,
        expected,
        events: vec![event(&name)],
        disposition: Disposition::Keep { snapshot: name.into_bytes(), alarm: None },
        rows: Vec::new(),
        dedup: Vec::new(),
        trim: None,
        forget_chunks: Vec::new(),
    }
}

pub fn purge(entity: EntityId, expected: Version) -> Item {
    Item { disposition: Disposition::Purge, events: Vec::new(), ..item(entity, expected) }
}

pub fn trim(entity: EntityId, expected: Version, through: Version) -> Item {
    let trim = Some(Trim { through, checkpoint: event("checkpoint") });
    Item { events: Vec::new(), trim, ..item(entity, expected) }
}

pub fn put(view: View, key: &[u8], value: &[u8]) -> RowWrite {
    RowWrite { view, key: key.to_vec(), value: Some(value.to_vec()) }
}

pub fn delete(view: View, key: &[u8]) -> RowWrite {
    RowWrite { view, key: key.to_vec(), value: None }
}

/// Taken at `now`, good until `until`.
pub fn once(key: &str, now: i64, until: i64, value: &str) -> Dedup {
    Dedup { key: key.into(), at: at(now), until: at(until), value: value.into() }
}

pub fn chunk(owner: u128, seq: u64, text: &str) -> Chunk {
    Chunk { owner: Uuid::from_u128(owner), seq, bytes: text.into() }
}

impl Item {
    #[must_use]
    pub fn with_alarm(mut self, alarm: Option<Alarm>) -> Item {
        if let Disposition::Keep { alarm: slot, .. } = &mut self.disposition {
            *slot = alarm;
        }
        self
    }

    #[must_use]
    pub fn with_rows(self, rows: Vec<RowWrite>) -> Item {
        Item { rows, ..self }
    }

    #[must_use]
    pub fn with_dedup(self, dedup: Vec<Dedup>) -> Item {
        Item { dedup, ..self }
    }
}

/// Commits the items as one batch.
pub async fn commit(store: &dyn Store, items: Vec<Item>) -> Vec<CommitOutcome> {
    store.commit(Batch { items, chunks: Vec::new() }).await.unwrap()
}

/// Commits one item that must be accepted; returns the new version.
pub async fn accept(store: &dyn Store, item: Item) -> Version {
    match commit(store, vec![item]).await.as_slice() {
        [CommitOutcome::Committed { version, .. }] => *version,
        other => panic!("not committed: {other:?}"),
    }
}

/// A stream with this many events, each with its own commit.
pub async fn grow(store: &dyn Store, entity: EntityId, events: Version) {
    for expected in 0..events {
        accept(store, item(entity, expected)).await;
    }
}

pub async fn version(store: &dyn Store, entity: EntityId) -> Version {
    store.load(&[entity]).await.unwrap()[0].as_ref().map_or(0, |snapshot| snapshot.version)
}

/// The kinds of a stream's events.
pub async fn kinds(store: &dyn Store, entity: EntityId) -> Vec<String> {
    let history = store.history(entity, 0, 1_000).await.unwrap();
    history.events.into_iter().map(|event| event.kind).collect()
}

/// All alarms there are.
pub async fn due(store: &dyn Store) -> Vec<DueAlarm> {
    store.due(Timestamp::MAX, None, 1_000).await.unwrap()
}

/// All positions in the log.
pub async fn positions(store: &dyn Store) -> Vec<String> {
    let events = store.events(&Default::default(), 10_000).await.unwrap();
    events.into_iter().map(|event| event.position.0).collect()
}
