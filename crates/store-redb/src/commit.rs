//! Applies batches inside one write transaction.
//!
//! Invariant: an item's guards are all checked before its first write, so a refused item leaves nothing behind.
//! Items apply in order and see what earlier ones of the same transaction wrote.

use ordo_model::{EntityId, Timestamp};
use ordo_store::{Alarm, Batch, Chunk, CommitOutcome, Dedup, Disposition, Fault, Item, NewEvent, RowWrite, Version};
use redb::{Key, ReadableTable, Table, TableDefinition, Value, WriteTransaction};

use crate::fault::during;
use crate::keys::{alarm_key, chunk_key, entity_key, expiry_key, position, stream_key};
use crate::tables::{
    ALARMS, AlarmKey, AlarmValue, CHUNKS, ChunkKey, DEDUP, DEDUP_EXPIRY, EVENTS, EntityKey, META, META_JOURNAL_RECORD,
    META_POSITION, META_REBUILDING, SNAPSHOTS, STREAMS, StreamKey, VIEWS, rows,
};
use crate::values::{Header, read_dedup, read_header, write_dedup, write_event, write_snapshot};

type RowTable<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// The tables of one write transaction, each opened once, the rarer ones when first needed.
pub(crate) struct Writing<'t> {
    transaction: &'t WriteTransaction,
    pub(crate) events: Table<'t, u64, &'static [u8]>,
    pub(crate) streams: Table<'t, &'static StreamKey, u64>,
    snapshots: Table<'t, &'static EntityKey, &'static [u8]>,
    alarms: Table<'t, &'static AlarmKey, &'static AlarmValue>,
    rows: [Option<RowTable<'t>>; VIEWS],
    chunks: Option<Table<'t, &'static ChunkKey, &'static [u8]>>,
    dedup: Option<Table<'t, &'static [u8], &'static [u8]>>,
    dedup_expiry: Option<Table<'t, &'static [u8], ()>>,
    /// The last position given out.
    position: u64,
    wrote: bool,
    /// Values are built here, so that an item costs no allocation for them.
    pub(crate) scratch: Vec<u8>,
}

impl<'t> Writing<'t> {
    pub(crate) fn begin(transaction: &'t WriteTransaction) -> Result<Writing<'t>, Fault> {
        let meta = open(transaction, META)?;
        if number(&meta, META_REBUILDING)? != 0 {
            return Err(Fault::damaged(
                "a rebuild of the derived tables did not come to its end: run `ordo store reindex` again",
            ));
        }
        let position = number(&meta, META_POSITION)?;
        drop(meta);
        Writing::at(transaction, position)
    }

    pub(crate) fn for_rebuild(transaction: &'t WriteTransaction) -> Result<Writing<'t>, Fault> {
        let position = number(&open(transaction, META)?, META_POSITION)?;
        Writing::at(transaction, position)
    }

    fn at(transaction: &'t WriteTransaction, position: u64) -> Result<Writing<'t>, Fault> {
        Ok(Writing {
            transaction,
            events: open(transaction, EVENTS)?,
            streams: open(transaction, STREAMS)?,
            snapshots: open(transaction, SNAPSHOTS)?,
            alarms: open(transaction, ALARMS)?,
            rows: [const { None }; VIEWS],
            chunks: None,
            dedup: None,
            dedup_expiry: None,
            position,
            wrote: false,
            scratch: Vec::with_capacity(1024),
        })
    }

    /// Closes the tables; returns whether there is anything to commit. `record`: the number of the journal record that
    /// has it.
    pub(crate) fn end_record(self, record: u64) -> Result<bool, Fault> {
        if self.wrote {
            let mut meta = open(self.transaction, META)?;
            meta.insert(META_JOURNAL_RECORD, record).map_err(during("writing the number of a record"))?;
        }
        self.end()
    }

    /// Closes the tables; returns whether there is anything to commit.
    pub(crate) fn end(self) -> Result<bool, Fault> {
        if self.wrote {
            let mut meta = open(self.transaction, META)?;
            meta.insert(META_POSITION, self.position).map_err(during("writing the last position"))?;
        }
        Ok(self.wrote)
    }

    pub(crate) fn apply(&mut self, batch: &Batch) -> Result<Vec<CommitOutcome>, Fault> {
        for chunk in &batch.chunks {
            self.put_chunk(chunk)?;
        }
        batch.items.iter().map(|item| self.apply_item(item)).collect()
    }

    fn apply_item(&mut self, item: &Item) -> Result<CommitOutcome, Fault> {
        if let Some(duplicate) = self.duplicate(&item.dedup)? {
            return Ok(duplicate);
        }
        let key = entity_key(item.entity);
        let before = self.header(&key)?;
        if before.version != item.expected {
            return Ok(CommitOutcome::Conflict { actual: before.version });
        }
        self.wrote = true;
        let outcome = match &item.disposition {
            Disposition::Keep { snapshot, alarm } => {
                let version = self.append(item.entity, before.version, &item.events)?;
                self.put_snapshot(item.entity, before.alarm, Header { version, alarm: *alarm }, snapshot)?;
                if let Some(trim) = &item.trim {
                    self.trim(item.entity, trim)?;
                }
                let last = (!item.events.is_empty()).then(|| position(self.position));
                CommitOutcome::Committed { version, last }
            }
            Disposition::Purge => {
                self.purge_stream(item.entity)?;
                self.snapshots.remove(&key).map_err(during("removing a snapshot"))?;
                self.move_alarm(item.entity, before.alarm, None)?;
                CommitOutcome::Committed { version: 0, last: None }
            }
        };
        self.put_rows(&item.rows)?;
        for entry in &item.dedup {
            self.put_dedup(entry)?;
        }
        for owner in &item.forget_chunks {
            self.forget_chunks(*owner)?;
        }
        Ok(outcome)
    }

    /// The first key that is there and not expired.
    fn duplicate(&mut self, entries: &[Dedup]) -> Result<Option<CommitOutcome>, Fault> {
        for entry in entries {
            let table = lazy(&mut self.dedup, self.transaction, DEDUP)?;
            if let Some(found) = table.get(entry.key.as_slice()).map_err(during("looking for a dedup key"))? {
                let (until, value) = read_dedup(found.value())?;
                if until > entry.at {
                    return Ok(Some(CommitOutcome::Duplicate { key: entry.key.clone(), value: value.to_vec() }));
                }
            }
        }
        Ok(None)
    }

    pub(crate) fn header(&self, key: &EntityKey) -> Result<Header, Fault> {
        match self.snapshots.get(key).map_err(during("reading a version"))? {
            Some(snapshot) => read_header(snapshot.value()),
            None => Ok(Header::default()),
        }
    }

    fn append(&mut self, entity: EntityId, mut version: Version, events: &[NewEvent]) -> Result<Version, Fault> {
        for event in events {
            version += 1;
            self.put_event(entity, version, event)?;
        }
        Ok(version)
    }

    pub(crate) fn put_event(&mut self, entity: EntityId, version: Version, event: &NewEvent) -> Result<(), Fault> {
        self.wrote = true;
        self.position += 1;
        write_event(&mut self.scratch, entity, version, event);
        self.events.insert(self.position, self.scratch.as_slice()).map_err(during("appending an event"))?;
        let streams = &mut self.streams;
        let taken = streams.insert(&stream_key(entity, version), self.position).map_err(during("indexing an event"))?;
        if taken.is_some() {
            return Err(Fault::damaged(format!(
                "{entity} has an event of version {version} already, but its snapshot is older or missing: \
                 run `ordo store reindex`"
            )));
        }
        Ok(())
    }

    pub(crate) fn put_snapshot(
        &mut self,
        entity: EntityId,
        old: Option<Alarm>,
        header: Header,
        state: &[u8],
    ) -> Result<(), Fault> {
        self.wrote = true;
        write_snapshot(&mut self.scratch, header, state);
        let value = self.scratch.as_slice();
        self.snapshots.insert(&entity_key(entity), value).map_err(during("writing a snapshot"))?;
        self.move_alarm(entity, old, header.alarm)
    }

    fn move_alarm(&mut self, entity: EntityId, old: Option<Alarm>, new: Option<Alarm>) -> Result<(), Fault> {
        if old == new {
            return Ok(());
        }
        if let Some(old) = old
            && new.is_none_or(|new| new.at != old.at)
        {
            self.alarms.remove(&alarm_key(old.at, entity.id)).map_err(during("removing an alarm"))?;
        }
        if let Some(new) = new {
            let value = [entity.kind.code(), new.rank];
            self.alarms.insert(&alarm_key(new.at, entity.id), &value).map_err(during("setting an alarm"))?;
        }
        Ok(())
    }

    pub(crate) fn put_rows(&mut self, writes: &[RowWrite]) -> Result<(), Fault> {
        for write in writes {
            let table = lazy(&mut self.rows[write.view as usize], self.transaction, rows(write.view))?;
            match &write.value {
                Some(value) => table.insert(write.key.as_slice(), value.as_slice()),
                None => table.remove(write.key.as_slice()),
            }
            .map_err(during("writing a row"))?;
        }
        Ok(())
    }

    pub(crate) fn put_dedup(&mut self, entry: &Dedup) -> Result<(), Fault> {
        self.wrote = true;
        let table = lazy(&mut self.dedup, self.transaction, DEDUP)?;
        let expiry = lazy(&mut self.dedup_expiry, self.transaction, DEDUP_EXPIRY)?;
        write_dedup(&mut self.scratch, entry.until, &entry.value);
        let replaced = table
            .insert(entry.key.as_slice(), self.scratch.as_slice())
            .map_err(during("writing a dedup key"))?
            .map(|old| read_dedup(old.value()).map(|(until, _)| until))
            .transpose()?;
        if let Some(until) = replaced {
            expiry.remove(expiry_key(until, &entry.key).as_slice()).map_err(during("replacing a dedup key"))?;
        }
        expiry.insert(expiry_key(entry.until, &entry.key).as_slice(), ()).map_err(during("writing a dedup key"))?;
        Ok(())
    }

    /// Forgets up to `limit` keys that expired at or before `now`.
    pub(crate) fn forget_dedup(&mut self, now: Timestamp, limit: usize) -> Result<usize, Fault> {
        let table = lazy(&mut self.dedup, self.transaction, DEDUP)?;
        let expiry = lazy(&mut self.dedup_expiry, self.transaction, DEDUP_EXPIRY)?;
        let end = (now.ms().unsigned_abs() + 1).to_be_bytes();
        let mut expired =
            expiry.extract_from_if(..end.as_slice(), |_, ()| true).map_err(during("looking for expired dedup keys"))?;
        let mut forgotten = 0;
        for entry in expired.by_ref().take(limit) {
            let (key, _) = entry.map_err(during("forgetting a dedup key"))?;
            table.remove(&key.value()[8..]).map_err(during("forgetting a dedup key"))?;
            forgotten += 1;
        }
        self.wrote |= forgotten > 0;
        Ok(forgotten)
    }

    pub(crate) fn put_chunk(&mut self, chunk: &Chunk) -> Result<(), Fault> {
        self.wrote = true;
        let table = lazy(&mut self.chunks, self.transaction, CHUNKS)?;
        let key = chunk_key(chunk.owner, chunk.seq);
        table.insert(&key, chunk.bytes.as_slice()).map_err(during("writing a chunk"))?;
        Ok(())
    }

    fn forget_chunks(&mut self, owner: uuid::Uuid) -> Result<(), Fault> {
        let table = lazy(&mut self.chunks, self.transaction, CHUNKS)?;
        let (first, last) = (chunk_key(owner, 0), chunk_key(owner, u64::MAX));
        table.retain_in::<&ChunkKey, _>(&first..=&last, |_, _| false).map_err(during("forgetting chunks"))
    }
}

fn open<'t, K: Key + 'static, V: Value + 'static>(
    transaction: &'t WriteTransaction,
    table: TableDefinition<'static, K, V>,
) -> Result<Table<'t, K, V>, Fault> {
    transaction.open_table(table).map_err(during("opening a table"))
}

fn lazy<'s, 't, K: Key + 'static, V: Value + 'static>(
    slot: &'s mut Option<Table<'t, K, V>>,
    transaction: &'t WriteTransaction,
    table: TableDefinition<'static, K, V>,
) -> Result<&'s mut Table<'t, K, V>, Fault> {
    match slot {
        Some(open) => Ok(open),
        empty => Ok(empty.insert(open(transaction, table)?)),
    }
}

/// A number of the meta table; 0 where there is none.
pub(crate) fn number(meta: &impl ReadableTable<&'static str, u64>, name: &str) -> Result<u64, Fault> {
    let found = meta.get(name).map_err(during("reading the store's numbers"))?;
    Ok(found.map_or(0, |number| number.value()))
}
