//! The dispatcher: which waiting run gets which free place, here or elsewhere.
//!
//! Invariant: a place is free, reserved for one order, or running one attempt. Where nothing is free runs stay where
//! they are safe: pending, in the store. The queues in memory are a cache of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ordo_model::job::{Pool, SlotReservation};
use ordo_model::limits::{LEASE, RATE_PER_MAX};
use ordo_model::{FencingToken, JobId, Millis, RunId, Timestamp};
use uuid::Uuid;

use super::draws::Draws;
use super::keys::{KeyVerdict, Keys};
use super::nodes::{ElsewhereSlots, LeftRuns, LoadReport, RollCalls};
use super::parking::{Blocker, Freed, Parking};
use super::remote::RemoteSlots;
use super::requirements::QueueName;
use super::run_queue::RunQueue;
use super::slots::{PoolSizes, Slots};
use crate::commit::change::{RateKey, SharedLimit, SlotLocation, StartedAttempt, WaitingRun};
use crate::time::partitions::PartitionSet;

/// A concurrency key that others hold is asked for again after so long, if no hint says sooner that it may be free.
const ASKED_AGAIN_AFTER: Millis = Millis::from_secs(1);
/// How many waiting runs are read at a time.
const FIND_PAGE: usize = 1_000;

/// A question to the store: the waiting runs of a queue, behind that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    pub queue: QueueName,
    pub after: Option<WaitingRun>,
    pub limit: usize,
}

/// An offer that was not taken in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    pub executor: Uuid,
    pub job_id: JobId,
    pub run_id: RunId,
    pub token: FencingToken,
}

/// An attempt that occupies a slot.
#[derive(Debug)]
pub(super) struct HeldSlot {
    pub(super) location: SlotLocation,
    pub(super) job_id: JobId,
    pub(super) key: Option<String>,
    /// Until when a remote executor must have taken it.
    pub(super) offered_until: Option<Timestamp>,
}

/// A `Start` command under way.
#[derive(Debug)]
pub(super) struct Starting {
    pub(super) key: Option<String>,
    /// The rate that it counts for.
    pub(super) rate: Option<RateKey>,
    /// How long a remote executor has to take the attempt.
    pub(super) patience: Millis,
}

#[derive(Debug)]
pub struct Dispatcher {
    pub(super) me: SlotReservation,
    pub(super) draws: Draws,
    pub(super) pools: BTreeMap<Pool, Slots>,
    pub(super) remotes: BTreeMap<Uuid, RemoteSlots>,
    /// The executors of other nodes, by generation: they are given work there.
    pub(super) elsewhere: BTreeMap<Uuid, ElsewhereSlots>,
    pub(super) left: LeftRuns,
    pub(super) load_report: LoadReport,
    pub(super) queues: BTreeMap<QueueName, RunQueue>,
    pub(super) parking: Parking,
    pub(super) keys: Keys,
    /// Runs in memory or on their way out of it.
    pub(super) known: HashSet<RunId>,
    pub(super) starting: HashMap<RunId, Starting>,
    /// Attempts that execute. One that was given up may go on here beside the next attempt of its run.
    pub(super) running: BTreeMap<(RunId, FencingToken), HeldSlot>,
    pub(super) offers: BTreeSet<(Timestamp, RunId, FencingToken)>,
    pub(super) slow: HashSet<JobId>,
    /// How many choices were made; also the source of their chance.
    pub(super) choices: u64,
    /// How often this process itself was chosen, when that was last, in choices, and at which moment.
    pub(super) chosen_here: (u64, u64, Timestamp),
    /// When `round` last came to this process, in choices.
    pub(super) turn_here: u64,
    reading: Option<QueueName>,
    /// One of several nodes: what it knows of the executors of others may be old.
    pub(super) is_member: bool,
    /// Nodes of an earlier version are there: see [`SlotReservation::is_keyless`].
    pub(crate) is_keyless: bool,
    pub(super) roll_calls: RollCalls,
    /// Others are to take the work for now.
    pub(super) resting: bool,
    pub(super) stopped: bool,
}

impl Dispatcher {
    /// `me` is what a slot of the executor in this process offers; it says which tools it has.
    pub fn new(me: SlotReservation, draws: Draws, sizes: PoolSizes) -> Dispatcher {
        let mut dispatcher = Dispatcher {
            me,
            draws,
            pools: BTreeMap::from([(Pool::Fast, Slots::new(sizes.fast)), (Pool::Slow, Slots::new(sizes.slow))]),
            remotes: BTreeMap::new(),
            elsewhere: BTreeMap::new(),
            left: LeftRuns::default(),
            load_report: LoadReport::default(),
            queues: BTreeMap::new(),
            parking: Parking::default(),
            keys: Keys::default(),
            known: HashSet::new(),
            starting: HashMap::new(),
            running: BTreeMap::new(),
            offers: BTreeSet::new(),
            slow: HashSet::new(),
            choices: 0,
            chosen_here: (0, 0, Timestamp::MIN),
            turn_here: 0,
            reading: None,
            is_member: false,
            is_keyless: false,
            roll_calls: RollCalls::default(),
            resting: false,
            stopped: false,
        };
        dispatcher.sync_lines();
        dispatcher
    }

    /// It is one of several. What it starts counts for all of them from the first start on, unless one of them holds no keys.
    pub fn share(&mut self, is_keyless: bool) {
        (self.is_member, self.is_keyless) = (true, is_keyless);
    }

    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// A resting dispatcher takes nothing new; what runs goes on.
    pub fn rest(&mut self, resting: bool) {
        let woke = self.resting && !resting;
        self.resting = resting;
        if woke {
            self.rescan();
        }
    }

    /// Runs may wait in the store that this node does not know of: it asks, where it has room for them.
    pub fn rescan(&mut self) {
        let open = |name: &QueueName, dispatcher: &Dispatcher| {
            let here = dispatcher.serves_here(name) && dispatcher.pools[&name.pool].free() > 0;
            here || dispatcher.remotes.values().any(|remote| remote.serves(name) && remote.free() > 0)
        };
        let names: Vec<QueueName> = self.queues.keys().filter(|name| open(name, self)).cloned().collect();
        for name in names {
            if let Some(queue) = self.queues.get_mut(&name).filter(|queue| queue.runs.is_empty()) {
                queue.must_refill();
            }
        }
    }

    /// Nothing runs here and nothing has a place reserved here.
    pub fn is_idle(&self) -> bool {
        self.pools.values().all(|pool| pool.running == 0 && pool.reserved == 0)
    }

    /// How many attempts run in this process.
    pub fn running_len(&self) -> usize {
        self.pools.values().map(|pool| pool.running).sum()
    }

    /// When there is something to do next: an offer runs out, or a rate gives way.
    pub fn next_wake(&self) -> Option<Timestamp> {
        let offer = self.offers.first().map(|(until, _, _)| *until);
        let others = [self.parking.next_wake(), self.left.next_wake(), self.load_report.next_wake()];
        if self.stopped { None } else { offer.into_iter().chain(others.into_iter().flatten()).min() }
    }

    // --- places -------------------------------------------------------------------------------------

    /// Reserves a slot for a command on this job, unless others wait for it already, or others could run it too.
    pub fn reserve(&mut self, job: JobId) -> Option<(SlotReservation, SlotLocation)> {
        let name = self.pool_of(job);
        if !self.gives_slots(name) || self.pools[&name].free() == 0 {
            return None;
        }
        self.slots(name).reserved += 1;
        let has_others = self.elsewhere.values().any(|other| other.executor.group == self.me.group);
        let reservation = SlotReservation { draw: self.draws.next(), has_others, ..self.me.clone() };
        Some((reservation, SlotLocation::Local(name)))
    }

    /// A reserved place was not needed.
    pub fn give_back(&mut self, location: SlotLocation) {
        match location {
            SlotLocation::Local(pool) => {
                self.slots(pool).give_back();
                self.has_room(self.me.executor.generation);
            }
            SlotLocation::Remote(id) => {
                // One that left took its places with it.
                if let Some(remote) = self.remotes.get_mut(&id) {
                    remote.reserved = remote.reserved.saturating_sub(1);
                    self.has_room(id);
                }
            }
        }
    }

    /// A reserved slot became a running attempt. Returns whether its executor is still there.
    pub fn began(&mut self, assignment: &StartedAttempt, now: Timestamp) -> bool {
        self.forget(assignment.run_id);
        let starting = self.starting.remove(&assignment.run_id);
        let (key, patience) = starting.map_or((None, LEASE), |starting| (starting.key, starting.patience));
        let attempt = (assignment.run_id, assignment.token);
        let mut held = HeldSlot { location: assignment.location, job_id: assignment.job_id, key, offered_until: None };
        match assignment.location {
            SlotLocation::Local(pool) => {
                let slots = self.slots(pool);
                slots.give_back();
                slots.running += 1;
            }
            SlotLocation::Remote(id) => {
                let Some(remote) = self.remotes.get_mut(&id) else {
                    self.release_key(held.key);
                    return false;
                };
                remote.reserved = remote.reserved.saturating_sub(1);
                remote.running += 1;
                let until = now.plus(patience);
                held.offered_until = Some(until);
                self.offers.insert((until, attempt.0, attempt.1));
            }
        }
        self.running.insert(attempt, held);
        true
    }

    /// The attempts of a run that are known here, with where they are.
    pub fn locations_of(&self, run: RunId) -> Vec<(FencingToken, SlotLocation)> {
        let attempts = self.running.range((run, FencingToken(0))..=(run, FencingToken(u64::MAX)));
        attempts.map(|((_, token), held)| (*token, held.location)).collect()
    }

    /// The attempts of remote executors that are counted here, with their jobs.
    pub(crate) fn remote_attempts(&self) -> Vec<(JobId, RunId, FencingToken)> {
        let remote = self.running.iter().filter(|(_, held)| matches!(held.location, SlotLocation::Remote(_)));
        remote.map(|((run_id, token), held)| (held.job_id, *run_id, *token)).collect()
    }

    /// An attempt is over, here or elsewhere; its place is free.
    pub fn finished(&mut self, attempt: (RunId, FencingToken)) {
        let Some(held) = self.running.remove(&attempt) else { return };
        if let Some(until) = held.offered_until {
            self.offers.remove(&(until, attempt.0, attempt.1));
        }
        match held.location {
            SlotLocation::Local(pool) => {
                self.slots(pool).ended();
                self.has_room(self.me.executor.generation);
            }
            SlotLocation::Remote(id) => {
                if let Some(remote) = self.remotes.get_mut(&id) {
                    remote.running = remote.running.saturating_sub(1);
                }
                self.has_room(id);
            }
        }
        self.release_key(held.key);
    }

    /// A `Start` or `Broadcast` command was answered, one way or the other.
    pub fn answered(&mut self, run: RunId) {
        self.forget(run);
        if let Some(starting) = self.starting.remove(&run) {
            starting.rate.iter().for_each(|key| self.keys.did_not_start(key));
            self.release_key(starting.key);
        }
    }

    fn release_key(&mut self, key: Option<String>) {
        if let Some(key) = key {
            self.keys.release(&key);
            let freed = self.parking.free(&Blocker::Key(key));
            self.unpark(freed);
        }
    }

    /// The store refused a start: what it needs a share of is used up, by others too.
    pub(crate) fn exhausted(&mut self, limit: SharedLimit, until: Option<Timestamp>, now: Timestamp) {
        let until = until.unwrap_or_else(|| now.plus(ASKED_AGAIN_AFTER));
        let blocker = match &limit {
            SharedLimit::Concurrency(key) => Blocker::Key(key.clone()),
            SharedLimit::Rate(key) => Blocker::Rate(key.clone()),
        };
        self.keys.exhausted(limit, until);
        self.parking.wake_at(blocker, until);
    }

    /// An attempt that held the key ended, here or on another executor.
    pub(crate) fn freed(&mut self, key: &str) {
        if self.keys.may_be_free(key) {
            let freed = self.parking.free(&Blocker::Key(key.to_owned()));
            self.unpark(freed);
        }
    }

    /// Other nodes wrote there: they may have ended what held a key.
    pub(crate) fn may_be_free(&mut self, partitions: &PartitionSet) {
        for key in self.keys.exhausted_in(partitions) {
            self.freed(&key);
        }
    }

    fn has_room(&mut self, executor: Uuid) {
        if self.remotes.get(&executor).is_some_and(|remote| remote.free() == 1) {
            self.load_report.is_urgent = true;
        }
        let freed = self.parking.free(&Blocker::Executor(executor));
        self.unpark(freed);
    }

    // --- queues --------------------------------------------------------------------------------------

    pub fn add_waiting(&mut self, waiting: WaitingRun, now: Timestamp) {
        // Not whether it runs: an attempt that was given up may go on here, and the next one must not wait for it.
        if self.resting
            || self.known.contains(&waiting.run_id)
            || !self.queues.contains_key(&waiting.requirements.queue)
        {
            return;
        }
        if let Some(blocker) = self.crowded(&waiting, now) {
            self.parking.turned_away(blocker, &waiting.requirements.queue);
            return;
        }
        self.known.insert(waiting.run_id);
        self.put(waiting);
    }

    fn put(&mut self, waiting: WaitingRun) {
        let left = match self.queues.get_mut(&waiting.requirements.queue) {
            Some(queue) => queue.add(waiting),
            None => Some(waiting),
        };
        if let Some(left) = left {
            self.forget(left.run_id);
        }
    }

    /// The run is in memory no more.
    pub(super) fn forget(&mut self, run: RunId) {
        self.known.remove(&run);
        self.roll_calls.forget(run);
    }

    /// A key that is busy, with as many waiting for it as memory holds.
    fn crowded(&mut self, waiting: &WaitingRun, now: Timestamp) -> Option<Blocker> {
        let blocker = match self.keys.judge(&waiting.requirements.terms, now) {
            KeyVerdict::Free => return None,
            KeyVerdict::Busy(key) => Blocker::Key(key),
            KeyVerdict::Until(key, at) => {
                self.parking.wake_at(Blocker::Rate(key.clone()), at);
                Blocker::Rate(key)
            }
        };
        (!self.parking.has_room(&blocker)).then_some(blocker)
    }

    pub(super) fn park(&mut self, blocker: Blocker, waiting: WaitingRun) {
        if let Some(left) = self.parking.park(blocker, waiting) {
            self.forget(left.run_id);
        }
    }

    /// Runs come back to their queues; a queue that was left without some of its runs is read again.
    pub(super) fn unpark(&mut self, freed: Freed) {
        for name in &freed.queues {
            if let Some(queue) = self.queues.get_mut(name) {
                queue.must_refill();
            }
        }
        for waiting in freed.runs {
            self.put(waiting);
        }
    }

    /// What time alone brings: rates give way.
    pub fn time_passed(&mut self, now: Timestamp) {
        self.pools.values_mut().for_each(|pool| pool.time_passed(now));
        let freed = self.parking.free_due(now);
        self.unpark(freed);
        let queues = self.left.take_due(now);
        self.look_at_again(&queues);
        self.keys.forget_before(now.minus(RATE_PER_MAX), now);
    }

    /// Whether the store should be asked for waiting runs that are not in memory.
    pub fn wants_waiting(&mut self) -> Option<Find> {
        if self.stopped || self.resting || self.reading.is_some() {
            return None;
        }
        let (name, queue) = self.queues.iter_mut().find(|(_, queue)| queue.is_scarce())?;
        queue.refilling();
        self.reading = Some(name.clone());
        Some(Find { queue: name.clone(), after: None, limit: FIND_PAGE })
    }

    /// The store's answer: a page of waiting runs; `complete`: there are no more. Returns what to read next.
    pub fn found_waiting(
        &mut self,
        name: &QueueName,
        found: Vec<WaitingRun>,
        complete: bool,
        now: Timestamp,
    ) -> Option<Find> {
        self.reading = None;
        let last = found.last().cloned();
        for waiting in found {
            self.add_waiting(waiting, now);
        }
        let queue = self.queues.get_mut(name)?;
        match last {
            _ if complete => None,
            // The store could not be read.
            None => {
                queue.must_refill();
                None
            }
            Some(_) if queue.is_full() => {
                queue.overflowed();
                None
            }
            after => {
                self.reading = Some(name.clone());
                Some(Find { queue: name.clone(), after, limit: FIND_PAGE })
            }
        }
    }

    pub(super) fn slots(&mut self, name: Pool) -> &mut Slots {
        self.pools.get_mut(&name).expect("both pools exist")
    }

    pub(super) fn serves_here(&self, queue: &QueueName) -> bool {
        queue.group == self.me.group && self.me.tools.as_ref().is_none_or(|tools| tools.contains(&queue.tool))
    }
}
