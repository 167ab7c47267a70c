//! The follower: takes what is frozen into redb, in large transactions, while commits go on in front of it.
//!
//! It lets a burst pass first: it begins a while after something is worth a transaction, or when so much came together
//! that it should not wait; then it goes on until it has caught up (ADR 0165).
//!
//! Invariants: readers see a frozen overlay until the tables they see hold it. What redb does not hold durably stays in
//! the journal. After a failure nothing more is taken in: the store is opened anew, and the journal has what is missing.
//! A panic of redb is such a failure, and damage: then the layers stay as they are, to be read.

use std::sync::Arc;
use std::time::Duration;

use ordo_store::Fault;
use redb::Database;

use crate::apply::{Lasting, take_in};
use crate::files::open::RedbOptions;
use crate::guard::guarded;
use crate::journal::{Counters, Journaling};
use crate::state::{Frozen, SharedState, State, closed};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Mutex, MutexGuard, TryLockError};

/// How long what is worth a transaction is left alone, if it does not become too much: most bursts are over by then.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it waits while a commit is under way, to freeze between two.
const BETWEEN_COMMITS: Duration = Duration::from_millis(1);

/// Who does it: a thread, or whoever freezes.
#[derive(Debug)]
pub(crate) struct Follower {
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    pub(crate) fn inline() -> Follower {
        Follower { thread: None }
    }

    pub(crate) fn start(
        shared: Arc<SharedState>,
        writing: Arc<Mutex<Journaling>>,
        options: RedbOptions,
        counters: Arc<Counters>,
    ) -> Result<Follower, Fault> {
        let thread = thread::Builder::new()
            .name("ordo-redb".into())
            .spawn(move || run(&shared, &writing, options, &counters))
            .map_err(|error| Fault::unavailable("starting the thread for redb", error))?;
        Ok(Follower { thread: Some(thread) })
    }

    pub(crate) fn is_inline(&self) -> bool {
        self.thread.is_none()
    }

    /// What is frozen and not yet taken in stays in the journal.
    pub(crate) fn end(&mut self, shared: &SharedState) {
        let Some(thread) = self.thread.take() else { return };
        shared.lock().ending = true;
        shared.notify();
        if thread.join().is_err() {
            tracing::error!("the thread for redb has panicked");
        }
    }
}

/// Whoever waits for the follower learns that it is gone, also after a panic.
struct Ended<'s>(&'s SharedState);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ending = true;
        state.waiting.clear();
        self.0.notify();
    }
}

fn run(shared: &SharedState, writing: &Mutex<Journaling>, options: RedbOptions, counters: &Counters) {
    let _ended = Ended(shared);
    while await_frozen(shared, writing, options) {
        follow(shared, options, counters);
    }
}

/// Waits until redb has something to take. False: it is time to end.
fn await_frozen(shared: &SharedState, writing: &Mutex<Journaling>, options: RedbOptions) -> bool {
    let is_worth = |state: &State| !state.ending && state.is_worth_following(options.worth_bytes());
    let mut state = shared.lock();
    loop {
        if state.is_following && state.to_follow().is_some() {
            return true;
        }
        if state.ending {
            return false;
        }
        if !is_worth(&state) {
            state.is_following = false;
            state = shared.wait(state);
        } else if !state.is_following {
            state = shared.wait_for(state, PATIENCE, |state| !state.is_following && is_worth(state));
            state.is_following = is_worth(&state);
        } else if !freeze_between_commits(&mut state, writing) {
            state = shared.wait_for(state, BETWEEN_COMMITS, |state| state.frozen.is_empty() && is_worth(state));
        }
    }
}

/// Waiting for the journal here would be for ever: whoever holds it may be waiting for the follower.
fn freeze_between_commits(state: &mut MutexGuard<'_, State>, writing: &Mutex<Journaling>) -> bool {
    // Whoever panicked while writing has let go of it: nobody commits now either.
    let between = writing.try_lock();
    let is_held = matches!(between, Err(TryLockError::WouldBlock));
    if !is_held {
        state.freeze(Lasting::Journaled);
    }
    !is_held
}

/// Takes what was frozen first into redb, if anything is. Whatever comes of it, whoever waits hears it.
pub(crate) fn follow(shared: &SharedState, options: RedbOptions, counters: &Counters) {
    // The database first: what is frozen then belongs to it, and to no generation before it.
    let database = shared.lock_database();
    let taken = guarded("writing behind the journal", || take_frozen(shared, options, counters, database.as_ref()));
    if let Err(fault) = &taken {
        shared.latch(fault);
    }
    let mut state = shared.lock();
    if let Err(fault) = taken {
        tracing::warn!(%fault, "redb failed; the journal has what it lacks");
        state.fail(&fault);
    }
    state.end_taking();
    shared.notify();
}

fn take_frozen(
    shared: &SharedState,
    options: RedbOptions,
    counters: &Counters,
    database: Option<&Database>,
) -> Result<(), Fault> {
    let Some(next) = shared.lock().begin_taking(options.checkpoint_bytes()) else { return Ok(()) };
    let Frozen { overlay, lasting } = next;
    shared.refuse_damaged()?;
    let base = take_in(database.ok_or_else(closed)?, &overlay, lasting)?;
    shared.lock().taken(base);
    if lasting == Lasting::Durably {
        counters.checkpointed();
    }
    Ok(())
}
