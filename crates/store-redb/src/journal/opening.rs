//! A database and its journal, opened together: what redb lacks is replayed, into the tables and the overlay.
//!
//! Invariant: replaying is the code that applied a record first. It takes the memory of one overlay, whatever the
//! journal holds beside its own bytes.

use std::sync::Arc;

use ordo_store::Fault;
use redb::Database;

use super::{Counters, Journal, JournalTail, Keeping, recover};
use crate::apply::{Lasting, apply, take_in};
use crate::files::open::{RedbOptions, prepare};
use crate::files::source::BackendSource;
use crate::overlay::{Mark, Overlay};
use crate::read::{number, table};
use crate::tables::base::Base;
use crate::tables::layers::ReadView;
use crate::tables::{META, META_JOURNAL};

/// What makes a commit durable.
#[derive(Debug)]
pub(crate) enum Journaling {
    /// redb does: each commit is synced by itself.
    Without,
    /// A journal, once there is something to write.
    Idle,
    Open(Box<Journal>),
}

/// A store with everything that was acknowledged before.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) database: Database,
    pub(crate) journaling: Journaling,
    pub(crate) base: Arc<Base>,
    pub(crate) active: Overlay,
    /// What redb held when it was opened.
    pub(crate) durable: Mark,
}

/// Opens the database and brings the store up to what its journal holds.
pub(crate) fn open(
    source: &BackendSource,
    options: RedbOptions,
    keeping: Keeping,
    counters: &Counters,
) -> Result<Opened, Fault> {
    let database = source.open(options.cache_bytes)?;
    prepare(&database, source.path())?;
    let base = Arc::new(Base::of(&database)?);
    let durable = Mark { record: base.record, position: base.position, journal_bytes: 0 };
    let id = number(&table(&base.read, META)?, META_JOURNAL)?;
    if !source.has_journal() || id == 0 {
        let journaling = if source.has_journal() { Journaling::Idle } else { Journaling::Without };
        return Ok(Opened { database, journaling, base, active: Overlay::empty(durable), durable });
    }
    let began = (options.micros)();
    let (journal, tail) = recover(source, keeping, id, durable.record)?;
    let (base, active) = replay(&database, base, durable, &tail, options.follow_bytes())?;
    let micros = (options.micros)().saturating_sub(began);
    counters.recovered(&tail, micros);
    counters.holds(&journal);
    tracing::info!(records = tail.records(), bytes = tail.bytes(), micros, "the journal was replayed");
    let journaling = Journaling::Open(Box::new(journal));
    Ok(Opened { database, journaling, base, active, durable })
}

/// Whoever waited for the outcomes is gone.
fn replay(
    database: &Database,
    base: Arc<Base>,
    durable: Mark,
    tail: &JournalTail,
    follow_bytes: usize,
) -> Result<(Arc<Base>, Overlay), Fault> {
    let mut moment = ReadView { active: Arc::new(Overlay::empty(durable)), frozen: None, base };
    for record in tail.replayed() {
        let (mut next, _) = apply(&moment, &record.batches()?)?;
        next.mark.record = record.number;
        next.mark.journal_bytes += record.bytes;
        if next.memory_bytes() >= follow_bytes {
            moment.base = Arc::new(take_in(database, &next, Lasting::Journaled)?);
            next = Overlay::empty(next.mark);
        }
        moment.active = Arc::new(next);
    }
    let active = Arc::try_unwrap(moment.active).unwrap_or_else(|shared| Overlay::clone(&shared));
    Ok((moment.base, active))
}
