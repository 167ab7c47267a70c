//! Turns batches into rows of an overlay, guarded by what the layers below it hold.
//!
//! Invariant: an item's guards are all checked before its first write, so a refused item leaves nothing behind.
//! Items apply in order and see what earlier ones wrote. Nothing of it reaches a reader or redb from here.

use std::ops::{Bound, ControlFlow};

use bytes::BytesMut;
use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Alarm, Batch, Chunk, CommitOutcome, Dedup, Direction, Disposition, Fault, Item, NewEvent, RowWrite, Version,
};

use crate::overlay::Overlay;
use crate::quota::Judged;
use crate::tables::keys::{alarm_key, chunk_key, entity_key, expiry_key, position, stream_key};
use crate::tables::layers::{Layers, ReadView};
use crate::tables::values::{Header, read_dedup, read_header, write_dedup, write_event, write_snapshot};
use crate::tables::{EntityKey, TableId};

/// Blocks of rows are no larger, but for a row that is: the allocator has such blocks at hand, and asks the system for
/// larger ones each time.
const BLOCK_BYTES_MAX: usize = 64 * 1024;

/// The next state of the active overlay, while it is made.
pub(crate) struct Writing<'m> {
    moment: &'m ReadView,
    pub(crate) next: Overlay,
    /// Values are built here, so that an item costs no allocation for them;
    pub(crate) value: Vec<u8>,
    /// and here lie the rows themselves.
    block: BytesMut,
}

impl<'m> Writing<'m> {
    /// `bytes`: about how many there will be.
    pub(crate) fn begin(moment: &'m ReadView, bytes: usize) -> Result<Writing<'m>, Fault> {
        Writing::expect_complete(moment)?;
        Ok(Writing::for_rebuild(moment, bytes))
    }

    pub(crate) fn expect_complete(moment: &ReadView) -> Result<(), Fault> {
        if !moment.base.is_rebuilding {
            return Ok(());
        }
        Err(Fault::damaged("a rebuild of the derived tables did not come to its end: run `ordo store reindex` again"))
    }

    pub(crate) fn for_rebuild(moment: &'m ReadView, bytes: usize) -> Writing<'m> {
        let next = Overlay::clone(&moment.active);
        let block = BytesMut::with_capacity(bytes.min(BLOCK_BYTES_MAX));
        Writing { moment, next, value: Vec::with_capacity(1024), block }
    }

    pub(crate) fn end(self) -> Overlay {
        self.next
    }

    pub(crate) fn layers(&self) -> Layers<'_> {
        self.moment.layers_under(&self.next)
    }

    pub(crate) fn apply(&mut self, batch: &Batch) -> Result<Vec<CommitOutcome>, Fault> {
        for chunk in &batch.chunks {
            self.put_chunk(chunk);
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
        let starts = match self.judge(item)? {
            Judged::Within(starts) => starts,
            Judged::UsedUp(exhausted) => return Ok(exhausted),
        };
        let outcome = match &item.disposition {
            Disposition::Keep { snapshot, alarm } => {
                self.expect_end_of_stream(item.entity, before.version)?;
                let version = self.append(item.entity, before.version, &item.events);
                self.put_snapshot(
                    item.entity,
                    before.alarm,
                    Header { version, alarm: stored(item.entity, *alarm) },
                    snapshot,
                );
                self.next.growth.entities += i64::from(before.version == 0);
                if let Some(trim) = &item.trim {
                    self.trim(item.entity, trim)?;
                }
                let last = (!item.events.is_empty()).then(|| position(self.next.mark.position));
                CommitOutcome::Committed { version, last }
            }
            Disposition::Purge => {
                self.purge_stream(item.entity)?;
                self.delete(TableId::Snapshots, &key);
                self.next.growth.entities -= i64::from(before.version > 0);
                self.move_alarm(item.entity, before.alarm, None);
                CommitOutcome::Committed { version: 0, last: None }
            }
        };
        self.put_rows(&item.rows);
        for entry in &item.dedup {
            ordo_model::planted!(DedupForgotten, break);
            self.put_dedup(entry)?;
        }
        for start in &starts {
            self.put_dedup(start)?;
        }
        for owner in &item.forget_chunks {
            self.forget_chunks(*owner)?;
        }
        Ok(outcome)
    }

    /// The first key that is there and not expired.
    fn duplicate(&self, entries: &[Dedup]) -> Result<Option<CommitOutcome>, Fault> {
        for entry in entries {
            let found = self.layers().get(TableId::Dedup, &entry.key, |found| {
                let (until, value) = read_dedup(found)?;
                Ok((until > entry.at).then(|| value.to_vec()))
            })?;
            if let Some(value) = found.flatten() {
                return Ok(Some(CommitOutcome::Duplicate { key: entry.key.clone(), value }));
            }
        }
        Ok(None)
    }

    pub(crate) fn header(&self, key: &EntityKey) -> Result<Header, Fault> {
        Ok(self.layers().get(TableId::Snapshots, key, read_header)?.unwrap_or_default())
    }

    /// Events may be appended at this version. A snapshot that lies in an overlay was written with the events before it;
    /// one that redb holds may have been damaged with the file.
    fn expect_end_of_stream(&self, entity: EntityId, version: Version) -> Result<(), Fault> {
        let layers = self.layers();
        if layers.is_overlaid(TableId::Snapshots, &entity_key(entity)) {
            return Ok(());
        }
        let next = version + 1;
        match layers.get(TableId::Streams, &stream_key(entity, next), |_| Ok(()))? {
            None => Ok(()),
            Some(()) => Err(Fault::damaged(format!(
                "{entity} has an event of version {next} already, but its snapshot is older or missing: \
                 run `ordo store reindex`"
            ))),
        }
    }

    fn append(&mut self, entity: EntityId, mut version: Version, events: &[NewEvent]) -> Version {
        for event in events {
            version += 1;
            self.put_event(entity, version, event);
        }
        version
    }

    pub(crate) fn put_event(&mut self, entity: EntityId, version: Version, event: &NewEvent) {
        self.next.mark.position += 1;
        self.next.growth.events += 1;
        let position = self.next.mark.position.to_be_bytes();
        write_event(&mut self.value, entity, version, event);
        self.put_value(TableId::Events, &position);
        self.next.put(TableId::Streams, &stream_key(entity, version), &position, &mut self.block);
    }

    /// Puts what was written to `value`.
    pub(crate) fn put_value(&mut self, table: TableId, key: &[u8]) {
        self.next.put(table, key, &self.value, &mut self.block);
    }

    pub(crate) fn delete(&mut self, table: TableId, key: &[u8]) {
        self.next.delete(table, key, &mut self.block);
    }

    pub(crate) fn put_snapshot(&mut self, entity: EntityId, old: Option<Alarm>, header: Header, state: &[u8]) {
        write_snapshot(&mut self.value, header, state);
        self.put_value(TableId::Snapshots, &entity_key(entity));
        self.move_alarm(entity, old, header.alarm);
    }

    fn move_alarm(&mut self, entity: EntityId, old: Option<Alarm>, new: Option<Alarm>) {
        if old == new {
            return;
        }
        self.next.growth.alarms += i64::from(new.is_some()) - i64::from(old.is_some());
        if let Some(old) = old
            && new.is_none_or(|new| new.at != old.at)
        {
            self.delete(TableId::Alarms, &alarm_key(old.at, entity.id));
        }
        if let Some(new) = new {
            let value = [entity.kind.code(), new.rank];
            self.next.put(TableId::Alarms, &alarm_key(new.at, entity.id), &value, &mut self.block);
        }
    }

    pub(crate) fn put_rows(&mut self, writes: &[RowWrite]) {
        for write in writes {
            let table = TableId::Rows(write.view);
            match &write.value {
                Some(value) => self.next.put(table, &write.key, value, &mut self.block),
                None => self.delete(table, &write.key),
            }
        }
    }

    pub(crate) fn put_dedup(&mut self, entry: &Dedup) -> Result<(), Fault> {
        let expiry_of = |old: &[u8]| read_dedup(old).map(|(until, _)| until);
        if let Some(until) = self.layers().get(TableId::Dedup, &entry.key, expiry_of)? {
            self.delete(TableId::DedupExpiry, &expiry_key(until, &entry.key));
        }
        write_dedup(&mut self.value, entry.until, &entry.value);
        self.put_value(TableId::Dedup, &entry.key);
        self.next.put(TableId::DedupExpiry, &expiry_key(entry.until, &entry.key), &[], &mut self.block);
        Ok(())
    }

    /// Forgets up to `limit` keys that expired at or before `now`.
    pub(crate) fn forget_dedup(&mut self, now: Timestamp, limit: usize) -> Result<usize, Fault> {
        let end = (now.ms().unsigned_abs() + 1).to_be_bytes();
        let expired = self.keys(TableId::DedupExpiry, (Bound::Unbounded, Bound::Excluded(&end)), limit)?;
        for key in &expired {
            self.delete(TableId::DedupExpiry, key);
            self.delete(TableId::Dedup, key.get(8..).ok_or_else(|| Fault::damaged("a short key of an expiry"))?);
        }
        Ok(expired.len())
    }

    pub(crate) fn put_chunk(&mut self, chunk: &Chunk) {
        let key = chunk_key(chunk.owner, chunk.seq);
        self.next.put(TableId::Chunks, &key, &chunk.bytes, &mut self.block);
    }

    fn forget_chunks(&mut self, owner: uuid::Uuid) -> Result<(), Fault> {
        let (first, last) = (chunk_key(owner, 0), chunk_key(owner, u64::MAX));
        let chunks = self.keys(TableId::Chunks, (Bound::Included(&first), Bound::Included(&last)), usize::MAX)?;
        chunks.iter().for_each(|key| self.delete(TableId::Chunks, key));
        Ok(())
    }

    pub(crate) fn keys(
        &self,
        table: TableId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        limit: usize,
    ) -> Result<Vec<Vec<u8>>, Fault> {
        let mut keys = Vec::new();
        if limit == 0 {
            return Ok(keys);
        }
        self.layers().scan(table, bounds, Direction::Ascending, &mut |key, _| {
            keys.push(key.to_vec());
            Ok(if keys.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(keys)
    }
}

/// The alarm that is stored with an entity.
fn stored(_entity: EntityId, alarm: Option<Alarm>) -> Option<Alarm> {
    ordo_model::planted!(AlarmForgotten, return alarm.filter(|_| _entity.kind == ordo_model::Kind::Job));
    alarm
}
