//! The open store, journal and tables, which opens itself anew after a failure of the disk.
//!
//! redb refuses everything after the first I/O error until it is opened again; opening is a crash recovery and
//! takes milliseconds. Invariants: a commit is acknowledged when its record is durable in the journal and its rows are
//! published; readers see nothing that is not durable. Nothing is written while a failed generation has not been
//! replaced, and whatever reached the journal before the failure is there in the next one. Wherever redb's code runs, a
//! panic of it becomes a fault; after one that reports damage nothing is written any more, and the layers are read on.

mod proof;
#[cfg(all(test, shuttle))]
mod races;
mod whole_file;

use std::convert::Infallible;
use std::sync::Arc;

use ordo_store::{Batch, CommitResult, Fault, JournalStats};
use redb::{Database, WriteTransaction};
use tokio::sync::oneshot;

use crate::apply::{Lasting, apply, begin_durable, put_number, put_overlay, take_in};
use crate::commit::Writing;
use crate::fault::during;
use crate::files::open::RedbOptions;
use crate::files::source::BackendSource;
use crate::follower::{Follower, follow};
use crate::guard::guarded;
use crate::journal::{Counters, Journal, Journaling, Keeping, Opened, open};
use crate::state::{SharedState, State, closed};
use crate::sync::atomic::AtomicU64;
use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::tables::base::Base;
use crate::tables::layers::{Layers, ReadView};
use crate::tables::{META_JOURNAL, META_JOURNAL_RECORD};

pub(crate) use proof::Proof;

#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) source: BackendSource,
    options: RedbOptions,
    keeping: Keeping,
    shared: Arc<SharedState>,
    follower: Follower,
    /// Held by whoever writes or opens anew.
    writing: Arc<Mutex<Journaling>>,
    counters: Arc<Counters>,
    /// The last record there was when somebody last looked whether the store can be written; at first, the last that redb
    /// durably held.
    probed: AtomicU64,
}

/// Whether a piece of work has something to make durable.
pub(crate) enum Done<T> {
    Write(T),
    Nothing(T),
}

impl Handle {
    /// `threaded`: a thread of its own takes into redb what was committed, and another may sync the journal.
    pub(crate) fn open(source: BackendSource, options: RedbOptions, threaded: bool) -> Result<Handle, Fault> {
        let keeping = Keeping { bytes_max: options.journal_bytes as u64, threaded };
        let counters = Arc::new(Counters::default());
        let opened = guarded("opening it", || open(&source, options, keeping, &counters))?;
        let Opened { database, journaling, layers, durable } = opened;
        // What was replayed is proof as good as what is committed from now on.
        let probed = AtomicU64::new(durable.record);
        let shared = Arc::new(SharedState::new(database, layers, durable));
        let writing = Arc::new(Mutex::new(journaling));
        let follower = if threaded && source.has_journal() {
            Follower::start(Arc::clone(&shared), Arc::clone(&writing), options, Arc::clone(&counters))?
        } else {
            Follower::inline()
        };
        Ok(Handle { source, options, keeping, shared, follower, writing, counters, probed })
    }

    /// A second try meets a store that was opened anew: nobody is troubled by a failure that is over.
    pub(crate) fn read<T>(&self, work: impl Fn(&Layers<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        match self.read_once(&work) {
            Err(Fault::Unavailable { .. }) => self.read_once(&work),
            answer => answer,
        }
    }

    fn read_once<T>(&self, work: impl FnOnce(&Layers<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.shared.lock().has_failed() {
            self.open_anew(&mut self.lock_writing())?;
        }
        let (generation, moment) = self.moment()?;
        let read = guarded("reading", move || work(&moment.layers()));
        read.inspect_err(|fault| self.shared.note(generation, fault))
    }

    /// What everybody sees now, to be read at leisure.
    fn moment(&self) -> Result<(u64, ReadView), Fault> {
        let state = self.shared.lock();
        Ok((state.generation, state.moment()?))
    }

    /// The tables, with everything that is acknowledged now.
    pub(crate) fn tables(&self) -> Result<Arc<Base>, Fault> {
        self.read(|_| Ok(()))?;
        // Most of it goes into redb while others commit; they wait for the rest alone.
        let record = self.shared.lock().active.mark.record;
        drop(self.begin_draining(Lasting::Journaled)?);
        let mut state = self.shared.lock();
        let generation = state.generation;
        // Of a store that was opened anew meanwhile nobody has asked for anything: the rest is drained below.
        while state.generation == generation && state.base.as_ref().is_some_and(|base| base.record < record) {
            state.expect_well()?;
            state = self.shared.wait(state);
        }
        drop(state);
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        self.drain(Lasting::Journaled)?;
        Ok(self.shared.lock().moment()?.base)
    }

    /// Commits batches together, one answer for each: all of it is durable when this returns, or nothing is
    /// acknowledged.
    pub(crate) fn commit(&self, batches: &[Batch]) -> Result<Vec<CommitResult>, Fault> {
        let mut writing = self.lock_writing();
        self.refuse_damaged()?;
        self.open_anew(&mut writing)?;
        self.commit_locked(&mut writing, batches)
    }

    fn commit_locked(&self, writing: &mut Journaling, batches: &[Batch]) -> Result<Vec<CommitResult>, Fault> {
        self.start_journal(writing)?;
        match writing {
            Journaling::Open(journal) => {
                self.make_room(journal)?;
                self.commit_to(journal, batches)
            }
            Journaling::Without | Journaling::Idle => self.commit_to_redb(batches),
        }
    }

    fn commit_to(&self, journal: &mut Journal, batches: &[Batch]) -> Result<Vec<CommitResult>, Fault> {
        let (generation, moment) = self.moment()?;
        // A store that takes no commits appends none.
        Writing::expect_complete(&moment)?;
        let fail = |fault: &Fault| self.shared.fail(generation, fault);
        let record = journal.append(batches).inspect_err(fail)?;
        let applied = guarded("writing", || apply(&moment, batches));
        journal.synced().inspect_err(fail)?;
        // Otherwise the journal holds what readers do not see: opening anew brings them together.
        let (mut next, answers) = applied.inspect_err(fail)?;
        next.mark.record = record;
        next.mark.journal_bytes = journal.written_bytes();
        self.counters.holds(journal);
        let worth = self.options.worth_bytes();
        let becomes_worth = !moment.active.is_worth(worth) && next.is_worth(worth);
        let before = std::mem::replace(&mut self.shared.lock().active, Arc::new(next));
        if becomes_worth {
            self.shared.notify();
        }
        // What is freed here is freed outside the lock.
        drop((before, moment));
        Ok(answers)
    }

    /// Where redb itself makes a commit durable.
    fn commit_to_redb(&self, batches: &[Batch]) -> Result<Vec<CommitResult>, Fault> {
        let (generation, moment) = self.moment()?;
        let applied = guarded("writing", || apply(&moment, batches));
        let applied = applied.inspect_err(|fault| self.shared.note(generation, fault));
        drop(moment);
        let (next, answers) = applied?;
        if !next.is_empty() {
            let database = self.shared.lock_database();
            let taken = database.as_ref().ok_or_else(closed);
            let taken = taken.and_then(|db| guarded("writing", || take_in(db, &next, Lasting::Durably)));
            let base = taken.inspect_err(|fault| self.shared.fail(generation, fault))?;
            self.shared.lock().settle(base);
        }
        Ok(answers)
    }

    /// Waits until the journal has room for one more record and the overlay for its rows; hands over to the follower
    /// what should not wait until it comes by itself.
    fn make_room(&self, journal: &mut Journal) -> Result<(), Fault> {
        let options = self.options;
        let mut state = self.shared.lock();
        let mut waiting_since = None;
        loop {
            state.expect_well()?;
            journal.freed(state.durable.record);
            let is_full = journal.is_full();
            let is_pressing = is_full || state.pending_bytes() >= options.pressing_bytes();
            let lasting = if is_pressing { Lasting::Durably } else { Lasting::Journaled };
            if state.active.is_worth(self.hand_over_bytes(&state)) || is_pressing && state.frozen.is_empty() {
                state.freeze(lasting);
                state = self.handed_over(state);
                continue;
            }
            let bytes = state.overlay_bytes();
            if (is_pressing || bytes >= options.burst_bytes()) && !state.frozen.is_empty() {
                state = self.follow_now(state);
            }
            // A batch that is too large alone is not kept waiting for ever.
            if !is_full && (bytes < options.overlay_bytes || bytes == 0) {
                break;
            }
            waiting_since.get_or_insert_with(options.micros);
            state = self.shared.wait(state);
        }
        if let Some(since) = waiting_since {
            self.counters.waited((options.micros)().saturating_sub(since));
        }
        Ok(())
    }

    /// From so many bytes on the active overlay is handed over.
    fn hand_over_bytes(&self, state: &State) -> usize {
        let is_awaited = self.follower.is_inline() || (state.is_following && state.frozen.is_empty());
        if is_awaited { self.options.worth_bytes() } else { self.options.slice_bytes() }
    }

    /// Something is frozen: whoever takes it may have been waiting for it.
    fn handed_over<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if !self.follower.is_inline() {
            self.shared.notify();
            return state;
        }
        drop(state);
        let began = (self.options.micros)();
        while self.shared.lock().to_follow().is_some() {
            follow(&self.shared, self.options, &self.counters);
        }
        self.counters.waited((self.options.micros)().saturating_sub(began));
        self.shared.lock()
    }

    /// redb is left alone no longer.
    fn follow_now<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if state.is_following {
            return state;
        }
        state.is_following = true;
        self.handed_over(state)
    }

    /// Waits until redb holds everything. The caller holds the journal, so that nothing is added.
    fn drain(&self, lasting: Lasting) -> Result<(), Fault> {
        let mut state = self.shared.lock();
        loop {
            state.expect_well()?;
            if state.is_drained(lasting) {
                return Ok(());
            }
            self.refuse_damaged()?;
            state = match state.frozen.is_empty() {
                true => {
                    state.freeze(lasting);
                    state.is_following = true;
                    self.handed_over(state)
                }
                false => self.shared.wait(self.follow_now(state)),
            };
        }
    }

    /// Hands everything over to the follower. What is returned ends when it is done with it, or has failed.
    pub(crate) fn begin_draining(&self, lasting: Lasting) -> Result<oneshot::Receiver<Infallible>, Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        let state = self.shared.lock();
        state.expect_well()?;
        if state.is_drained(lasting) {
            return Ok(oneshot::channel().1);
        }
        self.refuse_damaged()?;
        let record = state.active.mark.record;
        Ok(self.begin_holding(state, record, lasting))
    }

    /// Hands over what redb needs to hold a record. The caller holds the journal.
    fn begin_holding(
        &self,
        mut state: MutexGuard<'_, State>,
        record: u64,
        lasting: Lasting,
    ) -> oneshot::Receiver<Infallible> {
        let is_held = state.wait_until_held(record, lasting);
        state.is_following = true;
        drop(self.handed_over(state));
        is_held
    }

    /// Rows that do not go through the journal, in one durable transaction of redb: all of it is durable when this
    /// returns, or nothing is acknowledged.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut Writing<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        self.write_tables(|transaction, moment| {
            let mut writing = Writing::for_rebuild(moment, 0);
            let answer = work(&mut writing)?;
            let overlay = writing.end();
            if overlay.is_empty() {
                return Ok(Done::Nothing(answer));
            }
            put_overlay(transaction, &overlay)?;
            Ok(Done::Write(answer))
        })
    }

    /// The same for work on the tables themselves.
    pub(crate) fn write_tables<T>(
        &self,
        work: impl FnOnce(&WriteTransaction, &ReadView) -> Result<Done<T>, Fault>,
    ) -> Result<T, Fault> {
        let mut writing = self.lock_writing();
        self.refuse_damaged()?;
        self.open_anew(&mut writing)?;
        self.write_locked(work)
    }

    /// The caller holds the journal.
    fn write_locked<T>(
        &self,
        work: impl FnOnce(&WriteTransaction, &ReadView) -> Result<Done<T>, Fault>,
    ) -> Result<T, Fault> {
        self.drain(Lasting::Journaled)?;
        let (generation, moment) = self.moment()?;
        let done = guarded("writing", || self.write_drained(generation, &moment, work));
        done.inspect_err(|fault| self.shared.note(generation, fault))
    }

    fn write_drained<T>(
        &self,
        generation: u64,
        moment: &ReadView,
        work: impl FnOnce(&WriteTransaction, &ReadView) -> Result<Done<T>, Fault>,
    ) -> Result<T, Fault> {
        let database = self.shared.lock_database();
        let database = database.as_ref().ok_or_else(closed)?;
        let transaction = begin_durable(database)?;
        let answer = match work(&transaction, moment)? {
            Done::Nothing(answer) => return Ok(answer),
            Done::Write(answer) => answer,
        };
        put_number(&transaction, META_JOURNAL_RECORD, moment.active.mark.record)?;
        // Whatever a commit stumbles over, redb wants to be opened again afterwards.
        let committed = transaction.commit().map_err(during("committing")).and_then(|()| Base::of(database));
        let base = committed.inspect_err(|fault| self.shared.fail(generation, fault))?;
        self.shared.lock().settle(base);
        Ok(answer)
    }

    /// There is a journal, where there can be one.
    fn start_journal(&self, writing: &mut Journaling) -> Result<(), Fault> {
        match writing {
            Journaling::Open(_) | Journaling::Without => Ok(()),
            Journaling::Idle => {
                let last = self.shared.lock().active.mark.record;
                let id = self.source.new_journal_id(last);
                // The journal is ready before redb says that it is to be read.
                let journal = Journal::start(&self.source, self.keeping, id, last)?;
                self.name_journal(id, last)?;
                self.shared.lock().begin_journal();
                *writing = Journaling::Open(Box::new(journal));
                Ok(())
            }
        }
    }

    /// redb durably says which journal has its later records; 0: there are none.
    fn name_journal(&self, id: u64, last: u64) -> Result<(), Fault> {
        let generation = self.shared.lock().generation;
        let database = self.shared.lock_database();
        let named = guarded("naming the journal", || {
            let transaction = begin_durable(database.as_ref().ok_or_else(closed)?)?;
            put_number(&transaction, META_JOURNAL, id)?;
            put_number(&transaction, META_JOURNAL_RECORD, last)?;
            transaction
                .commit()
                .map_err(during("naming the journal"))
                .inspect_err(|fault| self.shared.fail(generation, fault))
        });
        named.inspect_err(|fault| self.shared.note(generation, fault))
    }

    pub(crate) fn damage(&self) -> Option<String> {
        self.shared.damage().map(str::to_owned)
    }

    pub(crate) fn refuse_damaged(&self) -> Result<(), Fault> {
        self.shared.refuse_damaged()
    }

    fn lock_writing(&self) -> MutexGuard<'_, Journaling> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever still reads from the failed generation finds it closed; whoever comes waits.
    fn open_anew(&self, writing: &mut Journaling) -> Result<(), Fault> {
        if !self.shared.lock().has_failed() {
            return Ok(());
        }
        // Where the follower is at work, this waits for it.
        let mut database = self.shared.lock_database();
        let mut state = self.shared.lock();
        state.base = None;
        self.close_database(&mut database)?;
        self.open_into(&mut database, &mut state, writing)?;
        tracing::warn!(generation = state.generation, "the store was opened anew after a failure of the disk");
        Ok(())
    }

    /// redb writes when it is closed.
    fn close_database(&self, database: &mut Option<Database>) -> Result<(), Fault> {
        let database = database.take();
        let closed = guarded("closing it", || {
            drop(database);
            Ok(())
        });
        closed.inspect_err(|fault| self.shared.latch(fault))
    }

    /// The overlays are dropped: the journal has what is in them.
    fn open_into(
        &self,
        database: &mut Option<Database>,
        state: &mut State,
        writing: &mut Journaling,
    ) -> Result<(), Fault> {
        let opened = guarded("opening it anew", || open(&self.source, self.options, self.keeping, &self.counters));
        let opened = opened.inspect_err(|fault| self.shared.latch(fault))?;
        *database = Some(opened.database);
        *writing = opened.journaling;
        state.generation += 1;
        state.failure = None;
        state.base = Some(opened.layers.base);
        state.active = opened.layers.active;
        state.frozen = opened.layers.frozen;
        state.durable = opened.durable;
        state.waiting.clear();
        self.shared.notify();
        Ok(())
    }

    pub(crate) fn journal_stats(&self) -> Option<JournalStats> {
        let pending_bytes = self.shared.lock().pending_bytes();
        self.source.has_journal().then(|| self.counters.stats(pending_bytes))
    }

    /// Everything is in redb's file, which needs no journal any more.
    fn close(&self) -> Result<(), Fault> {
        if self.shared.damage().is_some() {
            return Ok(());
        }
        let writing = self.lock_writing();
        match &*writing {
            Journaling::Open(_) if !self.shared.lock().has_failed() => {
                self.drain(Lasting::Journaled)?;
                let last = self.shared.lock().active.mark.record;
                self.name_journal(0, last)
            }
            Journaling::Open(_) | Journaling::Idle | Journaling::Without => Ok(()),
        }
    }
}

/// After a failure the journal has what redb lacks, and the next opening reads it.
impl Drop for Handle {
    fn drop(&mut self) {
        if !std::thread::panicking()
            && let Err(fault) = self.close()
        {
            tracing::warn!(%fault, "the store is closed with records in its journal, which the next opening reads");
        }
        self.follower.end(&self.shared);
        if let Err(fault) = self.close_database(&mut self.shared.lock_database()) {
            tracing::warn!(%fault, "the store was closed, but redb's file was not");
        }
    }
}
