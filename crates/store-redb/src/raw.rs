//! The bytes of a batch, written by a bare redb loop: no guards, no decisions, no queue. What a store could reach at
//! best with this layout; `ordo bench` compares itself with it.
//!
//! Only new entities: each item begins its stream.

use std::path::Path;

use ordo_store::{Batch, Disposition, Fault, Item};
use redb::{Database, WriteTransaction};

use crate::fault::during;
use crate::tables::keys::{alarm_key, entity_key, stream_key};
use crate::tables::values::{Header, write_event, write_snapshot};
use crate::tables::{ALARMS, EVENTS, SNAPSHOTS, STREAMS, VIEWS, rows};

#[derive(Debug)]
pub struct RedbRawLoop {
    database: Database,
    position: u64,
}

impl RedbRawLoop {
    pub fn create(path: &Path, cache_bytes: usize) -> Result<RedbRawLoop, Fault> {
        let created = redb::Builder::new().set_cache_size(cache_bytes).create(path);
        Ok(RedbRawLoop { database: created.map_err(during("creating a file"))?, position: 0 })
    }

    /// Writes one batch in one durable transaction.
    pub fn write(&mut self, batch: &Batch) -> Result<(), Fault> {
        let mut transaction = self.database.begin_write().map_err(during("beginning a transaction"))?;
        transaction.set_quick_repair(true);
        self.position = fill(&transaction, batch, self.position)?;
        transaction.commit().map_err(during("committing"))
    }
}

fn fill(transaction: &WriteTransaction, batch: &Batch, mut position: u64) -> Result<u64, Fault> {
    let open = during("opening a table");
    let mut events = transaction.open_table(EVENTS).map_err(open)?;
    let mut streams = transaction.open_table(STREAMS).map_err(during("opening a table"))?;
    let mut snapshots = transaction.open_table(SNAPSHOTS).map_err(during("opening a table"))?;
    let mut alarms = transaction.open_table(ALARMS).map_err(during("opening a table"))?;
    let mut views = [const { None }; VIEWS];
    let mut scratch = Vec::with_capacity(1_024);
    for item in &batch.items {
        let mut version = 0;
        for event in &item.events {
            (version, position) = (version + 1, position + 1);
            write_event(&mut scratch, item.entity, version, event);
            events.insert(position, scratch.as_slice()).map_err(during("writing"))?;
            streams.insert(&stream_key(item.entity, version), position).map_err(during("writing"))?;
        }
        let Item { disposition: Disposition::Keep { snapshot, alarm }, .. } = item else { continue };
        write_snapshot(&mut scratch, Header { version, alarm: *alarm }, snapshot);
        snapshots.insert(&entity_key(item.entity), scratch.as_slice()).map_err(during("writing"))?;
        if let Some(alarm) = alarm {
            let value = [item.entity.kind.code(), alarm.rank];
            alarms.insert(&alarm_key(alarm.at, item.entity.id), &value).map_err(during("writing"))?;
        }
        for row in &item.rows {
            let slot = &mut views[row.view as usize];
            if slot.is_none() {
                *slot = Some(transaction.open_table(rows(row.view)).map_err(during("opening a table"))?);
            }
            if let (Some(table), Some(value)) = (slot, &row.value) {
                table.insert(row.key.as_slice(), value.as_slice()).map_err(during("writing"))?;
            }
        }
    }
    Ok(position)
}
