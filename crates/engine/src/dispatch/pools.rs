//! The two pools of this process: how full they are, and which jobs are in the slow one.

use ordo_model::JobId;
use ordo_model::job::Pool;

use super::dispatcher::Dispatcher;
use super::run_queue::RunQueue;
use crate::time::timekeeper::SlotRoom;

impl Dispatcher {
    /// (pool, running, waiting in memory) for each pool of this process.
    pub fn load(&self) -> Vec<(Pool, usize, usize)> {
        let waiting = |pool: Pool| self.own_lines(pool).map(|queue| queue.runs.len()).sum();
        self.pools.iter().map(|(name, pool)| (*name, pool.running, waiting(*name))).collect()
    }

    /// The slots of this process.
    pub fn slots_len(&self) -> usize {
        self.pools.values().map(|pool| pool.size.slots).sum()
    }

    /// The jobs whose last change left them in the slow pool, at most so many.
    pub fn slow_jobs(&self, limit: usize) -> Vec<JobId> {
        let mut jobs: Vec<JobId> = self.slow.iter().copied().collect();
        jobs.sort_unstable();
        jobs.truncate(limit);
        jobs
    }

    /// Which pool the job is in, as its last change said.
    pub fn note_pool(&mut self, job: JobId, pool: Pool) {
        match pool {
            Pool::Fast => self.slow.remove(&job),
            Pool::Slow => self.slow.insert(job),
        };
    }

    /// What there is for jobs that fall due. Those of other groups and tools need none of it, but nobody knows which
    /// they are before they are fired.
    pub fn room(&self) -> SlotRoom {
        let fast = &self.pools[&Pool::Fast];
        let gives_slots = self.gives_slots(Pool::Fast);
        SlotRoom { free: if gives_slots { fast.free() } else { 0 }, is_quick: self.is_own() && fast.is_quick() }
    }

    /// Due jobs are given slots of this pool as far as there are any.
    pub(super) fn gives_slots(&self, pool: Pool) -> bool {
        self.is_own() && !self.own_lines(pool).any(|queue| !queue.runs.is_empty())
    }

    /// This process takes work, and nobody else could take it too.
    fn is_own(&self) -> bool {
        let there = self.elsewhere.values().map(|other| &other.executor).filter(|other| !other.is_in_process);
        let mut groups = self.remotes.values().map(|remote| &remote.group).chain(there.map(|other| &other.group));
        let is_shared = groups.any(|group| *group == self.me.group);
        !self.stopped && !self.resting && !is_shared
    }

    pub(crate) fn pool_of(&self, job: JobId) -> Pool {
        if self.slow.contains(&job) { Pool::Slow } else { Pool::Fast }
    }

    pub(super) fn own_lines(&self, pool: Pool) -> impl Iterator<Item = &RunQueue> {
        let own = self.queues.iter().filter(move |(name, _)| name.group == self.me.group && name.pool == pool);
        own.map(|(_, queue)| queue)
    }
}
