//! Runs that were left to an executor of another node.
//!
//! Invariant: bounded patience. A run that still waits after a while is anybody's who has a free slot, so none waits for a node
//! that is dead, full or of another mind. They are not in memory: whether they still wait is read from the store.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ordo_model::{Millis, RunId, Timestamp};
use uuid::Uuid;

use crate::dispatch::requirements::QueueName;

/// How long a run is left to the executor that it was chosen for.
pub(in crate::dispatch) const PATIENCE: Millis = Millis::from_secs(1);
/// After so long its queue is looked at again: what nodes know of each other may have differed.
pub(in crate::dispatch) const LOOKED_AT_AGAIN_AFTER: Millis = Millis::from_ms(250);
/// How long a run is remembered: whoever had it in mind in vain knows then that its patience is over.
const REMEMBERED_FOR: Millis = Millis::from_secs(10);
/// Looks at the store are gathered.
const GRAIN_MS: i64 = 50;

#[derive(Debug, Clone)]
struct LeftRun {
    executor: Uuid,
    since: Timestamp,
    /// Who is there was found out anew for it.
    is_called: bool,
    /// That it was not taken was held against the executor.
    is_blamed: bool,
}

#[derive(Debug, Default)]
pub(in crate::dispatch) struct LeftRuns {
    runs: HashMap<RunId, LeftRun>,
    /// When which queues are looked at again.
    looks: BTreeMap<Timestamp, BTreeSet<QueueName>>,
    forgotten: BTreeMap<Timestamp, Vec<RunId>>,
}

/// What leaving a run again and again comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dispatch) enum LeaveKind {
    /// It is left to this one for the first time.
    Anew,
    Again,
    /// It still waits after a while: what is known of the others may be old.
    InVain,
}

impl LeftRuns {
    pub(in crate::dispatch) fn leave(
        &mut self,
        run: RunId,
        queue: &QueueName,
        executor: Uuid,
        now: Timestamp,
    ) -> LeaveKind {
        let Some(left) = self.runs.get_mut(&run) else {
            self.runs.insert(run, LeftRun { executor, since: now, is_called: false, is_blamed: false });
            for after in [LOOKED_AT_AGAIN_AFTER, PATIENCE] {
                self.looks.entry(grain(now.plus(after))).or_default().insert(queue.clone());
            }
            self.forgotten.entry(grain(now.plus(REMEMBERED_FOR))).or_default().push(run);
            return LeaveKind::Anew;
        };
        let is_same = std::mem::replace(&mut left.executor, executor) == executor;
        if !left.is_called && now.since(left.since) >= LOOKED_AT_AGAIN_AFTER {
            left.is_called = true;
            LeaveKind::InVain
        } else if is_same {
            LeaveKind::Again
        } else {
            LeaveKind::Anew
        }
    }

    /// Whether the run was left to others for long enough.
    pub(in crate::dispatch) fn is_over(&self, run: RunId, now: Timestamp) -> bool {
        self.runs.get(&run).is_some_and(|left| now.since(left.since) >= PATIENCE)
    }

    /// Who let the run pass; each is named once.
    pub(in crate::dispatch) fn blame(&mut self, run: RunId) -> Option<Uuid> {
        let left = self.runs.get_mut(&run).filter(|left| !left.is_blamed)?;
        left.is_blamed = true;
        Some(left.executor)
    }

    /// The queues of runs that may still be left to others.
    pub(in crate::dispatch) fn queues(&self) -> BTreeSet<QueueName> {
        self.looks.values().flatten().cloned().collect()
    }

    pub(in crate::dispatch) fn next_wake(&self) -> Option<Timestamp> {
        self.looks.keys().next().copied()
    }

    /// Queues that are to be looked at again.
    pub(in crate::dispatch) fn take_due(&mut self, now: Timestamp) -> BTreeSet<QueueName> {
        while let Some(first) = self.forgotten.first_entry().filter(|first| *first.key() <= now) {
            for run in first.remove() {
                self.runs.remove(&run);
            }
        }
        let mut due = BTreeSet::new();
        while let Some(first) = self.looks.first_entry().filter(|first| *first.key() <= now) {
            due.extend(first.remove());
        }
        due
    }
}

fn grain(at: Timestamp) -> Timestamp {
    let over = at.ms().rem_euclid(GRAIN_MS);
    if over == 0 { at } else { at.moved(GRAIN_MS - over) }
}
