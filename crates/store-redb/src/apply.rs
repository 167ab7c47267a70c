//! Takes batches into the tables, once their record is on its way into the journal.
//!
//! Invariants: the same batches on the same tables come to the same result, now or in a recovery. The transaction is
//! committed only after the record is durable, so that nobody reads what could still be lost. Damage at one entity
//! keeps no other from being written: a batch that meets it writes nothing and gets the fault.

use std::collections::BTreeMap;

use ordo_store::{Batch, CommitResult, Fault};
use redb::{Database, Durability, WriteTransaction};

use crate::commit::Writing;
use crate::fault::during;
use crate::journal::{Journal, JournalTail};
use crate::tables::META;
use crate::writer::{GATHERED_BYTES_MAX, GATHERED_ITEMS_MAX};

/// What makes a transaction durable.
#[derive(Debug)]
pub(crate) struct CommitLog<'j> {
    way: CommitPath<'j>,
    begun: bool,
}

#[derive(Debug)]
enum CommitPath<'j> {
    /// redb itself.
    Redb,
    /// A record in the journal.
    Append(&'j mut Journal),
    /// It is durable already, in records up to this number.
    Replay(u64),
}

impl<'j> CommitLog<'j> {
    pub(crate) fn without() -> CommitLog<'j> {
        CommitLog { way: CommitPath::Redb, begun: false }
    }

    pub(crate) fn append_to(journal: &'j mut Journal) -> CommitLog<'j> {
        CommitLog { way: CommitPath::Append(journal), begun: false }
    }

    /// Whether something of it may last, whatever becomes of the tables.
    pub(crate) fn is_begun(&self) -> bool {
        self.begun
    }

    fn begin_write(&self, database: &Database) -> Result<WriteTransaction, Fault> {
        match &self.way {
            CommitPath::Redb => begin_durable(database),
            CommitPath::Append(_) | CommitPath::Replay(_) => {
                let mut transaction = database.begin_write().map_err(during("beginning to write"))?;
                transaction.set_durability(Durability::None).map_err(during("beginning to write"))?;
                Ok(transaction)
            }
        }
    }

    /// Begins to make the batches durable, once; returns the number of their record.
    fn begin(&mut self, batches: &[Batch]) -> Result<u64, Fault> {
        let begun = std::mem::replace(&mut self.begun, true);
        match &mut self.way {
            CommitPath::Redb => Ok(0),
            CommitPath::Append(journal) if begun => Ok(journal.last()),
            CommitPath::Append(journal) => journal.append(batches),
            CommitPath::Replay(number) => Ok(*number),
        }
    }

    /// Waits until they are.
    fn end(&mut self) -> Result<(), Fault> {
        match &mut self.way {
            CommitPath::Redb | CommitPath::Replay(_) => Ok(()),
            CommitPath::Append(journal) => journal.synced(),
        }
    }
}

/// One answer per batch. A fault means that none of them is known to be durable.
pub(crate) fn apply(
    database: &Database,
    batches: &[Batch],
    log: &mut CommitLog<'_>,
) -> Result<Vec<CommitResult>, Fault> {
    let mut damaged = BTreeMap::new();
    loop {
        let transaction = log.begin_write(database)?;
        let mut writing = Writing::begin(&transaction)?;
        let record = log.begin(batches)?;
        match try_all(&mut writing, batches, &damaged) {
            Err((batch, fault @ Fault::Damaged { .. })) => {
                damaged.insert(batch, fault);
            }
            tried => {
                let ended = writing.end_record(record);
                log.end()?;
                let answers = tried.map_err(|(_, fault)| fault)?;
                if ended? {
                    transaction.commit().map_err(during("committing"))?;
                }
                return Ok(answers);
            }
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

/// Applies what a journal holds and redb does not, many records to a transaction.
pub(crate) fn replay(database: &Database, tail: &JournalTail) -> Result<(), Fault> {
    let mut gathered: Vec<Batch> = Vec::new();
    let (mut last, mut items, mut bytes) = (0, 0, 0);
    for record in tail.batches() {
        let (number, batches) = record?;
        last = number;
        items += batches.iter().map(|batch| batch.items.len()).sum::<usize>();
        bytes += batches.iter().map(Batch::bytes).sum::<usize>();
        gathered.extend(batches);
        if items >= GATHERED_ITEMS_MAX || bytes >= GATHERED_BYTES_MAX {
            replay_gathered(database, &gathered, last)?;
            gathered.clear();
            (items, bytes) = (0, 0);
        }
    }
    if gathered.is_empty() { Ok(()) } else { replay_gathered(database, &gathered, last) }
}

/// Whoever waited for the outcomes is gone.
fn replay_gathered(database: &Database, batches: &[Batch], last: u64) -> Result<(), Fault> {
    apply(database, batches, &mut CommitLog { way: CommitPath::Replay(last), begun: false }).map(drop)
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
