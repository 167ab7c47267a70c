//! The dispatcher: which waiting run gets which free place in this process.
//!
//! Invariant: a place is free, reserved for one order, or running one attempt. A full pool leaves runs where they are
//! safe: pending, in the store. The queue in memory is a cache of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ordo_model::{Incarnation, JobId, Millis, RunId, Timestamp, Token, job};

use crate::change::{PoolName, Started, Waiting};
use crate::slowness::Slowness;

/// How many attempts run at once, and how many waiting runs are held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSize {
    pub slots: usize,
    pub queue: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSizes {
    pub fast: PoolSize,
    pub slow: PoolSize,
}

impl Default for PoolSizes {
    fn default() -> PoolSizes {
        PoolSizes { fast: PoolSize { slots: 200, queue: 2_000 }, slow: PoolSize { slots: 100, queue: 5_000 } }
    }
}

#[derive(Debug)]
struct Pool {
    size: PoolSize,
    reserved: usize,
    running: usize,
    queue: BTreeSet<Waiting>,
    /// There may be waiting runs that are not in memory. They are asked for when the queue has shrunk to this.
    refill_at: Option<usize>,
}

impl Pool {
    fn new(size: PoolSize) -> Pool {
        Pool { size, reserved: 0, running: 0, queue: BTreeSet::new(), refill_at: Some(usize::MAX) }
    }

    fn has_free_slot(&self) -> bool {
        self.running + self.reserved < self.size.slots
    }
}

/// What the dispatcher wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub waiting: Waiting,
    pub pool: PoolName,
}

#[derive(Debug)]
pub struct Dispatcher {
    me: Incarnation,
    pools: BTreeMap<PoolName, Pool>,
    /// Runs in a queue or on their way out of it.
    known: HashSet<RunId>,
    /// Attempts that execute here. One that was given up may go on beside the next attempt of its run.
    running: BTreeMap<(RunId, Token), PoolName>,
    slowness: Slowness,
    reading: bool,
    /// Others are to take the work for now.
    resting: bool,
    stopped: bool,
}

impl Dispatcher {
    pub fn new(me: Incarnation, sizes: PoolSizes) -> Dispatcher {
        let pools = BTreeMap::from([(PoolName::Fast, Pool::new(sizes.fast)), (PoolName::Slow, Pool::new(sizes.slow))]);
        Dispatcher {
            me,
            pools,
            known: HashSet::new(),
            running: BTreeMap::new(),
            slowness: Slowness::default(),
            reading: false,
            resting: false,
            stopped: false,
        }
    }

    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// A resting dispatcher takes nothing new; what runs goes on.
    pub fn rest(&mut self, resting: bool) {
        if self.resting && !resting {
            self.look_again();
        }
        self.resting = resting;
    }

    /// Nothing runs and nothing has a place reserved.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.pools.values().all(|pool| pool.reserved == 0)
    }

    pub fn running_len(&self) -> usize {
        self.running.len()
    }

    /// (pool, running, waiting in memory) for each pool.
    pub fn load(&self) -> Vec<(PoolName, usize, usize)> {
        self.pools.iter().map(|(name, pool)| (*name, pool.running, pool.queue.len())).collect()
    }

    /// Reserves a place for an order on this job, unless others wait for it already.
    pub fn reserve(&mut self, job: JobId, now: Timestamp) -> Option<(job::Seat, PoolName)> {
        let name = self.pool_of(job, now);
        let pool = self.pools.get_mut(&name)?;
        if self.stopped || self.resting || !pool.queue.is_empty() || !pool.has_free_slot() {
            return None;
        }
        pool.reserved += 1;
        Some((self.seat(), name))
    }

    pub fn seat(&self) -> job::Seat {
        job::Seat { executor: self.me.clone(), group: job::Definition::DEFAULT_GROUP.to_owned() }
    }

    /// A reserved place was not needed.
    pub fn give_back(&mut self, pool: PoolName) {
        let pool = self.pool_mut(pool);
        pool.reserved = pool.reserved.checked_sub(1).expect("a place given back was reserved before");
    }

    /// A reserved place became a running attempt.
    pub fn began(&mut self, started: &Started) {
        self.give_back(started.pool);
        self.pool_mut(started.pool).running += 1;
        self.known.remove(&started.run_id);
        self.running.insert((started.run_id, started.token), started.pool);
    }

    pub fn is_running(&self, run: RunId) -> bool {
        self.running.range((run, Token(0))..=(run, Token(u64::MAX))).next().is_some()
    }

    /// An attempt is over here; its place is free.
    pub fn finished(&mut self, attempt: (RunId, Token), job: JobId, took: Millis, now: Timestamp) {
        if let Some(pool) = self.running.remove(&attempt) {
            self.pool_mut(pool).running -= 1;
            self.slowness.note(job, took, now);
        }
    }

    /// A `Start` order was answered, one way or the other.
    pub fn answered(&mut self, run: RunId) {
        self.known.remove(&run);
    }

    pub fn add_waiting(&mut self, waiting: Waiting, now: Timestamp) {
        // Not whether it runs: an attempt that was given up may go on here, and the next one must not wait for it.
        if self.known.contains(&waiting.run_id) || self.resting {
            return;
        }
        let name = self.pool_of(waiting.job_id, now);
        let pool = self.pool_mut(name);
        if pool.queue.len() < pool.size.queue {
            pool.queue.insert(waiting);
            self.known.insert(waiting.run_id);
        } else {
            pool.refill_at.get_or_insert(pool.size.queue / 2);
        }
    }

    /// Waiting runs for which there is a place now.
    pub fn take_startable(&mut self) -> Vec<Start> {
        let mut starts = Vec::new();
        if self.stopped || self.resting {
            return starts;
        }
        for (name, pool) in &mut self.pools {
            while pool.has_free_slot()
                && let Some(waiting) = pool.queue.pop_first()
            {
                pool.reserved += 1;
                starts.push(Start { waiting, pool: *name });
            }
        }
        starts
    }

    /// Whether the store should be asked for waiting runs that are not in memory; how many.
    pub fn wants_waiting(&mut self) -> Option<usize> {
        let scarce = self.pools.values().any(|pool| pool.refill_at.is_some_and(|mark| pool.queue.len() <= mark));
        if self.stopped || self.resting || self.reading || !scarce {
            return None;
        }
        self.reading = true;
        self.pools.values_mut().for_each(|pool| pool.refill_at = None);
        let capacity: usize = self.pools.values().map(|pool| pool.size.queue).sum();
        Some(capacity + self.known.len())
    }

    /// The store's answer to `wants_waiting`.
    pub fn found_waiting(&mut self, found: &[Waiting], complete: bool, now: Timestamp) {
        self.reading = false;
        for waiting in found {
            self.add_waiting(*waiting, now);
        }
        if complete {
            return;
        }
        // More is there. The best of it is in memory now: it is enough to look again when half of a queue is gone.
        // Nothing at all in memory means that the store could not be read: then it is asked again.
        let nothing = self.pools.values().all(|pool| pool.queue.is_empty());
        for pool in self.pools.values_mut().filter(|pool| nothing || !pool.queue.is_empty()) {
            pool.refill_at = Some(pool.queue.len() / 2);
        }
    }

    /// Runs may wait in the store that this node does not know of: it asks, where it has room for them.
    pub fn look_again(&mut self) {
        for pool in self.pools.values_mut().filter(|pool| pool.has_free_slot() && pool.queue.is_empty()) {
            pool.refill_at = Some(usize::MAX);
        }
    }

    pub fn pool_of(&mut self, job: JobId, now: Timestamp) -> PoolName {
        if self.slowness.is_slow(job, now) { PoolName::Slow } else { PoolName::Fast }
    }

    fn pool_mut(&mut self, name: PoolName) -> &mut Pool {
        self.pools.get_mut(&name).expect("both pools exist")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::Token;
    use serde_json::Value;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::MIN;

    fn dispatcher(slots: usize, queue: usize) -> Dispatcher {
        let size = PoolSize { slots, queue };
        let mut dispatcher = Dispatcher::new(me(), PoolSizes { fast: size, slow: size });
        // The first question to the store, at the start, is answered: nothing waits there.
        assert!(dispatcher.wants_waiting().is_some());
        dispatcher.found_waiting(&[], true, NOW);
        dispatcher
    }

    fn me() -> Incarnation {
        Incarnation { executor: "local".into(), life: Uuid::from_u128(1) }
    }

    fn job(n: u128) -> JobId {
        JobId(Uuid::from_u128(n))
    }

    fn waiting(n: u128, rank: u8) -> Waiting {
        Waiting { rank, since: NOW, run_id: RunId(Uuid::from_u128(n)), job_id: job(n) }
    }

    fn started(n: u128) -> Started {
        Started {
            pool: PoolName::Fast,
            executor: me(),
            job_id: job(n),
            run_id: RunId(Uuid::from_u128(n)),
            label: String::new(),
            attempt: 1,
            token: Token(1),
            scheduled_for: None,
            timeout: Millis::from_secs(1),
            delivery: None,
            tool_name: "noop".into(),
            tool_input: Value::Null,
            traceparent: None,
        }
    }

    fn finish(dispatcher: &mut Dispatcher, n: u128) {
        dispatcher.finished((RunId(Uuid::from_u128(n)), Token(1)), job(n), Millis::ZERO, NOW);
    }

    #[test]
    fn a_place_is_reserved_taken_and_freed() {
        let mut dispatcher = dispatcher(1, 10);
        assert!(dispatcher.reserve(job(1), NOW).is_some());
        assert!(dispatcher.reserve(job(2), NOW).is_none(), "the only place is reserved");
        dispatcher.began(&started(1));
        assert!(dispatcher.reserve(job(2), NOW).is_none(), "and now it is taken");
        assert!(!dispatcher.is_idle());
        finish(&mut dispatcher, 1);
        assert!(dispatcher.is_idle());
        assert!(dispatcher.reserve(job(2), NOW).is_some());
    }

    #[test]
    fn those_who_wait_come_before_those_who_come() {
        let mut dispatcher = dispatcher(1, 10);
        dispatcher.add_waiting(waiting(1, 5), NOW);
        assert!(dispatcher.reserve(job(2), NOW).is_none());
        assert_eq!(dispatcher.take_startable().len(), 1);
    }

    #[test]
    fn waiting_runs_start_by_rank_and_each_once() {
        let mut dispatcher = dispatcher(2, 10);
        for (n, rank) in [(1, 9), (2, 0), (3, 4)] {
            dispatcher.add_waiting(waiting(n, rank), NOW);
            dispatcher.add_waiting(waiting(n, rank), NOW);
        }
        let starts: Vec<JobId> = dispatcher.take_startable().iter().map(|start| start.waiting.job_id).collect();
        assert_eq!(starts, [job(2), job(3)]);
        dispatcher.add_waiting(waiting(2, 0), NOW);
        assert!(dispatcher.take_startable().is_empty(), "it is on its way already, and no place is free");
    }

    #[test]
    fn a_start_that_was_refused_gives_its_place_back_and_may_wait_again() {
        let mut dispatcher = dispatcher(1, 10);
        dispatcher.add_waiting(waiting(1, 0), NOW);
        let start = dispatcher.take_startable().remove(0);
        dispatcher.give_back(start.pool);
        dispatcher.answered(start.waiting.run_id);
        dispatcher.add_waiting(waiting(1, 0), NOW);
        assert_eq!(dispatcher.take_startable().len(), 1);
    }

    #[test]
    fn what_does_not_fit_into_memory_is_asked_for_when_half_of_it_is_gone() {
        let mut dispatcher = dispatcher(1, 4);
        for n in 0..6 {
            dispatcher.add_waiting(waiting(n, 0), NOW);
        }
        assert_eq!(dispatcher.wants_waiting(), None, "the queue is still full");
        for n in 0..2 {
            assert_eq!(dispatcher.take_startable().len(), 1);
            dispatcher.began(&started(n));
            finish(&mut dispatcher, n);
        }
        assert!(dispatcher.wants_waiting().is_some());
        assert_eq!(dispatcher.wants_waiting(), None, "one question at a time");
        let rest: Vec<Waiting> = (2..6).map(|n| waiting(n, 0)).collect();
        dispatcher.found_waiting(&rest, true, NOW);
        assert_eq!(dispatcher.wants_waiting(), None, "all of it is in memory now");
        assert_eq!(dispatcher.load()[0], (PoolName::Fast, 0, 4));
    }

    #[test]
    fn a_pool_that_overflowed_is_refilled_however_long_the_queue_of_the_other_is() {
        let mut dispatcher = dispatcher(1, 4);
        for _ in 0..=crate::slowness::SLOW_RUNS {
            dispatcher.slowness.note(job(100), Millis::from_secs(1), NOW);
        }
        for n in 0..4 {
            dispatcher.add_waiting(Waiting { job_id: job(100), ..waiting(1_000 + n, 0) }, NOW);
        }
        for n in 0..5 {
            dispatcher.add_waiting(waiting(n, 0), NOW);
        }
        assert_eq!(dispatcher.load().iter().map(|(_, _, queued)| *queued).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(dispatcher.wants_waiting(), None);
        dispatcher.take_startable();
        for n in 0..2 {
            dispatcher.began(&started(n));
            finish(&mut dispatcher, n);
            dispatcher.take_startable();
        }
        assert!(dispatcher.wants_waiting().is_some(), "half of the fast queue is gone");
    }

    #[test]
    fn a_stopped_dispatcher_starts_nothing() {
        let mut dispatcher = dispatcher(1, 10);
        dispatcher.add_waiting(waiting(1, 0), NOW);
        dispatcher.stop();
        assert!(dispatcher.take_startable().is_empty());
        assert!(dispatcher.reserve(job(2), NOW).is_none());
    }
}
