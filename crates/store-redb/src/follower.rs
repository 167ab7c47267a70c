//! The follower: takes what is frozen into redb, in large transactions, while commits go on in front of it.
//!
//! Invariants: readers see a frozen overlay until the tables they see hold it. What redb does not hold durably stays in
//! the journal. After a failure nothing more is taken in: the store is opened anew, and the journal has what is missing.
//! A panic of redb is such a failure, and damage: then the layers stay as they are, to be read.

use std::sync::Arc;

use ordo_store::Fault;
use redb::Database;

use crate::apply::{Lasting, take_in};
use crate::guard::guarded;
use crate::journal::Counters;
use crate::state::{SharedState, closed};
use crate::sync::thread::{self, JoinHandle};

/// Who does it: a thread, or whoever freezes.
#[derive(Debug)]
pub(crate) struct Follower {
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    pub(crate) fn inline() -> Follower {
        Follower { thread: None }
    }

    pub(crate) fn start(shared: Arc<SharedState>, counters: Arc<Counters>) -> Result<Follower, Fault> {
        let thread = thread::Builder::new()
            .name("ordo-redb".into())
            .spawn(move || run(&shared, &counters))
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

fn run(shared: &SharedState, counters: &Counters) {
    let _ended = Ended(shared);
    loop {
        let mut state = shared.lock();
        while state.to_follow().is_none() {
            if state.ending {
                return;
            }
            state = shared.wait(state);
        }
        drop(state);
        follow(shared, counters);
    }
}

/// Takes what is frozen into redb, if anything is. Whatever comes of it, whoever waits hears it.
pub(crate) fn follow(shared: &SharedState, counters: &Counters) {
    // The database first: what is frozen then belongs to it, and to no generation before it.
    let database = shared.lock_database();
    let taken = guarded("writing behind the journal", || take_frozen(shared, counters, database.as_ref()));
    if let Err(fault) = &taken {
        shared.latch(fault);
    }
    let mut state = shared.lock();
    if let Err(fault) = taken {
        tracing::warn!(%fault, "redb failed; the journal has what it lacks");
        state.fail(&fault);
    }
    state.waiting.clear();
    shared.notify();
}

fn take_frozen(shared: &SharedState, counters: &Counters, database: Option<&Database>) -> Result<(), Fault> {
    let Some(frozen) = shared.lock().to_follow() else { return Ok(()) };
    shared.refuse_damaged()?;
    let base = take_in(database.ok_or_else(closed)?, &frozen.overlay, frozen.lasting)?;
    let mut state = shared.lock();
    state.base = Some(Arc::new(base));
    state.frozen = None;
    if frozen.lasting == Lasting::Durably {
        state.durable = frozen.overlay.mark;
        counters.checkpointed();
    }
    Ok(())
}
