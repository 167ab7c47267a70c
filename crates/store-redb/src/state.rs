//! What everybody shares: the layers readers see, redb behind them, and how far redb has come.
//!
//! Invariants: the layers change only under one short lock, so that a reader takes all of them of one moment. Only
//! whoever holds the journal publishes and freezes; only whoever holds the database thaws. Locks are taken in this
//! order: the journal's, the database's, the layers'.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use ordo_store::Fault;
use redb::Database;
use tokio::sync::oneshot;

use crate::apply::Lasting;
use crate::fault::file_damage;
use crate::overlay::{Mark, Overlay};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::tables::base::Base;
use crate::tables::layers::ReadView;

#[derive(Debug)]
pub(crate) struct SharedState {
    /// None while it could not be opened again.
    pub(crate) database: Mutex<Option<Database>>,
    state: Mutex<State>,
    changed: Condvar,
    /// The first damage that was found beyond one entity: from then on nothing is written.
    damage: OnceLock<String>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// How often the store was opened.
    pub(crate) generation: u64,
    /// Why this generation can go on no more.
    pub(crate) failure: Option<Fault>,
    pub(crate) base: Option<Arc<Base>>,
    pub(crate) active: Arc<Overlay>,
    /// On its way into redb.
    pub(crate) frozen: Option<Frozen>,
    /// redb holds this durably.
    pub(crate) durable: Mark,
    /// Dropped when what is frozen now is in redb, or when that failed: whoever waits is woken by that.
    pub(crate) waiting: Vec<oneshot::Sender<Infallible>>,
    /// The follower is asked to end, or has ended.
    pub(crate) ending: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) lasting: Lasting,
}

impl SharedState {
    pub(crate) fn new(database: Database, base: Arc<Base>, active: Overlay, durable: Mark) -> SharedState {
        let state = State {
            generation: 1,
            failure: None,
            base: Some(base),
            active: Arc::new(active),
            frozen: None,
            durable,
            waiting: Vec::new(),
            ending: false,
        };
        let (database, state) = (Mutex::new(Some(database)), Mutex::new(state));
        SharedState { database, state, changed: Condvar::new(), damage: OnceLock::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_database(&self) -> MutexGuard<'_, Option<Database>> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until somebody changed something.
    pub(crate) fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// A generation in which something went wrong is not used any more, if the disk was the reason. Damage of the whole
    /// file is remembered.
    pub(crate) fn note(&self, generation: u64, fault: &Fault) {
        match fault {
            Fault::Unavailable { .. } => self.fail(generation, fault),
            Fault::Damaged { .. } | Fault::Held { .. } | Fault::NotAPosition { .. } | Fault::Misuse { .. } => {
                self.latch(fault);
            }
        }
    }

    pub(crate) fn fail(&self, generation: u64, fault: &Fault) {
        self.latch(fault);
        let mut state = self.lock();
        if state.generation == generation {
            state.fail(fault);
            self.notify();
        }
    }

    /// Remembers damage of the whole file, the first there is.
    pub(crate) fn latch(&self, fault: &Fault) {
        if let Some(what) = file_damage(fault)
            && self.damage.set(what.to_owned()).is_ok()
        {
            tracing::error!(%fault, "the store is damaged: nothing more is written, and nothing fires");
        }
    }

    /// What makes the whole file unfit to be written.
    pub(crate) fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    /// A file that contradicts itself is not made worse.
    pub(crate) fn refuse_damaged(&self) -> Result<(), Fault> {
        match self.damage() {
            Some(what) => Err(Fault::damaged(what)),
            None => Ok(()),
        }
    }
}

impl State {
    /// Whether nothing can be read before the store is opened anew. Damage of the whole file is no reason to: the layers
    /// hold all that was acknowledged, and another opening would find no better file.
    pub(crate) fn has_failed(&self) -> bool {
        self.base.is_none() || self.failure.as_ref().is_some_and(|fault| file_damage(fault).is_none())
    }

    /// The first failure counts, but for damage that can be read past.
    pub(crate) fn fail(&mut self, fault: &Fault) {
        if self.failure.as_ref().is_none_or(|before| file_damage(before).is_some()) {
            self.failure = Some(fault.clone());
        }
    }

    pub(crate) fn expect_well(&self) -> Result<(), Fault> {
        match &self.failure {
            Some(fault) => Err(fault.clone()),
            None if self.base.is_none() => Err(closed()),
            None if self.ending => Err(Fault::unavailable("writing to redb", "its thread has ended: restart Ordo")),
            None => Ok(()),
        }
    }

    pub(crate) fn moment(&self) -> Result<ReadView, Fault> {
        let base = Arc::clone(self.base.as_ref().ok_or_else(closed)?);
        let frozen = self.frozen.as_ref().map(|frozen| Arc::clone(&frozen.overlay));
        Ok(ReadView { active: Arc::clone(&self.active), frozen, base })
    }

    /// Hands the active overlay to the follower; the next commit begins another.
    pub(crate) fn freeze(&mut self, lasting: Lasting) {
        assert!(self.frozen.is_none(), "an overlay is frozen over another");
        let empty = Arc::new(Overlay::empty(self.active.mark));
        let overlay = std::mem::replace(&mut self.active, empty);
        self.frozen = Some(Frozen { overlay, lasting });
    }

    /// What is frozen, if it may go into redb.
    pub(crate) fn to_follow(&self) -> Option<Frozen> {
        self.frozen.clone().filter(|_| self.failure.is_none())
    }

    /// redb holds everything that was acknowledged; `durably`: for good.
    pub(crate) fn is_drained(&self, lasting: Lasting) -> bool {
        let is_lasting = match lasting {
            Lasting::Journaled => true,
            Lasting::Durably => self.durable.record == self.active.mark.record,
        };
        self.frozen.is_none() && self.active.is_empty() && is_lasting
    }

    /// redb holds everything durably, in the tables as they are now.
    pub(crate) fn settle(&mut self, base: Base) {
        let mark = Mark { record: base.record, position: base.position, ..self.active.mark };
        self.base = Some(Arc::new(base));
        self.active = Arc::new(Overlay::empty(mark));
        self.durable = mark;
    }

    /// A new journal, of which redb holds all there is: nothing.
    pub(crate) fn begin_journal(&mut self) {
        let mark = Mark { journal_bytes: 0, ..self.active.mark };
        self.active = Arc::new(Overlay::empty(mark));
        self.durable = mark;
    }

    /// Bytes of records that a crash now would leave to be replayed.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.active.mark.journal_bytes.saturating_sub(self.durable.journal_bytes)
    }
}

pub(crate) fn closed() -> Fault {
    Fault::unavailable("using the store", "it could not be opened anew after a failure of the disk")
}
