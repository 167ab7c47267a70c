//! Waiting runs for which something else must happen first: a certain executor, or a key, must become free.
//!
//! Invariant: they do not stand in the way of others. Each blocker holds a bounded number in memory; the rest is in the
//! store, and its queue is read again when the blocker gives way.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::Timestamp;
use uuid::Uuid;

use super::requirements::QueueName;
use crate::commit::change::{RateKey, WaitingRun};

/// How many runs one blocker holds in memory.
const PARKED_MAX: usize = 200;
/// How many one roll call is for: it is over in a moment, and each costs a look at the store.
const CALLED_MAX: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Blocker {
    Executor(Uuid),
    Key(String),
    Rate(RateKey),
    /// It is to be known first who is there: the roll call of this number says so.
    RollCall(u64),
}

impl Blocker {
    fn room(&self) -> usize {
        match self {
            Blocker::Executor(_) | Blocker::Key(_) | Blocker::Rate(_) => PARKED_MAX,
            Blocker::RollCall(_) => CALLED_MAX,
        }
    }
}

#[derive(Debug, Default)]
struct Lot {
    runs: BTreeSet<WaitingRun>,
    /// Lines of runs that had no room here.
    overflowed: BTreeSet<QueueName>,
}

#[derive(Debug, Default)]
pub(super) struct Parking {
    lots: BTreeMap<Blocker, Lot>,
    /// When blockers give way by themselves.
    wakes: BTreeMap<Timestamp, BTreeSet<Blocker>>,
}

/// What comes out when a blocker gives way.
#[derive(Debug, Default)]
pub(super) struct Freed {
    pub(super) runs: Vec<WaitingRun>,
    pub(super) queues: BTreeSet<QueueName>,
}

impl Parking {
    pub(super) fn has_room(&self, blocker: &Blocker) -> bool {
        self.lots.get(blocker).is_none_or(|lot| lot.runs.len() < blocker.room())
    }

    /// Holds the run; returns the one that has no room, if there is one.
    pub(super) fn park(&mut self, blocker: Blocker, waiting: WaitingRun) -> Option<WaitingRun> {
        let room = blocker.room();
        let lot = self.lots.entry(blocker).or_default();
        lot.runs.insert(waiting);
        if lot.runs.len() <= room {
            return None;
        }
        let last = lot.runs.pop_last()?;
        lot.overflowed.insert(last.requirements.queue.clone());
        Some(last)
    }

    /// A run of this queue was left in the store because of the blocker.
    pub(super) fn turned_away(&mut self, blocker: Blocker, queue: &QueueName) {
        self.lots.entry(blocker).or_default().overflowed.insert(queue.clone());
    }

    pub(super) fn wake_at(&mut self, blocker: Blocker, at: Timestamp) {
        self.wakes.entry(at).or_default().insert(blocker);
    }

    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.keys().next().copied()
    }

    pub(super) fn free(&mut self, blocker: &Blocker) -> Freed {
        self.lots.remove(blocker).map_or_else(Freed::default, Lot::into_freed)
    }

    /// What waits for blockers whose time has come.
    pub(super) fn free_due(&mut self, now: Timestamp) -> Freed {
        let mut freed = Freed::default();
        while let Some(first) = self.wakes.first_entry().filter(|first| *first.key() <= now) {
            for blocker in first.remove() {
                freed.extend(self.free(&blocker));
            }
        }
        freed
    }

    /// Who there is has changed: whom a run waits for is asked anew.
    pub(super) fn free_executors(&mut self) -> Freed {
        let blockers: Vec<Blocker> =
            self.lots.keys().filter(|blocker| matches!(blocker, Blocker::Executor(_))).cloned().collect();
        let mut freed = Freed::default();
        for blocker in blockers {
            freed.extend(self.free(&blocker));
        }
        freed
    }
}

impl Lot {
    fn into_freed(self) -> Freed {
        Freed { runs: self.runs.into_iter().collect(), queues: self.overflowed }
    }
}

impl Freed {
    fn extend(&mut self, other: Freed) {
        self.runs.extend(other.runs);
        self.queues.extend(other.queues);
    }
}
