//! What this node says of its executors to the others.
//!
//! Invariant: said every second, and sooner when somebody is full or no longer, or lets offers pass; not more than ten times a
//! second, and not at all while there is nobody to hear it.

use ordo_model::job::Pool;
use ordo_model::{Millis, Timestamp};

use crate::cluster::{ExecutorLoad, NodeLoads};
use crate::dispatch::dispatcher::Dispatcher;

const EVERY: Millis = Millis::from_secs(1);
const URGENT_EVERY: Millis = Millis::from_ms(100);
/// Of how many executors a node speaks; the others count as free.
const LOADS_MAX: usize = 500;

#[derive(Debug, Default)]
pub(in crate::dispatch) struct LoadReport {
    last: Option<Timestamp>,
    /// Something changed that others go by.
    pub(in crate::dispatch) is_urgent: bool,
}

impl LoadReport {
    pub(in crate::dispatch) fn next_wake(&self) -> Option<Timestamp> {
        self.last.filter(|_| self.is_urgent).map(|last| last.plus(URGENT_EVERY))
    }
}

impl Dispatcher {
    /// What is to be said now, if anything.
    pub(crate) fn takes_loads(&mut self, now: Timestamp) -> Option<NodeLoads> {
        if !self.is_member || self.elsewhere.is_empty() {
            self.load_report = LoadReport::default();
            return None;
        }
        let report = &mut self.load_report;
        let since = report.last.map(|last| if now < last { EVERY } else { now.since(last) });
        let is_due = since.is_none_or(|since| since >= EVERY || (report.is_urgent && since >= URGENT_EVERY));
        if !is_due {
            return None;
        }
        report.last = Some(now);
        let is_urgent = std::mem::take(&mut report.is_urgent);
        Some(NodeLoads { loads: self.loads(now), is_urgent })
    }

    fn loads(&self, now: Timestamp) -> Vec<ExecutorLoad> {
        let ago = |at: Timestamp| (at > Timestamp::MIN).then(|| now.since(at));
        let (chosen, _, chosen_at) = self.chosen_here;
        let here = ExecutorLoad {
            id: self.me.executor.generation,
            free: u32::try_from(self.pools[&Pool::Fast].free()).unwrap_or(u32::MAX),
            chosen,
            chosen_ago: ago(chosen_at),
            heard_ago: Millis::ZERO,
            missed: 0,
        };
        let there = self.remotes.values().filter(|remote| !remote.draining).map(|remote| ExecutorLoad {
            id: remote.id,
            free: u32::try_from(remote.free()).unwrap_or(u32::MAX),
            chosen: remote.chosen,
            chosen_ago: ago(remote.chosen_at),
            heard_ago: now.since(remote.heard_at),
            missed: remote.missed,
        });
        std::iter::once(here).chain(there).take(LOADS_MAX).collect()
    }
}
