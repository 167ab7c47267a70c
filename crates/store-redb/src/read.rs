//! Reads, each inside one read transaction: it sees one moment of the store.
//!
//! Invariant: a read touches at most as many entries as it answers, plus one look-up.

use std::ops::Bound;

use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Chunk, Direction, DueAlarm, Fault, JournalStats, KeyRange, Position, Row, Snapshot, Stats, StoredEvent, StreamPage,
    Version, View,
};
use redb::{Key, ReadOnlyTable, ReadTransaction, ReadableTableMetadata, TableDefinition, Value};
use uuid::Uuid;

use crate::fault::during;
use crate::keys::{
    alarm_key, chunk_key, chunk_number_of, entity_key, entity_of, position_of, ringing_of, stream_key, stream_of,
};
use crate::tables::{
    ALARMS, AlarmKey, CHUNKS, ChunkKey, DEDUP, EVENTS, EntityKey, FORMAT, SNAPSHOTS, STREAMS, StreamKey,
    rows as rows_of,
};
use crate::values::{read_dedup, read_event, read_snapshot};

pub(crate) fn table<K: Key + 'static, V: Value + 'static>(
    read: &ReadTransaction,
    table: TableDefinition<'static, K, V>,
) -> Result<ReadOnlyTable<K, V>, Fault> {
    read.open_table(table).map_err(during("opening a table"))
}

pub(crate) fn load(read: &ReadTransaction, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
    let snapshots = table(read, SNAPSHOTS)?;
    let load = |entity: &EntityId| {
        let found = snapshots.get(&entity_key(*entity)).map_err(during("loading a snapshot"))?;
        found.map(|snapshot| read_snapshot(snapshot.value())).transpose()
    };
    entities.iter().map(load).collect()
}

pub(crate) fn history(
    read: &ReadTransaction,
    entity: EntityId,
    from: Version,
    limit: usize,
) -> Result<StreamPage, Fault> {
    let (streams, events) = (table(read, STREAMS)?, table(read, EVENTS)?);
    let end = stream_key(entity, Version::MAX);
    let first = streams.range::<&StreamKey>(&stream_key(entity, 0)..=&end).map_err(during("reading a stream"))?.next();
    let oldest = match first.transpose().map_err(during("reading a stream"))? {
        Some((key, _)) => stream_of(key.value())?.1,
        None => return Ok(StreamPage::default()),
    };
    let mut found = Vec::new();
    for entry in
        streams.range::<&StreamKey>(&stream_key(entity, from)..=&end).map_err(during("reading a stream"))?.take(limit)
    {
        let (_, position) = entry.map_err(during("reading a stream"))?;
        let position = position.value();
        let event = events.get(position).map_err(during("reading an event"))?;
        let event = event.ok_or_else(|| Fault::damaged(format!("{entity} lacks its event at position {position}")))?;
        found.push(read_event(position, event.value())?);
    }
    Ok(StreamPage { events: found, oldest })
}

pub(crate) fn events(read: &ReadTransaction, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
    let after = position_of(after)?;
    let events = table(read, EVENTS)?;
    let range = (Bound::Excluded(after), Bound::<u64>::Unbounded);
    let mut found = Vec::new();
    for entry in events.range(range).map_err(during("reading events"))?.take(limit) {
        let (position, event) = entry.map_err(during("reading events"))?;
        found.push(read_event(position.value(), event.value())?);
    }
    Ok(found)
}

pub(crate) fn due(
    read: &ReadTransaction,
    until: Timestamp,
    after: Option<DueAlarm>,
    limit: usize,
) -> Result<Vec<DueAlarm>, Fault> {
    if after.is_some_and(|after| after.at > until) {
        return Ok(Vec::new());
    }
    let last = alarm_key(until, Uuid::max());
    let first = after.map(|after| alarm_key(after.at, after.entity.id));
    let from = first.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let alarms = table(read, ALARMS)?;
    let mut found = Vec::new();
    for entry in
        alarms.range::<&AlarmKey>((from, Bound::Included(&last))).map_err(during("reading alarms"))?.take(limit)
    {
        let (key, value) = entry.map_err(during("reading alarms"))?;
        found.push(ringing_of(key.value(), value.value())?);
    }
    Ok(found)
}

pub(crate) fn entities(
    read: &ReadTransaction,
    after: Option<EntityId>,
    limit: usize,
) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
    let after = after.map(entity_key);
    let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let snapshots = table(read, SNAPSHOTS)?;
    let mut found = Vec::new();
    for entry in
        snapshots.range::<&EntityKey>((from, Bound::Unbounded)).map_err(during("listing entities"))?.take(limit)
    {
        let (key, value) = entry.map_err(during("listing entities"))?;
        found.push((entity_of(key.value())?, read_snapshot(value.value())?));
    }
    Ok(found)
}

/// One seek per stream: the events of each are stepped over.
pub(crate) fn streams(read: &ReadTransaction, after: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault> {
    let streams = table(read, STREAMS)?;
    let mut found: Vec<EntityId> = Vec::new();
    let mut after = after;
    while found.len() < limit {
        let edge = after.map(|entity| stream_key(entity, Version::MAX));
        let from = edge.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let next = streams.range::<&StreamKey>((from, Bound::Unbounded)).map_err(during("listing streams"))?.next();
        let Some((key, _)) = next.transpose().map_err(during("listing streams"))? else { break };
        let entity = entity_of(&stream_of(key.value())?.0)?;
        found.push(entity);
        after = Some(entity);
    }
    Ok(found)
}

pub(crate) fn row(read: &ReadTransaction, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    let found = table(read, rows_of(view))?.get(key).map_err(during("reading a row"))?;
    Ok(found.map(|value| value.value().to_vec()))
}

pub(crate) fn rows(
    read: &ReadTransaction,
    view: View,
    range: &KeyRange,
    order: Direction,
    limit: usize,
) -> Result<Vec<Row>, Fault> {
    let to = range.to.as_deref();
    if to.is_some_and(|to| to <= range.from.as_slice()) {
        return Ok(Vec::new());
    }
    let bounds = (Bound::Included(range.from.as_slice()), to.map_or(Bound::Unbounded, Bound::Excluded));
    let mut entries = table(read, rows_of(view))?.range::<&[u8]>(bounds).map_err(during("reading rows"))?;
    let mut found = Vec::new();
    while found.len() < limit {
        let next = match order {
            Direction::Ascending => entries.next(),
            Direction::Descending => entries.next_back(),
        };
        let Some(entry) = next else { break };
        let (key, value) = entry.map_err(during("reading rows"))?;
        found.push(Row { key: key.value().to_vec(), value: value.value().to_vec() });
    }
    Ok(found)
}

pub(crate) fn chunks(read: &ReadTransaction, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault> {
    let (first, last) = (chunk_key(owner, from), chunk_key(owner, u64::MAX));
    let mut found = Vec::new();
    for entry in table(read, CHUNKS)?.range::<&ChunkKey>(&first..=&last).map_err(during("reading chunks"))?.take(limit)
    {
        let (key, value) = entry.map_err(during("reading chunks"))?;
        found.push(Chunk { owner, seq: chunk_number_of(key.value())?, bytes: value.value().to_vec() });
    }
    Ok(found)
}

pub(crate) fn dedup(read: &ReadTransaction, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
    let Some(found) = table(read, DEDUP)?.get(key).map_err(during("reading a dedup key"))? else {
        return Ok(None);
    };
    let (until, value) = read_dedup(found.value())?;
    Ok((until > now).then(|| value.to_vec()))
}

pub(crate) fn stats(read: &ReadTransaction, bytes_on_disk: u64, journal: Option<JournalStats>) -> Result<Stats, Fault> {
    let mut rows = Vec::with_capacity(View::ALL.len());
    for view in View::ALL {
        rows.push((view, count(read, rows_of(view))?));
    }
    Ok(Stats {
        driver: "redb",
        format: FORMAT,
        bytes_on_disk,
        events: count(read, EVENTS)?,
        entities: count(read, SNAPSHOTS)?,
        alarms: count(read, ALARMS)?,
        chunks: count(read, CHUNKS)?,
        rows,
        journal,
    })
}

pub(crate) fn count<K: Key + 'static, V: Value + 'static>(
    read: &ReadTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<u64, Fault> {
    table(read, definition)?.len().map_err(during("counting"))
}
