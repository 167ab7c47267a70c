//! A database and its journal, opened together: what redb lacks is replayed, into the tables and the overlay.
//!
//! Invariant: replaying is the code that applied a record first. It takes the memory that overlays may take, whatever the
//! journal holds, beside its own bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use ordo_store::Fault;
use redb::Database;

use super::{Counters, Journal, JournalTail, Keeping, recover};
use crate::apply::{Lasting, apply, take_in};
use crate::files::open::{RedbOptions, prepare};
use crate::files::source::BackendSource;
use crate::follower::Following;
use crate::overlay::{Mark, Overlay};
use crate::read::{number, table};
use crate::state::Frozen;
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
    pub(crate) layers: ReadView,
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
        return Ok(Opened { database, journaling, layers: unchanged(base, durable), durable });
    }
    let began = (options.micros)();
    let (journal, tail) = recover(source, keeping, id, durable.record)?;
    let layers = replay(&database, unchanged(base, durable), &tail, options, keeping)?;
    let micros = (options.micros)().saturating_sub(began);
    counters.recovered(&tail, micros);
    counters.holds(&journal);
    tracing::info!(records = tail.records(), bytes = tail.bytes(), micros, "the journal was replayed");
    let journaling = Journaling::Open(Box::new(journal));
    Ok(Opened { database, journaling, layers, durable })
}

/// redb's tables under an empty overlay.
fn unchanged(base: Arc<Base>, durable: Mark) -> ReadView {
    ReadView { active: Arc::new(Overlay::empty(durable)), frozen: Arc::new([]), base }
}

/// Whoever waited for the outcomes is gone. Where redb follows later, what fits into the overlays is left to that.
fn replay(
    database: &Database,
    mut layers: ReadView,
    tail: &JournalTail,
    options: RedbOptions,
    keeping: Keeping,
) -> Result<ReadView, Fault> {
    let (enough_bytes, kept_bytes) = match keeping.following {
        Following::Beside | Following::AfterCommits(_) => (options.slice_bytes(), options.burst_bytes()),
        Following::AtOnce => (options.worth_bytes(), 0),
    };
    let mut frozen = VecDeque::new();
    let mut frozen_bytes = 0;
    for record in tail.replayed() {
        let (mut next, _) = apply(&layers, &record.batches()?)?;
        next.mark.record = record.number;
        next.mark.journal_bytes += record.bytes;
        if next.is_worth(enough_bytes) {
            let overlay = Arc::new(next);
            next = Overlay::empty(overlay.mark);
            frozen_bytes += overlay.memory_bytes();
            frozen.push_front(Frozen { overlay, lasting: Lasting::Journaled });
            while frozen_bytes > kept_bytes
                && let Some(Frozen { overlay, lasting }) = frozen.pop_back()
            {
                frozen_bytes -= overlay.memory_bytes();
                layers.base = Arc::new(take_in(database, &overlay, lasting)?);
            }
            layers.frozen = frozen.iter().cloned().collect();
            ordo_model::planted!(RecoveredRowsLost, layers.frozen = Arc::new([]));
        }
        layers.active = Arc::new(next);
    }
    Ok(layers)
}
