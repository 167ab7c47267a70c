//! Shortens streams: a checkpoint for a prefix, or nothing for all of it.
//!
//! Invariant: an event and its entry in the stream index go together; a version and a position are never given twice.

use ordo_model::EntityId;
use ordo_store::{Fault, Trim, Version};

use redb::ReadableTable;

use crate::commit::Writing;
use crate::fault::during;
use crate::keys::stream_key;
use crate::tables::StreamKey;
use crate::values::write_event;

impl Writing<'_> {
    pub(crate) fn trim(&mut self, entity: EntityId, trim: &Trim) -> Result<(), Fault> {
        let last = stream_key(entity, trim.through);
        let kept = self.streams.get(&last).map_err(during("looking for the end of a trim"))?;
        let Some(position) = kept.map(|position| position.value()) else {
            return Ok(());
        };
        self.remove_before(entity, trim.through)?;
        write_event(&mut self.scratch, entity, trim.through, &trim.checkpoint);
        self.events.insert(position, self.scratch.as_slice()).map_err(during("writing a checkpoint"))?;
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
        let gone = self
            .streams
            .extract_from_if::<&StreamKey, _>(&first..&end, |_, _| true)
            .map_err(during("trimming a stream"))?;
        for entry in gone {
            let (_, position) = entry.map_err(during("trimming a stream"))?;
            self.events.remove(position.value()).map_err(during("removing an event"))?;
        }
        Ok(())
    }
}
