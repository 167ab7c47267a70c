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
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Mutex, MutexGuard, TryLockError};

/// How long what is worth a transaction is left alone, if it does not become too much: most bursts are over by then.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it waits while a commit is under way, to freeze between two.
const BETWEEN_COMMITS: Duration = Duration::from_millis(1);

/// Who takes into redb what is committed, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Following {
    /// A thread of its own, after a while.
    Beside,
    /// Whoever freezes, at once.
    AtOnce,
    /// Whoever commits, after so many commits: what the thread does, in an order that follows from the commits alone.
    AfterCommits(u32),
}

/// What the follower does next.
enum FollowerStep {
    Take,
    Freeze,
    /// A burst passes.
    LeaveAlone,
    /// There is nothing to do.
    Rest,
}

#[derive(Debug)]
pub(crate) struct Follower {
    following: Following,
    thread: Option<JoinHandle<()>>,
    /// So many commits were left alone.
    left_alone: AtomicU32,
}

impl Follower {
    pub(crate) fn inline(following: Following) -> Follower {
        Follower { following, thread: None, left_alone: AtomicU32::new(0) }
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
        Ok(Follower { thread: Some(thread), ..Follower::inline(Following::Beside) })
    }

    pub(crate) fn following(&self) -> Following {
        self.following
    }

    /// One step of what the thread does, where commits take the place of time. The caller holds the journal.
    pub(crate) fn pass_commit(&self, shared: &SharedState, options: RedbOptions, counters: &Counters) {
        let Following::AfterCommits(patience) = self.following else { return };
        let mut state = shared.lock();
        match next_step(&state, options.worth_bytes()) {
            FollowerStep::Rest => {
                state.is_following = false;
                self.left_alone.store(0, Ordering::Relaxed);
                return;
            }
            FollowerStep::LeaveAlone if self.left_alone.fetch_add(1, Ordering::Relaxed) < patience => return,
            FollowerStep::LeaveAlone if state.frozen.is_empty() => state.freeze(Lasting::Journaled),
            FollowerStep::Freeze => state.freeze(Lasting::Journaled),
            FollowerStep::LeaveAlone | FollowerStep::Take => {}
        }
        state.is_following = true;
        drop(state);
        follow(shared, options, counters);
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
        match next_step(&state, options.worth_bytes()) {
            FollowerStep::Take => return true,
            FollowerStep::Freeze | FollowerStep::LeaveAlone | FollowerStep::Rest if state.ending => return false,
            FollowerStep::Rest => {
                state.is_following = false;
                state = shared.wait(state);
            }
            FollowerStep::LeaveAlone => {
                state = shared.wait_for(state, PATIENCE, |state| !state.is_following && is_worth(state));
                state.is_following = is_worth(&state);
            }
            FollowerStep::Freeze if freeze_between_commits(&mut state, writing) => {}
            FollowerStep::Freeze => {
                state = shared.wait_for(state, BETWEEN_COMMITS, |state| state.frozen.is_empty() && is_worth(state));
            }
        }
    }
}

/// `worth_bytes`: so many bytes of rows are worth a transaction.
fn next_step(state: &State, worth_bytes: usize) -> FollowerStep {
    if state.is_following && state.to_follow().is_some() {
        FollowerStep::Take
    } else if !state.is_worth_following(worth_bytes) {
        FollowerStep::Rest
    } else if !state.is_following {
        FollowerStep::LeaveAlone
    } else {
        FollowerStep::Freeze
    }
}

/// Waiting for the journal here would be for ever: whoever holds it may be waiting for the follower.
fn freeze_between_commits(state: &mut MutexGuard<'_, State>, writing: &Mutex<Journaling>) -> bool {
    // Whoever panicked with it is gone, and what it left is whole: everybody else takes it as well.
    let between = writing.try_lock();
    let is_between = !matches!(between, Err(TryLockError::WouldBlock));
    if is_between {
        state.freeze(Lasting::Journaled);
    }
    is_between
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
