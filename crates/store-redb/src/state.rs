//! What everybody shares: the layers readers see, redb behind them, and how far redb has come.
//!
//! Invariants: the layers change only under one short lock, so that a reader takes all of them of one moment. Only
//! whoever holds the journal publishes and freezes; only whoever holds the database thaws. Locks are taken in this order:
//! the journal's, the database's, the layers'. The follower, who freezes when nobody commits, only tries for the journal's.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

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
    /// On their way into redb, the newest first.
    pub(crate) frozen: Arc<[Frozen]>,
    /// redb takes what is frozen, and goes on until it has caught up. Otherwise it leaves it alone for a while.
    pub(crate) is_following: bool,
    /// redb is taking the oldest of them, in the way that stands there.
    is_taking: bool,
    /// redb holds this durably.
    pub(crate) durable: Mark,
    pub(crate) waiting: Vec<Waiting>,
    /// The follower is asked to end, or has ended.
    pub(crate) ending: bool,
}

/// An overlay that changes no more.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) lasting: Lasting,
}

/// Somebody who waits until redb holds a record.
#[derive(Debug)]
pub(crate) struct Waiting {
    record: u64,
    lasting: Lasting,
    /// Dropped when redb holds it, or when that failed: whoever waits is woken by that.
    _done: oneshot::Sender<Infallible>,
}

impl SharedState {
    pub(crate) fn new(database: Database, layers: ReadView, durable: Mark) -> SharedState {
        let state = State {
            generation: 1,
            failure: None,
            base: Some(layers.base),
            active: layers.active,
            frozen: layers.frozen,
            is_following: false,
            is_taking: false,
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

    /// Waits until somebody changed something that ends the waiting, but no longer than `at_most`.
    #[cfg(not(shuttle))]
    pub(crate) fn wait_for<'s>(
        &self,
        state: MutexGuard<'s, State>,
        at_most: Duration,
        is_waiting: impl Fn(&State) -> bool,
    ) -> MutexGuard<'s, State> {
        let waited = self.changed.wait_timeout_while(state, at_most, |state| is_waiting(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Time does not pass where orders are tried: others come first, or not.
    #[cfg(shuttle)]
    pub(crate) fn wait_for<'s>(
        &'s self,
        state: MutexGuard<'s, State>,
        _at_most: Duration,
        _is_waiting: impl Fn(&State) -> bool,
    ) -> MutexGuard<'s, State> {
        drop(state);
        crate::sync::thread::yield_now();
        self.lock()
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
            // redb goes no further in this generation, and perhaps nobody comes to open another.
            state.waiting.clear();
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
        Ok(ReadView { active: Arc::clone(&self.active), frozen: Arc::clone(&self.frozen), base })
    }

    /// Puts the active overlay on the way to redb; the next commit begins another.
    pub(crate) fn freeze(&mut self, lasting: Lasting) {
        let empty = Arc::new(Overlay::empty(self.active.mark));
        let overlay = std::mem::replace(&mut self.active, empty);
        let newest = Frozen { overlay, lasting };
        ordo_model::planted!(FrozenOutOfOrder, {
            self.frozen = self.frozen.iter().cloned().chain([newest]).collect();
            return;
        });
        self.frozen = std::iter::once(newest).chain(self.frozen.iter().cloned()).collect();
    }

    /// What redb takes next, if it may.
    pub(crate) fn to_follow(&self) -> Option<&Frozen> {
        self.frozen.last().filter(|_| self.failure.is_none())
    }

    /// redb begins to take what is next; durably, if so many bytes of records are behind it.
    pub(crate) fn begin_taking(&mut self, checkpoint_bytes: u64) -> Option<Frozen> {
        let next = self.to_follow()?;
        let behind_bytes = next.overlay.mark.journal_bytes.saturating_sub(self.durable.journal_bytes);
        let lasting = if behind_bytes >= checkpoint_bytes { Lasting::Durably } else { next.lasting };
        self.is_taking = true;
        self.set_lasting(self.frozen.len() - 1, lasting);
        ordo_model::planted!(CheckpointRunsAhead, {
            let mut next = self.frozen.last().cloned()?;
            Arc::make_mut(&mut next.overlay).mark = self.active.mark;
            return Some(next);
        });
        self.frozen.last().cloned()
    }

    /// redb holds what it began to take.
    pub(crate) fn taken(&mut self, base: Base) {
        let Some((oldest, later)) = self.frozen.split_last() else { return };
        if oldest.lasting == Lasting::Durably {
            self.durable = oldest.overlay.mark;
        }
        (self.base, self.frozen) = (Some(Arc::new(base)), later.into());
    }

    /// Whatever came of it: those for whom redb has gone far enough are woken, and all of them, if it goes no further.
    pub(crate) fn end_taking(&mut self) {
        self.is_taking = false;
        let journaled = self.base.as_ref().map_or(0, |base| base.record);
        let (durable, has_failed) = (self.durable.record, self.failure.is_some());
        self.waiting.retain(|waiting| {
            let held = if waiting.lasting == Lasting::Durably { durable } else { journaled };
            !has_failed && held < waiting.record
        });
    }

    fn set_lasting(&mut self, at: usize, lasting: Lasting) {
        let mut frozen = self.frozen.to_vec();
        frozen[at].lasting = lasting;
        self.frozen = frozen.into();
    }

    /// How much memory rows take that redb does not hold.
    pub(crate) fn overlay_bytes(&self) -> usize {
        let frozen = self.frozen.iter().map(|frozen| frozen.overlay.memory_bytes());
        frozen.fold(self.active.memory_bytes(), usize::saturating_add)
    }

    /// Whether redb may go on, and has something to take that is worth it.
    pub(crate) fn is_worth_following(&self, bytes: usize) -> bool {
        self.failure.is_none() && self.base.is_some() && (!self.frozen.is_empty() || self.active.is_worth(bytes))
    }

    /// Sees to it that redb takes a record, and says so to whoever waits for it.
    pub(crate) fn wait_until_held(&mut self, record: u64, lasting: Lasting) -> oneshot::Receiver<Infallible> {
        let oldest = self.frozen.len().saturating_sub(1);
        let can_hold = |(at, frozen): (usize, &Frozen)| {
            let is_settled = self.is_taking && at == oldest;
            frozen.overlay.mark.record >= record && (!is_settled || frozen.lasting >= lasting)
        };
        match self.frozen.iter().enumerate().rev().find(|frozen| can_hold(*frozen)) {
            None => self.freeze(lasting),
            Some((at, frozen)) => self.set_lasting(at, frozen.lasting.max(lasting)),
        }
        let (done, is_done) = oneshot::channel();
        self.waiting.push(Waiting { record, lasting, _done: done });
        is_done
    }

    /// redb holds everything that was acknowledged; `durably`: for good.
    pub(crate) fn is_drained(&self, lasting: Lasting) -> bool {
        let is_lasting = match lasting {
            Lasting::Journaled => true,
            Lasting::Durably => self.durable.record == self.active.mark.record,
        };
        self.frozen.is_empty() && self.active.is_empty() && is_lasting
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
