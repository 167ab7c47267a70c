//! Shortens streams: a checkpoint for a prefix, or nothing for all of it.
//!
//! Invariant: an event and its entry in the stream index go together; a version and a position are never given twice.

use std::ops::{Bound, ControlFlow};

use ordo_model::EntityId;
use ordo_store::{Direction, Fault, Trim, Version};

use crate::commit::Writing;
use crate::tables::TableId;
use crate::tables::keys::{number_of, stream_key};
use crate::tables::values::write_event;

impl Writing<'_> {
    pub(crate) fn trim(&mut self, entity: EntityId, trim: &Trim) -> Result<(), Fault> {
        let last = stream_key(entity, trim.through);
        let Some(position) = self.layers().get(TableId::Streams, &last, number_of)? else {
            return Ok(());
        };
        self.remove_before(entity, trim.through)?;
        write_event(&mut self.value, entity, trim.through, &trim.checkpoint);
        self.put_value(TableId::Events, &position.to_be_bytes());
        Ok(())
    }

    pub(crate) fn purge_stream(&mut self, entity: EntityId) -> Result<(), Fault> {
        self.remove_before(entity, Version::MAX)
    }

    fn remove_before(&mut self, entity: EntityId, end: Version) -> Result<(), Fault> {
        self.remove_between(entity, 0, end)
    }

    /// Events from the version `first` (included) to `end` (not included).
    pub(crate) fn remove_between(&mut self, entity: EntityId, first: Version, end: Version) -> Result<(), Fault> {
        let (first, end) = (stream_key(entity, first), stream_key(entity, end));
        let bounds = (Bound::Included(first.as_slice()), Bound::Excluded(end.as_slice()));
        let mut gone = Vec::new();
        self.layers().scan(TableId::Streams, bounds, Direction::Ascending, &mut |key, position| {
            gone.push((key.to_vec(), number_of(position)?));
            Ok(ControlFlow::Continue(()))
        })?;
        self.next.growth.events -= gone.len() as i64;
        for (key, position) in gone {
            self.delete(TableId::Streams, &key);
            self.delete(TableId::Events, &position.to_be_bytes());
        }
        Ok(())
    }
}
