//! A database and its journal, opened together: the tables are brought up to the records they lack.

use ordo_store::Fault;
use redb::{Database, ReadableDatabase};

use super::{Counters, Journal, Keeping, recover};
use crate::apply::replay;
use crate::commit::number;
use crate::fault::during;
use crate::open::{RedbOptions, prepare};
use crate::read::table;
use crate::source::BackendSource;
use crate::tables::{META, META_JOURNAL, META_JOURNAL_RECORD};

/// What makes a commit durable.
#[derive(Debug)]
pub(crate) enum Journaling {
    /// redb does: each commit is synced by itself.
    Without,
    /// A journal, once there is something to write. `last`: the number of the last record there ever was.
    Idle {
        last: u64,
    },
    Open(Box<Journal>),
}

impl Journaling {
    pub(crate) fn last(&self) -> u64 {
        match self {
            Journaling::Without => 0,
            Journaling::Idle { last } => *last,
            Journaling::Open(journal) => journal.last(),
        }
    }
}

/// Opens the database and brings it up to what its journal holds.
pub(crate) fn open(
    source: &BackendSource,
    options: RedbOptions,
    keeping: Keeping,
    counters: &Counters,
) -> Result<(Database, Journaling), Fault> {
    let database = source.open(options.cache_bytes)?;
    prepare(&database, source.path())?;
    if !source.has_journal() {
        return Ok((database, Journaling::Without));
    }
    let (id, last) = journal_of(&database)?;
    if id == 0 {
        return Ok((database, Journaling::Idle { last }));
    }
    let began = (options.micros)();
    let (journal, tail) = recover(source, keeping, id, last)?;
    replay(&database, &tail)?;
    let micros = (options.micros)().saturating_sub(began);
    counters.recovered(&tail, micros);
    counters.holds(&journal);
    tracing::info!(records = tail.records(), bytes = tail.bytes(), micros, "the journal was replayed");
    Ok((database, Journaling::Open(Box::new(journal))))
}

/// Which journal has the later records, and the number of the last record redb holds.
fn journal_of(database: &Database) -> Result<(u64, u64), Fault> {
    let read = database.begin_read().map_err(during("looking for the journal"))?;
    let meta = table(&read, META)?;
    Ok((number(&meta, META_JOURNAL)?, number(&meta, META_JOURNAL_RECORD)?))
}
