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
}

impl Pool {
    fn new(size: PoolSize) -> Pool {
        Pool { size, reserved: 0, running: 0, queue: BTreeSet::new() }
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
    /// There may be waiting runs that are not in memory. They are asked for when the queues have shrunk to this.
    refill_at: Option<usize>,
    reading: bool,
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
            refill_at: Some(usize::MAX),
            reading: false,
            stopped: false,
        }
    }

    pub fn stop(&mut self) {
        self.stopped = true;
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
        if self.stopped || !pool.queue.is_empty() || !pool.has_free_slot() {
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
        if self.known.contains(&waiting.run_id) {
            return;
        }
        let name = self.pool_of(waiting.job_id, now);
        let pool = self.pool_mut(name);
        if pool.queue.len() < pool.size.queue {
            pool.queue.insert(waiting);
            self.known.insert(waiting.run_id);
        } else {
            let half = pool.size.queue / 2;
            self.refill_at.get_or_insert(half);
        }
    }

    fn queued(&self) -> usize {
        self.pools.values().map(|pool| pool.queue.len()).sum()
    }

    /// Waiting runs for which there is a place now.
    pub fn take_startable(&mut self) -> Vec<Start> {
        let mut starts = Vec::new();
        if self.stopped {
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
        if self.stopped || self.reading || self.refill_at.is_none_or(|mark| self.queued() > mark) {
            return None;
        }
        self.reading = true;
        self.refill_at = None;
        let capacity: usize = self.pools.values().map(|pool| pool.size.queue).sum();
        Some(capacity + self.known.len())
    }

    /// The store's answer to `wants_waiting`.
    pub fn found_waiting(&mut self, found: &[Waiting], complete: bool, now: Timestamp) {
        self.reading = false;
        for waiting in found {
            self.add_waiting(*waiting, now);
        }
        if !complete {
            // More is there. The best of it is in memory now: it is enough to look again when half of that is gone.
            self.refill_at = Some(self.queued() / 2);
        }
    }

    pub fn pool_of(&mut self, job: JobId, now: Timestamp) -> PoolName {
        if self.slowness.is_slow(job, now) { PoolName::Slow } else { PoolName::Fast }
    }

    fn pool_mut(&mut self, name: PoolName) -> &mut Pool {
        self.pools.get_mut(&name).expect("both pools exist")
    }
}
