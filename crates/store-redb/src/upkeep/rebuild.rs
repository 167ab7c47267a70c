//! Rebuilding what is derived: snapshots, alarms and rows, from what a fold over the events found.
//!
//! Invariant: from the moment the derived tables are emptied until the end of the rebuild the file says that it is
//! incomplete, and commits are refused: a crash in between cannot become a silent miss.

use ordo_store::{Fault, Rebuilt};
use redb::{Key, TableDefinition, Value, WriteTransaction};

use crate::apply::put_number;
use crate::fault::during;
use crate::handle::{Done, Handle};
use crate::tables::keys::entity_key;
use crate::tables::values::Header;
use crate::tables::{META_REBUILDING, Visit, visit_derived};

struct Empty<'t>(&'t WriteTransaction);

impl Visit for Empty<'_> {
    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), Fault> {
        self.0.delete_table(table).map_err(during("emptying a table"))?;
        self.0.open_table(table).map(drop).map_err(during("emptying a table"))
    }
}

pub(crate) fn clear(handle: &Handle) -> Result<(), Fault> {
    handle.write_tables(|transaction, _| {
        visit_derived(&mut Empty(transaction))?;
        mark(transaction, 1)?;
        Ok(Done::Write(()))
    })
}

pub(crate) fn put(handle: &Handle, found: &[Rebuilt]) -> Result<(), Fault> {
    handle.write(|writing| {
        for Rebuilt { entity, snapshot, rows } in found {
            let header = Header { version: snapshot.version, alarm: snapshot.alarm };
            let before = writing.header(&entity_key(*entity))?;
            writing.put_snapshot(*entity, before.alarm, header, &snapshot.state);
            writing.put_rows(rows);
        }
        Ok(())
    })
}

pub(crate) fn end(handle: &Handle) -> Result<(), Fault> {
    handle.write_tables(|transaction, _| {
        mark(transaction, 0)?;
        Ok(Done::Write(()))
    })
}

fn mark(transaction: &WriteTransaction, rebuilding: u64) -> Result<(), Fault> {
    put_number(transaction, META_REBUILDING, rebuilding)
}
