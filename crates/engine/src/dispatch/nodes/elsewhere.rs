//! Executors of other nodes, as far as choosing among them goes.
//!
//! Invariant: a guess. It begins with what their node said of them and counts what was left to them since; the node itself
//! decides what they begin, and its next word replaces the guess.

use ordo_model::Timestamp;
use ordo_model::routing::Candidate;

use crate::cluster::ElsewhereExecutor;
use crate::dispatch::requirements::QueueName;

#[derive(Debug)]
pub(in crate::dispatch) struct ElsewhereSlots {
    pub(in crate::dispatch) executor: ElsewhereExecutor,
    free: usize,
    chosen: u64,
    chosen_at: Timestamp,
    heard_at: Timestamp,
    missed: u32,
}

impl ElsewhereSlots {
    pub(in crate::dispatch) fn new(executor: ElsewhereExecutor, now: Timestamp) -> ElsewhereSlots {
        let load = &executor.load;
        ElsewhereSlots {
            free: if executor.is_served { load.free as usize } else { 0 },
            chosen: load.chosen,
            chosen_at: load.chosen_ago.map_or(Timestamp::MIN, |ago| now.minus(ago)),
            heard_at: now.minus(load.heard_ago),
            missed: load.missed,
            executor,
        }
    }

    pub(in crate::dispatch) fn serves(&self, queue: &QueueName) -> bool {
        self.executor.group == queue.group && self.executor.tools.contains(&queue.tool)
    }

    /// It is full by what was left to it alone; its node has not said so.
    pub(in crate::dispatch) fn is_full_by_guess(&self) -> bool {
        self.free == 0 && self.executor.is_served && self.executor.load.free > 0
    }

    /// A run was left to it.
    pub(in crate::dispatch) fn was_left_a_run(&mut self, now: Timestamp) {
        self.free = self.free.saturating_sub(1);
        self.chosen += 1;
        self.chosen_at = now;
    }

    /// It did not take a run that was left to it.
    pub(in crate::dispatch) fn let_pass(&mut self) {
        self.missed = self.missed.saturating_add(1);
    }

    /// As one that is waited for: who sticks to it leaves the run to its node.
    pub(in crate::dispatch) fn as_full(&self) -> Candidate<'_> {
        Candidate { free: 0, ..self.candidate() }
    }

    pub(in crate::dispatch) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            id: self.executor.id,
            name: &self.executor.name,
            free: self.free,
            heard_at: self.heard_at,
            chosen: self.chosen,
            chosen_last: 0,
            turn_last: 0,
            chosen_at: self.chosen_at,
            missed: self.missed,
        }
    }
}
