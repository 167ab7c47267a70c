//! Takes batches into the active overlay, and overlays into redb.
//!
//! Invariants: the same batches on the same layers come to the same result, now or in a recovery. Damage at one entity
//! keeps no other from being written: a batch that meets it writes nothing and gets the fault; damage of the whole file
//! keeps all of them. A transaction of redb holds whole overlays, and says up to which record and position it goes.

use std::collections::BTreeMap;

use ordo_store::{Batch, CommitResult, Fault, View};
use redb::{Database, Durability, Key, TableDefinition, WriteTransaction};

use crate::commit::Writing;
use crate::fault::{during, file_damage};
use crate::overlay::Overlay;
use crate::tables::base::Base;
use crate::tables::coded::Coded;
use crate::tables::layers::ReadView;
use crate::tables::{
    ALARMS, CHUNKS, DEDUP, DEDUP_EXPIRY, EVENTS, META, META_JOURNAL_RECORD, META_POSITION, SNAPSHOTS, STREAMS, TableId,
    rows,
};

/// What the rows of an item take beside what the item holds, about: their keys and headers.
const ROWS_OVERHEAD_BYTES: usize = 256;

/// The next state of the active overlay, and one answer per batch. A fault means that there is none.
pub(crate) fn apply(moment: &ReadView, batches: &[Batch]) -> Result<(Overlay, Vec<CommitResult>), Fault> {
    let mut damaged = BTreeMap::new();
    let bytes = batches.iter().map(|batch| batch.bytes() + ROWS_OVERHEAD_BYTES * batch.items.len()).sum();
    loop {
        let mut writing = Writing::begin(moment, bytes)?;
        match try_all(&mut writing, batches, &damaged) {
            Ok(answers) => return Ok((writing.end(), answers)),
            Err((batch, fault @ Fault::Damaged { .. })) if file_damage(&fault).is_none() => {
                damaged.insert(batch, fault);
            }
            Err((_, fault)) => return Err(fault),
        }
    }
}

/// All batches in order, but for those that are known to meet damage; or the first that meets a fault.
fn try_all(
    writing: &mut Writing<'_>,
    batches: &[Batch],
    damaged: &BTreeMap<usize, Fault>,
) -> Result<Vec<CommitResult>, (usize, Fault)> {
    let each = |(index, batch): (usize, &Batch)| match damaged.get(&index) {
        Some(fault) => Ok(Err(fault.clone())),
        None => writing.apply(batch).map(Ok).map_err(|fault| (index, fault)),
    };
    batches.iter().enumerate().map(each).collect()
}

/// How long a transaction of redb lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lasting {
    /// Until the next crash: the journal has it.
    Journaled,
    Durably,
}

/// Takes an overlay into redb in one transaction; returns the tables as they are then.
pub(crate) fn take_in(database: &Database, overlay: &Overlay, lasting: Lasting) -> Result<Base, Fault> {
    let transaction = match lasting {
        Lasting::Durably => begin_durable(database)?,
        Lasting::Journaled => {
            let mut transaction = database.begin_write().map_err(during("beginning to write"))?;
            transaction.set_durability(Durability::None).map_err(during("beginning to write"))?;
            transaction
        }
    };
    put_overlay(&transaction, overlay)?;
    transaction.commit().map_err(during("committing"))?;
    Base::of(database)
}

/// Table by table, each in the order of its keys, each key once.
pub(crate) fn put_overlay(transaction: &WriteTransaction, overlay: &Overlay) -> Result<(), Fault> {
    put_table(transaction, overlay, TableId::Events, EVENTS)?;
    put_table(transaction, overlay, TableId::Streams, STREAMS)?;
    put_table(transaction, overlay, TableId::Snapshots, SNAPSHOTS)?;
    put_table(transaction, overlay, TableId::Alarms, ALARMS)?;
    put_table(transaction, overlay, TableId::Chunks, CHUNKS)?;
    put_table(transaction, overlay, TableId::Dedup, DEDUP)?;
    put_table(transaction, overlay, TableId::DedupExpiry, DEDUP_EXPIRY)?;
    for view in View::ALL {
        put_table(transaction, overlay, TableId::Rows(view), rows(view))?;
    }
    put_number(transaction, META_POSITION, overlay.mark.position)?;
    put_number(transaction, META_JOURNAL_RECORD, overlay.mark.record)
}

fn put_table<K: Coded + Key, V: Coded>(
    transaction: &WriteTransaction,
    overlay: &Overlay,
    table: TableId,
    definition: TableDefinition<'static, K, V>,
) -> Result<(), Fault> {
    let map = overlay.map(table);
    if map.len() == 0 {
        return Ok(());
    }
    let mut into = transaction.open_table(definition).map_err(during("opening a table"))?;
    for entry in map.iter() {
        let key = K::parse(entry.key())?;
        match entry.value() {
            Some(value) => into.insert(key, V::parse(value)?),
            None => into.remove(key),
        }
        .map_err(during("writing a row"))?;
    }
    Ok(())
}

/// A transaction that redb itself makes durable: in two phases, and such that an opening after a crash does not walk
/// the whole file.
pub(crate) fn begin_durable(database: &Database) -> Result<WriteTransaction, Fault> {
    let mut transaction = database.begin_write().map_err(during("beginning to write"))?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

pub(crate) fn put_number(transaction: &WriteTransaction, name: &str, number: u64) -> Result<(), Fault> {
    let mut meta = transaction.open_table(META).map_err(during("opening a table"))?;
    meta.insert(name, number).map_err(during("writing the store's numbers"))?;
    Ok(())
}
