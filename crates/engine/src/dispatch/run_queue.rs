//! The waiting runs of one queue that are held in memory: the best of those in the store.
//!
//! Invariant: a cache. What does not fit stays in the store and is asked for when half of the rest is gone.

use std::collections::BTreeSet;

use crate::commit::change::WaitingRun;

#[derive(Debug)]
pub(super) struct RunQueue {
    pub(super) runs: BTreeSet<WaitingRun>,
    size: usize,
    /// There may be waiting runs that are not in memory. They are asked for when the queue has shrunk to this.
    refill_at: Option<usize>,
}

impl RunQueue {
    /// A new queue knows nothing of what is in the store.
    pub(super) fn new(size: usize) -> RunQueue {
        RunQueue { runs: BTreeSet::new(), size, refill_at: Some(usize::MAX) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.runs.len() >= self.size
    }

    /// Takes the run in; returns the one that has no room, if there is one.
    pub(super) fn add(&mut self, waiting: WaitingRun) -> Option<WaitingRun> {
        self.runs.insert(waiting);
        if self.runs.len() <= self.size {
            return None;
        }
        self.overflowed();
        self.runs.pop_last()
    }

    /// Runs of this queue were left in the store.
    pub(super) fn overflowed(&mut self) {
        self.refill_at.get_or_insert(self.size / 2);
    }

    /// The store is to be read from the beginning, as soon as that is possible.
    pub(super) fn must_refill(&mut self) {
        self.refill_at = Some(usize::MAX);
    }

    pub(super) fn is_scarce(&self) -> bool {
        self.refill_at.is_some_and(|mark| self.runs.len() <= mark)
    }

    /// The store is being read for it.
    pub(super) fn refilling(&mut self) {
        self.refill_at = None;
    }
}
