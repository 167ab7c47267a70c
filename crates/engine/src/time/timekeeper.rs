//! The timekeeper: scans the alarms ahead once per tick, keeps the near future in the ring, returns what is due.
//!
//! Invariant: every alarm at or before `covered` is in the ring or in flight; what lies beyond is found by a later
//! scan ahead, which always comes before it is due. A scan ahead is a page of the past when it arrives: what changed
//! since it was asked for is known better here.

use std::collections::HashSet;

use ordo_model::limits::MISFIRE_WINDOW;
use ordo_model::{EntityId, Kind, Millis, Timestamp};
use ordo_store::DueAlarm;
use uuid::Uuid;

use crate::time::partitions::{Ownership, PartitionSet};
use crate::time::ring::Ring;

/// How many alarms one scan ahead reads at a time.
pub const ALARM_PAGE: usize = 4_096;
/// How much of the near future is held in memory at most.
pub const RING_CAPACITY: usize = 100_000;
/// How many due entities go into one fire.
pub const FIRE_BATCH: usize = 1_024;
/// How many jobs may be on their way to being fired without a slot to run in.
const UNPLACED_MAX: usize = 256;
/// The same where a round trip lies between us and the store.
const UNPLACED_SHARED_MAX: usize = 512;
/// How long a due job is held for a slot at most, where slots become free all the time: one that is fired without costs half
/// as much again, and most bursts are over by then. Far from being missed.
const HOLD_MAX: Millis = Millis::from_secs(4);
const _: () = assert!(HOLD_MAX.ms() < MISFIRE_WINDOW.ms());
/// How soon it is looked at again whether they still do.
const HOLD_LOOK: Millis = Millis::from_ms(50);
/// Every so many ticks the scan ahead begins at the beginning, whatever is thought to be covered.
const FULL_SCAN_EVERY: u64 = 60;
/// The horizon is never nearer than this.
const HORIZON_MIN: Millis = Millis::from_secs(5);
/// A wake that could not be committed is tried again after this.
const FAULT_PAUSE: Millis = Millis::from_ms(500);

/// How long a nudge waits for others to come with it.
const NUDGE_PAUSE: Millis = Millis::from_ms(5);

/// A question to the alarm index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmScan {
    pub until: Timestamp,
    pub after: Option<DueAlarm>,
    pub limit: usize,
}

/// What there is for due jobs to run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotRoom {
    /// Slots that are free now.
    pub free: usize,
    /// Slots become free all the time: whoever waits for one has it soon.
    pub is_quick: bool,
}

/// What a timekeeper has in mind: a projection of the alarms in the store, which stay the truth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    pub tick_rate: Millis,
    pub ticks: u64,
    pub next_tick_at: Timestamp,
    /// How far ahead a tick looks.
    pub horizon: Millis,
    /// Up to here every alarm is in the ring or in flight; None: nothing was looked at yet.
    pub covered_until: Option<Timestamp>,
    pub ring: usize,
    pub ring_capacity: usize,
    /// The first in the ring.
    pub nearest: Vec<(Timestamp, EntityId)>,
    /// Woken, and not yet settled.
    pub in_flight: usize,
    /// By how much the first in the ring is late.
    pub lag: Millis,
    /// How many partitions it looks after; None: the store has one timekeeper.
    pub partitions: Option<usize>,
    pub is_stopped: bool,
}

/// How many of the nearest alarms a projection tells one by one.
const NEAREST_TOLD: usize = 20;

#[derive(Debug)]
pub struct Timekeeper {
    ring: Ring,
    tick_rate: Millis,
    next_tick: Timestamp,
    ticks: u64,
    covered: Timestamp,
    /// The scan ahead under way, or the one that stopped because the ring was full.
    scan_under_way: Option<AlarmScan>,
    paused_scan: Option<AlarmScan>,
    /// Entities whose alarm changed since the scan ahead under way began: its pages may not know of that.
    changed: HashSet<EntityId>,
    in_flight: HashSet<EntityId>,
    /// Those of them that have no slot to run in.
    unplaced: HashSet<EntityId>,
    /// Due jobs are held until then, or until there is room.
    held_until: Option<Timestamp>,
    /// Its leases had run out when it last looked: nothing is fired until they are renewed.
    is_barred: bool,
    /// On a store that several nodes share: the partitions of this one. None: all.
    ours: Option<Ownership>,
    stopped: bool,
}

impl Timekeeper {
    pub fn new(tick_rate: Millis, now: Timestamp) -> Timekeeper {
        Timekeeper {
            ring: Ring::new(RING_CAPACITY),
            tick_rate,
            next_tick: now,
            ticks: 0,
            covered: Timestamp::MIN,
            scan_under_way: None,
            paused_scan: None,
            changed: HashSet::new(),
            in_flight: HashSet::new(),
            unplaced: HashSet::new(),
            held_until: None,
            is_barred: false,
            ours: None,
            stopped: false,
        }
    }

    /// From now on this node serves these partitions. What it no longer has leaves the ring; what it gained is scanned
    /// now, from the beginning.
    pub fn own(&mut self, ours: Ownership, now: Timestamp) {
        let before = self.ours.map_or(PartitionSet::default(), |before| before.partitions);
        self.ours = Some(ours);
        if before == ours.partitions {
            return;
        }
        self.ring.retain(|entity| ours.covers(entity));
        if !ours.partitions.is_within(&before) {
            self.covered = Timestamp::MIN;
            self.scan_under_way = None;
            self.paused_scan = None;
            self.next_tick = now;
        }
    }

    pub fn ours(&self) -> Option<Ownership> {
        self.ours
    }

    /// Another node wrote into a partition of this one.
    pub fn nudge(&mut self, now: Timestamp) {
        self.next_tick = self.next_tick.min(now.plus(NUDGE_PAUSE));
    }

    fn is_ours(&self, entity: EntityId) -> bool {
        self.ours.is_none_or(|ours| ours.covers(entity))
    }

    /// A node that lost touch with the store must not fire what others may have taken over.
    fn may_fire(&self, now: Timestamp) -> bool {
        !self.stopped && self.ours.is_none_or(|ours| now < ours.until)
    }

    /// Alarms that nobody served, taken over from whoever should have.
    pub fn take_over(&mut self, alarms: &[DueAlarm]) -> Vec<EntityId> {
        let free = alarms.iter().map(|alarm| alarm.entity).filter(|entity| !self.in_flight.contains(entity));
        let taken: Vec<EntityId> = free.filter(|_| !self.stopped).collect();
        self.in_flight.extend(taken.iter().copied());
        taken
    }

    /// From now on nothing falls due.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub fn projection(&self, now: Timestamp) -> Projection {
        Projection {
            tick_rate: self.tick_rate,
            ticks: self.ticks,
            next_tick_at: self.next_tick,
            horizon: self.horizon(),
            covered_until: Some(self.covered).filter(|covered| *covered > Timestamp::MIN),
            ring: self.ring.len(),
            ring_capacity: RING_CAPACITY,
            nearest: self.ring.nearest(NEAREST_TOLD),
            in_flight: self.in_flight.len(),
            lag: self.ring.next_due().map_or(Millis::from_ms(0), |due| now.since(due)),
            partitions: self.ours.map(|ours| ours.partitions.len()),
            is_stopped: self.stopped,
        }
    }

    pub fn ring_len(&self) -> usize {
        self.ring.len()
    }

    /// When there is something to do next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        if self.stopped {
            return None;
        }
        let tick = self.scan_under_way.is_none().then_some(self.next_tick);
        let job = self.ring.next_due_job().map(|due| self.held_until.map_or(due, |held| held.max(due)));
        // What may not be fired any more must not keep the core awake, be it due after the leases run out or since before.
        let may_fire = |due: &Timestamp| !self.is_barred && self.may_fire(*due);
        let due = job.into_iter().chain(self.ring.next_due_other()).min().filter(may_fire);
        due.into_iter().chain(tick).min()
    }

    /// Starts a scan ahead if it is time for one. A tick that overran is followed by one tick, not by many.
    pub fn tick(&mut self, now: Timestamp) -> Option<AlarmScan> {
        // A clock that was set back must not stop the scans until it has caught up again.
        let set_back = self.next_tick > now.plus(self.tick_rate);
        if self.stopped || self.scan_under_way.is_some() || (now < self.next_tick && !set_back) {
            return None;
        }
        self.next_tick = now.plus(self.tick_rate);
        self.paused_scan = None;
        // Other nodes may have written alarms into what was covered.
        let from_start = self.ours.is_some() || self.ticks.is_multiple_of(FULL_SCAN_EVERY);
        let after = (!from_start).then(|| edge(self.covered));
        self.ticks += 1;
        self.begin(AlarmScan { until: now.plus(self.horizon()), after, limit: ALARM_PAGE })
    }

    fn begin(&mut self, scan: AlarmScan) -> Option<AlarmScan> {
        self.changed.clear();
        self.read_page(scan)
    }

    fn read_page(&mut self, scan: AlarmScan) -> Option<AlarmScan> {
        self.scan_under_way = Some(scan);
        Some(scan)
    }

    pub(crate) fn horizon(&self) -> Millis {
        self.tick_rate.saturating_mul(2).max(HORIZON_MIN)
    }

    /// Takes in a page of alarms; returns the next page to read, if there is room for it.
    pub fn seen(&mut self, scan: AlarmScan, page: &[DueAlarm]) -> Option<AlarmScan> {
        self.scan_under_way = None;
        for alarm in page {
            if self.in_flight.contains(&alarm.entity)
                || self.changed.contains(&alarm.entity)
                || !self.is_ours(alarm.entity)
            {
                continue;
            }
            if !self.ring.add(*alarm) {
                // The pages come in order of time: whatever is later waits until the ring is half empty.
                self.covered = alarm.at.minus(Millis::from_ms(1));
                self.paused_scan = Some(AlarmScan { after: Some(edge(self.covered)), ..scan });
                return None;
            }
        }
        let Some(last) = page.last().filter(|_| page.len() >= scan.limit) else {
            // Where room had to be made meanwhile, the ring is complete only up to there.
            if self.paused_scan.is_none() {
                self.covered = self.covered.max(scan.until);
            }
            return None;
        };
        self.read_page(AlarmScan { after: Some(*last), ..scan })
    }

    /// The scan ahead could not be made; it is due again after a pause.
    pub fn scan_failed(&mut self, now: Timestamp) {
        self.scan_under_way = None;
        self.next_tick = now.plus(FAULT_PAUSE);
    }

    /// What is due now, in order. Each is in flight until its wake is settled.
    ///
    /// A job that is fired with a slot is started by the same commit; one without waits in the store and costs another.
    /// So where slots become free quickly, due jobs are held for them, and elsewhere a few go at a time: what is already
    /// running gets its share of the commits, and the burst is over sooner.
    pub fn take_due(&mut self, now: Timestamp, room: SlotRoom) -> Vec<EntityId> {
        self.is_barred = !self.may_fire(now);
        if self.is_barred {
            return Vec::new();
        }
        let mut due = self.ring.take_due_others(now, FIRE_BATCH);
        let most = if self.ours.is_some() { UNPLACED_SHARED_MAX } else { UNPLACED_MAX };
        if room.is_quick {
            due.extend(self.ring.take_due_jobs(now.minus(HOLD_MAX), FIRE_BATCH));
        }
        let unplaced = if room.is_quick { 0 } else { most.saturating_sub(self.unplaced.len()) };
        due.extend(self.ring.take_due_jobs(now, FIRE_BATCH.min(room.free + unplaced)));
        let is_holding = self.ring.next_due_job().is_some_and(|due| due <= now);
        self.held_until = is_holding.then(|| now.plus(HOLD_LOOK));
        self.in_flight.extend(due.iter().copied());
        due
    }

    /// There was no slot for a job that is being fired.
    pub fn went_without_slot(&mut self, entity: EntityId) {
        self.unplaced.insert(entity);
    }

    /// An entity has a new alarm, or none any more.
    pub fn alarm_changed(&mut self, entity: EntityId, alarm: Option<DueAlarm>, now: Timestamp) {
        self.settled(entity);
        match alarm.filter(|alarm| self.is_ours(alarm.entity)) {
            // Without room the alarm stays in the store; `covered` goes back so that a later scan finds it.
            Some(alarm) if alarm.at <= self.known_until().max(now) => {
                if !self.ring.add(alarm) {
                    self.make_room(alarm);
                }
            }
            Some(_) | None => self.ring.remove(entity),
        }
    }

    /// How far the ring is complete, or will be when the scan ahead under way has been taken in.
    fn known_until(&self) -> Timestamp {
        self.scan_under_way.map_or(self.covered, |scan| scan.until.max(self.covered))
    }

    fn settled(&mut self, entity: EntityId) {
        self.in_flight.remove(&entity);
        self.unplaced.remove(&entity);
        if self.scan_under_way.is_some() {
            self.changed.insert(entity);
        }
    }

    fn make_room(&mut self, alarm: DueAlarm) {
        if let Some(cut) = self.ring.drop_latest(RING_CAPACITY - RING_CAPACITY / 10) {
            self.covered = self.covered.min(cut.minus(Millis::from_ms(1)));
            let after = Some(edge(self.covered));
            self.paused_scan = Some(AlarmScan { until: cut.plus(self.horizon()), after, limit: ALARM_PAGE });
        }
        if alarm.at <= self.covered {
            self.ring.add(alarm);
        }
    }

    /// The wake of an entity could not be committed: it is tried again a little later.
    pub fn wake_failed(&mut self, entity: EntityId, rank: u8, now: Timestamp) {
        self.settled(entity);
        ordo_model::planted!(WakeLost, return);
        if self.is_ours(entity) {
            self.ring.add(DueAlarm { at: now.plus(FAULT_PAUSE), rank, entity });
        }
    }

    /// A scan ahead that stopped for lack of room goes on when the ring is half empty.
    pub fn refill(&mut self) -> Option<AlarmScan> {
        if self.stopped || self.scan_under_way.is_some() || self.ring.len() > RING_CAPACITY / 2 {
            return None;
        }
        let scan = self.paused_scan.take()?;
        self.begin(scan)
    }
}

/// Where a scan that has seen everything up to `covered` goes on.
pub(crate) fn edge(covered: Timestamp) -> DueAlarm {
    DueAlarm { at: covered, rank: u8::MAX, entity: EntityId { kind: Kind::Job, id: Uuid::max() } }
}

#[cfg(test)]
mod tests;
