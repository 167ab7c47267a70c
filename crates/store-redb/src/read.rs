//! Reads, each of one moment of the store.
//!
//! Invariant: a read touches at most as many rows as it returns, one look-up more, and what was deleted in between since
//! redb last went on.

use std::ops::{Bound, ControlFlow};

use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Chunk, Direction, DueAlarm, Fault, JournalStats, KeyRange, Position, Row, Snapshot, Stats, StoredEvent, StreamPage,
    TransferredKey, Version, View,
};
use redb::{Key, ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition, Value};
use uuid::Uuid;

use crate::fault::during;
use crate::tables::coded::Coded;
use crate::tables::keys::{
    alarm_key, chunk_key, chunk_number_of, entity_key, entity_of, number_of, position_of, ringing_of, stream_key,
    stream_of, uuid_of,
};
use crate::tables::layers::{Bounds, Layers};
use crate::tables::values::{read_dedup, read_event, read_snapshot};
use crate::tables::{AlarmKey, AlarmValue, ChunkKey, EntityKey, FORMAT, StreamKey, TableId};

pub(crate) fn table<K: Key + 'static, V: Value + 'static>(
    read: &ReadTransaction,
    table: TableDefinition<'static, K, V>,
) -> Result<ReadOnlyTable<K, V>, Fault> {
    read.open_table(table).map_err(during("opening a table"))
}

/// A number of the meta table; 0 where there is none.
pub(crate) fn number(meta: &impl ReadableTable<&'static str, u64>, name: &str) -> Result<u64, Fault> {
    let found = meta.get(name).map_err(during("reading the store's numbers"))?;
    Ok(found.map_or(0, |number| number.value()))
}

pub(crate) fn count<K: Key + 'static, V: Value + 'static>(
    read: &ReadTransaction,
    definition: TableDefinition<'static, K, V>,
) -> Result<u64, Fault> {
    table(read, definition)?.len().map_err(during("counting"))
}

/// What `read` makes of the first rows of a range.
fn collect<T>(
    layers: &Layers<'_>,
    table: TableId,
    bounds: Bounds<'_>,
    order: Direction,
    limit: usize,
    read: impl Fn(&[u8], &[u8]) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut found = Vec::new();
    if limit == 0 {
        return Ok(found);
    }
    layers.scan(table, bounds, order, &mut |key, value| {
        found.push(read(key, value)?);
        Ok(if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}

/// The same upwards.
fn upwards<T>(
    layers: &Layers<'_>,
    table: TableId,
    bounds: Bounds<'_>,
    limit: usize,
    read: impl Fn(&[u8], &[u8]) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    collect(layers, table, bounds, Direction::Ascending, limit, read)
}

fn after<K: AsRef<[u8]>>(key: Option<&K>) -> Bound<&[u8]> {
    key.map_or(Bound::Unbounded, |key| Bound::Excluded(key.as_ref()))
}

pub(crate) fn load(layers: &Layers<'_>, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
    let load = |entity: &EntityId| layers.get(TableId::Snapshots, &entity_key(*entity), read_snapshot);
    entities.iter().map(load).collect()
}

pub(crate) fn history(layers: &Layers<'_>, entity: EntityId, from: Version, limit: usize) -> Result<StreamPage, Fault> {
    let end = stream_key(entity, Version::MAX);
    let version = |key: &[u8], _: &[u8]| Ok(stream_of(<&StreamKey>::parse(key)?)?.1);
    let start = stream_key(entity, 0);
    let all = (Bound::Included(start.as_slice()), Bound::Included(end.as_slice()));
    let Some(oldest) = upwards(layers, TableId::Streams, all, 1, version)?.pop() else {
        return Ok(StreamPage::default());
    };
    let start = stream_key(entity, from);
    let wanted = (Bound::Included(start.as_slice()), Bound::Included(end.as_slice()));
    let positions = upwards(layers, TableId::Streams, wanted, limit, |_, position| number_of(position))?;
    let event = |position: u64| {
        let event = layers.get(TableId::Events, &position.to_be_bytes(), |event| read_event(position, event))?;
        event.ok_or_else(|| Fault::damaged(format!("{entity} lacks its event at position {position}")))
    };
    Ok(StreamPage { events: positions.into_iter().map(event).collect::<Result<_, _>>()?, oldest })
}

pub(crate) fn events(layers: &Layers<'_>, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
    let after = position_of(after)?.to_be_bytes();
    let bounds = (Bound::Excluded(after.as_slice()), Bound::Unbounded);
    upwards(layers, TableId::Events, bounds, limit, |position, event| read_event(number_of(position)?, event))
}

pub(crate) fn due(
    layers: &Layers<'_>,
    until: Timestamp,
    last_seen: Option<DueAlarm>,
    limit: usize,
) -> Result<Vec<DueAlarm>, Fault> {
    let last = alarm_key(until, Uuid::max());
    let first = last_seen.map(|alarm| alarm_key(alarm.at, alarm.entity.id));
    let bounds = (after(first.as_ref()), Bound::Included(last.as_slice()));
    let read = |key: &[u8], value: &[u8]| ringing_of(<&AlarmKey>::parse(key)?, <&AlarmValue>::parse(value)?);
    upwards(layers, TableId::Alarms, bounds, limit, read)
}

pub(crate) fn entities(
    layers: &Layers<'_>,
    last_seen: Option<EntityId>,
    limit: usize,
) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
    let first = last_seen.map(entity_key);
    let bounds = (after(first.as_ref()), Bound::Unbounded);
    let read = |key: &[u8], value: &[u8]| Ok((entity_of(<&EntityKey>::parse(key)?)?, read_snapshot(value)?));
    upwards(layers, TableId::Snapshots, bounds, limit, read)
}

/// One seek per stream: the events of each are stepped over.
pub(crate) fn streams(layers: &Layers<'_>, last_seen: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault> {
    let mut found: Vec<EntityId> = Vec::new();
    let mut last_seen = last_seen;
    while found.len() < limit {
        let edge = last_seen.map(|entity| stream_key(entity, Version::MAX));
        let bounds = (after(edge.as_ref()), Bound::Unbounded);
        let read = |key: &[u8], _: &[u8]| entity_of(&stream_of(<&StreamKey>::parse(key)?)?.0);
        let Some(entity) = upwards(layers, TableId::Streams, bounds, 1, read)?.pop() else { break };
        found.push(entity);
        last_seen = Some(entity);
    }
    Ok(found)
}

pub(crate) fn row(layers: &Layers<'_>, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
    layers.get(TableId::Rows(view), key, |value| Ok(value.to_vec()))
}

pub(crate) fn rows(
    layers: &Layers<'_>,
    view: View,
    range: &KeyRange,
    order: Direction,
    limit: usize,
) -> Result<Vec<Row>, Fault> {
    let bounds =
        (Bound::Included(range.from.as_slice()), range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded));
    let read = |key: &[u8], value: &[u8]| Ok(Row { key: key.to_vec(), value: value.to_vec() });
    collect(layers, TableId::Rows(view), bounds, order, limit, read)
}

pub(crate) fn chunks(layers: &Layers<'_>, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault> {
    let (first, last) = (chunk_key(owner, from), chunk_key(owner, u64::MAX));
    let bounds = (Bound::Included(first.as_slice()), Bound::Included(last.as_slice()));
    upwards(layers, TableId::Chunks, bounds, limit, read_chunk)
}

/// Chunks of all owners.
pub(crate) fn all_chunks(
    layers: &Layers<'_>,
    last_seen: Option<(Uuid, u64)>,
    limit: usize,
) -> Result<Vec<Chunk>, Fault> {
    let first = last_seen.map(|(owner, seq)| chunk_key(owner, seq));
    upwards(layers, TableId::Chunks, (after(first.as_ref()), Bound::Unbounded), limit, read_chunk)
}

fn read_chunk(key: &[u8], value: &[u8]) -> Result<Chunk, Fault> {
    let owner = uuid_of(&key[..key.len().min(16)])?;
    Ok(Chunk { owner, seq: chunk_number_of(<&ChunkKey>::parse(key)?)?, bytes: value.to_vec() })
}

pub(crate) fn dedup(layers: &Layers<'_>, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
    let found = layers.get(TableId::Dedup, key, |entry| {
        let (until, value) = read_dedup(entry)?;
        Ok((until > now).then(|| value.to_vec()))
    })?;
    Ok(found.flatten())
}

/// Dedup keys with what stands under them, expired or not.
pub(crate) fn all_keys(
    layers: &Layers<'_>,
    last_seen: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<TransferredKey>, Fault> {
    let read = |key: &[u8], entry: &[u8]| {
        let (until, value) = read_dedup(entry)?;
        Ok(TransferredKey { key: key.to_vec(), until, value: value.to_vec() })
    };
    upwards(layers, TableId::Dedup, (after(last_seen.as_ref()), Bound::Unbounded), limit, read)
}

pub(crate) fn stats(layers: &Layers<'_>, bytes_on_disk: u64, journal: Option<JournalStats>) -> Result<Stats, Fault> {
    let mut rows = Vec::with_capacity(View::ALL.len());
    for view in View::ALL {
        rows.push((view, layers.count(TableId::Rows(view))?));
    }
    Ok(Stats {
        driver: "redb",
        format: FORMAT,
        bytes_on_disk,
        events: layers.count(TableId::Events)?,
        entities: layers.count(TableId::Snapshots)?,
        alarms: layers.count(TableId::Alarms)?,
        chunks: layers.count(TableId::Chunks)?,
        rows,
        journal,
    })
}

/// About the same, without looking at rows: chunks that go with the next transaction are counted as if they came.
pub(crate) fn estimate(layers: &Layers<'_>, bytes_on_disk: u64, journal: Option<JournalStats>) -> Result<Stats, Fault> {
    let grown = layers.grown()?;
    let count = |rows: i64| u64::try_from(rows).unwrap_or_default();
    Ok(Stats {
        driver: "redb",
        format: FORMAT,
        bytes_on_disk,
        events: count(grown.events),
        entities: count(grown.entities),
        alarms: count(grown.alarms),
        chunks: layers.chunks_at_most()?,
        rows: Vec::new(),
        journal,
    })
}
