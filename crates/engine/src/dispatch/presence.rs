//! Who is there: executors that come, are heard, take what they were offered, drain and go, here and at other nodes.
//!
//! Invariant: there is a queue for every tool that somebody offers, and for no other.

use std::collections::BTreeSet;

use ordo_model::executor::Offer;
use ordo_model::job::Pool;
use ordo_model::{FencingToken, RunId, Timestamp};
use uuid::Uuid;

use super::dispatcher::{Dispatcher, HeldSlot, Overdue};
use super::nodes::ElsewhereSlots;
use super::remote::{RemoteSlots, Restored};
use super::requirements::QueueName;
use super::run_queue::RunQueue;
use crate::cluster::ElsewhereExecutor;
use crate::commit::change::SlotLocation;

/// How many waiting runs of one tool of another group are held in memory.
const REMOTE_QUEUE: usize = 2_000;

impl Dispatcher {
    /// Whether it is to be found out who is there.
    pub fn takes_roll_call(&mut self) -> bool {
        self.roll_calls.take_wanted()
    }

    /// Who is there was read after the runs came that wait for it; None: it could not be read.
    pub fn roll_called(&mut self, elsewhere: Option<Vec<ElsewhereExecutor>>, now: Timestamp) {
        let Some(elsewhere) = elsewhere else {
            let freed = self.parking.free(&self.roll_calls.failed());
            return self.unpark(freed);
        };
        self.are_elsewhere(elsewhere, now);
        let freed = self.parking.free(&self.roll_calls.answered());
        self.roll_calls.called(freed.runs.iter().map(|waiting| waiting.run_id));
        self.unpark(freed);
    }

    pub fn enrolled(&mut self, id: Uuid, offer: &Offer, now: Timestamp) {
        self.remotes.insert(id, RemoteSlots::new(id, offer, now));
        self.who_is_there_changed();
    }

    /// These are the executors of other nodes.
    pub fn are_elsewhere(&mut self, elsewhere: Vec<ElsewhereExecutor>, now: Timestamp) {
        let mut before = std::mem::take(&mut self.elsewhere);
        let (count, mut is_same, mut is_news) = (before.len(), true, false);
        for other in elsewhere {
            let known = before.remove(&other.id);
            is_same &= known.as_ref().is_some_and(|known| known.executor.is_same_as(&other));
            // What was counted since its node last spoke of it holds until that speaks again.
            let known = known.filter(|known| known.executor == other);
            is_news |= known.is_none();
            self.elsewhere.insert(other.id, known.unwrap_or_else(|| ElsewhereSlots::new(other, now)));
        }
        if !is_same || count != self.elsewhere.len() {
            self.who_is_there_changed();
        }
        if is_news {
            self.look_at_again(&self.left.queues());
        }
    }

    /// Runs of these queues were left to others, and may still wait.
    pub(super) fn look_at_again(&mut self, queues: &BTreeSet<QueueName>) {
        for name in queues {
            if let Some(queue) = self.queues.get_mut(name) {
                queue.must_refill();
            }
        }
    }

    pub fn heard(&mut self, id: Uuid, now: Timestamp) {
        if let Some(remote) = self.remotes.get_mut(&id) {
            remote.heard_at = now;
        }
    }

    /// A remote executor asks for work: whatever it let pass before, it is there.
    pub fn asks_for_work(&mut self, id: Uuid, now: Timestamp) {
        if let Some(remote) = self.remotes.get_mut(&id) {
            remote.heard_at = now;
            if std::mem::take(&mut remote.missed) > 0 {
                self.load_report.is_urgent = true;
            }
        }
    }

    /// A remote executor has these attempts.
    pub fn taken(&mut self, attempts: &[(RunId, FencingToken)]) {
        for attempt in attempts {
            let offer = self.running.get_mut(attempt).and_then(|held| held.offered_until.take());
            if let Some(until) = offer {
                self.offers.remove(&(until, attempt.0, attempt.1));
            }
        }
    }

    pub fn draining(&mut self, id: Uuid) {
        if let Some(remote) = self.remotes.get_mut(&id) {
            remote.draining = true;
            self.who_is_there_changed();
        }
    }

    /// It left, was lost, or is with another node. What it runs is not counted here any more: whoever ends it may be another
    /// node, and this one would not hear of it. Whether its key is free, the store says.
    pub fn gone(&mut self, id: Uuid) {
        if self.remotes.remove(&id).is_some() {
            let held = self.running.iter().filter(|(_, held)| held.location == SlotLocation::Remote(id));
            let attempts: Vec<(RunId, FencingToken)> = held.map(|(attempt, _)| *attempt).collect();
            attempts.into_iter().for_each(|attempt| self.finished(attempt));
            self.who_is_there_changed();
        }
    }

    /// Attempts that run elsewhere since before this process.
    pub fn restored(&mut self, attempts: Vec<Restored>) {
        for Restored { job_id, run_id, token, executor, key } in attempts {
            if let Some(remote) = self.remotes.get_mut(&executor) {
                remote.running += 1;
            }
            key.clone().into_iter().for_each(|key| self.keys.hold(key));
            let held = HeldSlot { location: SlotLocation::Remote(executor), job_id, key, offered_until: None };
            self.running.insert((run_id, token), held);
        }
    }

    /// Offers that ran out. Whether they were taken in the last moment is known to whoever leases them out.
    pub fn overdue_offers(&mut self, now: Timestamp) -> Vec<Overdue> {
        let mut overdue = Vec::new();
        while let Some(&(until, run_id, token)) = self.offers.first().filter(|(until, _, _)| *until <= now) {
            self.offers.remove(&(until, run_id, token));
            let Some(held) = self.running.get_mut(&(run_id, token)) else { continue };
            held.offered_until = None;
            let SlotLocation::Remote(executor) = held.location else { continue };
            overdue.push(Overdue { executor, job_id: held.job_id, run_id, token });
            if let Some(remote) = self.remotes.get_mut(&executor) {
                remote.missed = remote.missed.saturating_add(1);
                self.load_report.is_urgent = true;
            }
        }
        overdue
    }

    fn who_is_there_changed(&mut self) {
        self.sync_lines();
        let freed = self.parking.free_executors();
        self.unpark(freed);
    }

    /// There is a queue for every tool that somebody offers, and for no other: what nobody can run stays in the store.
    pub(super) fn sync_lines(&mut self) {
        let own = self.me.tools.iter().flat_map(|tools| tools.iter()).map(|tool| (&self.me.group, tool));
        let there = self.remotes.values().filter(|remote| !remote.draining);
        let remote = there.flat_map(|remote| remote.tools.iter().map(|tool| (&remote.group, tool)));
        let offered = own.chain(remote).flat_map(|(group, tool)| {
            Pool::ALL.map(|pool| QueueName { group: group.clone(), pool, tool: tool.clone() })
        });
        let wanted: BTreeSet<QueueName> = offered.collect();
        let gone: Vec<QueueName> = self.queues.keys().filter(|name| !wanted.contains(*name)).cloned().collect();
        for name in gone {
            let queue = self.queues.remove(&name);
            for waiting in queue.iter().flat_map(|queue| &queue.runs) {
                self.forget(waiting.run_id);
            }
        }
        for name in wanted {
            let size = self.queue_size(&name);
            self.queues.entry(name).or_insert_with(|| RunQueue::new(size));
        }
    }

    fn queue_size(&self, queue: &QueueName) -> usize {
        if queue.group == self.me.group { self.pools[&queue.pool].size.queue } else { REMOTE_QUEUE }
    }
}
