//! The ring: which alarms fall due next, in order of time, then rank, then id.
//!
//! Invariant: the ring is a cache. Losing it costs one scan of the store, never a run. One ordered set, not slots by
//! the second: what is next is the first entry, whatever the horizon is and however long a thread stalled (ADR 0084).
//! Jobs have a set of their own: they may be held for a slot, and nothing else waits behind them.

use std::collections::{BTreeSet, HashMap};

use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::DueAlarm;

#[derive(Debug)]
pub(super) struct Ring {
    jobs: BTreeSet<RingEntry>,
    others: BTreeSet<RingEntry>,
    /// The one alarm of each entity.
    current: HashMap<EntityId, RingEntry>,
    capacity: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RingEntry {
    due: Timestamp,
    rank: u8,
    entity: EntityId,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Ring {
        Ring { jobs: BTreeSet::new(), others: BTreeSet::new(), current: HashMap::new(), capacity }
    }

    pub(super) fn len(&self) -> usize {
        self.current.len()
    }

    pub(super) fn has_room(&self) -> bool {
        self.current.len() < self.capacity
    }

    /// Sets the alarm of an entity, replacing the one it had. Beyond its capacity the ring takes no new entity:
    /// returns false, and the alarm stays where it is safe, in the store.
    pub(super) fn add(&mut self, alarm: DueAlarm) -> bool {
        let entry = RingEntry { due: alarm.at, rank: alarm.rank, entity: alarm.entity };
        if !self.current.contains_key(&entry.entity) && !self.has_room() {
            return false;
        }
        if let Some(old) = self.current.insert(entry.entity, entry)
            && old != entry
        {
            self.set_of(entry.entity).remove(&old);
        }
        self.set_of(entry.entity).insert(entry);
        true
    }

    pub(super) fn remove(&mut self, entity: EntityId) {
        if let Some(old) = self.current.remove(&entity) {
            self.set_of(entity).remove(&old);
        }
    }

    fn set_of(&mut self, entity: EntityId) -> &mut BTreeSet<RingEntry> {
        match entity.kind {
            Kind::Job => &mut self.jobs,
            _ => &mut self.others,
        }
    }

    /// All entries in order.
    fn ordered(&self) -> impl Iterator<Item = &RingEntry> {
        let (mut jobs, mut others) = (self.jobs.iter().peekable(), self.others.iter().peekable());
        std::iter::from_fn(move || match (jobs.peek(), others.peek()) {
            (Some(job), Some(other)) if job < other => jobs.next(),
            (_, Some(_)) => others.next(),
            (_, None) => jobs.next(),
        })
    }

    /// Forgets every entity that is not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(EntityId) -> bool) {
        let gone: Vec<EntityId> = self.current.keys().copied().filter(|entity| !keep(*entity)).collect();
        gone.into_iter().for_each(|entity| self.remove(entity));
    }

    /// Takes the jobs that are due at `now`, at most `limit`, in order.
    pub(super) fn take_due_jobs(&mut self, now: Timestamp, limit: usize) -> Vec<EntityId> {
        take_due(&mut self.jobs, &mut self.current, now, limit)
    }

    /// The same for everything else.
    pub(super) fn take_due_others(&mut self, now: Timestamp, limit: usize) -> Vec<EntityId> {
        take_due(&mut self.others, &mut self.current, now, limit)
    }

    /// When the next entry falls due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.next_due_job().into_iter().chain(self.next_due_other()).min()
    }

    pub(super) fn next_due_job(&self) -> Option<Timestamp> {
        self.jobs.first().map(|entry| entry.due)
    }

    pub(super) fn next_due_other(&self) -> Option<Timestamp> {
        self.others.first().map(|entry| entry.due)
    }

    /// The first entries in order, at most `limit`.
    pub(super) fn nearest(&self, limit: usize) -> Vec<(Timestamp, EntityId)> {
        self.ordered().take(limit).map(|entry| (entry.due, entry.entity)).collect()
    }

    /// The latest entries give way when something nearer needs their room: they stay in the store.
    /// Returns the due time from which on the ring is no longer complete.
    pub(super) fn drop_latest(&mut self, keep: usize) -> Option<Timestamp> {
        if self.current.len() <= keep {
            return None;
        }
        let cut = self.ordered().nth(keep)?.due;
        let late = |set: &BTreeSet<RingEntry>| -> Vec<EntityId> {
            set.iter().rev().take_while(|entry| entry.due >= cut).map(|entry| entry.entity).collect()
        };
        let gone = [late(&self.jobs), late(&self.others)].concat();
        gone.into_iter().for_each(|entity| self.remove(entity));
        Some(cut)
    }
}

fn take_due(
    set: &mut BTreeSet<RingEntry>,
    current: &mut HashMap<EntityId, RingEntry>,
    now: Timestamp,
    limit: usize,
) -> Vec<EntityId> {
    let mut due = Vec::new();
    while due.len() < limit
        && let Some(entry) = set.first().copied().filter(|entry| entry.due <= now)
    {
        set.remove(&entry);
        current.remove(&entry.entity);
        due.push(entry.entity);
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::JobId;
    use uuid::Uuid;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(1_000_000_000 + ms).unwrap()
    }

    fn alarm(id: u128, ms: i64, rank: u8) -> DueAlarm {
        DueAlarm { at: at(ms), rank, entity: entity(id) }
    }

    fn entity(id: u128) -> EntityId {
        JobId(Uuid::from_u128(id)).into()
    }

    #[test]
    fn entries_come_out_by_time_then_rank_then_id() {
        let mut ring = Ring::new(10);
        for (id, ms, rank) in [(1, 500, 5), (2, 500, 0), (3, 499, 9), (4, 500, 5)] {
            assert!(ring.add(alarm(id, ms, rank)));
        }
        assert_eq!(ring.next_due(), Some(at(499)));
        assert_eq!(ring.take_due_jobs(at(500), 10), [entity(3), entity(2), entity(1), entity(4)]);
        assert_eq!(ring.len(), 0);
    }

    #[test]
    fn an_entry_a_turn_away_does_not_fire_early() {
        let mut ring = Ring::new(10);
        ring.add(alarm(1, 0, 0));
        ring.add(alarm(2, 60_000, 0));
        ring.add(alarm(3, 120_000, 0));
        assert_eq!(ring.take_due_jobs(at(999), 10), [entity(1)]);
        assert_eq!(ring.next_due(), Some(at(60_000)));
        assert_eq!(ring.take_due_jobs(at(60_000), 10), [entity(2)]);
    }

    #[test]
    fn a_stall_of_any_length_leaves_nothing_behind() {
        let mut ring = Ring::new(1_000);
        for id in 0..300 {
            ring.add(alarm(id, id as i64 * 1_000, 0));
        }
        assert_eq!(ring.take_due_jobs(at(400_000), 1_000).len(), 300);
    }

    #[test]
    fn a_new_alarm_replaces_the_old_one() {
        let mut ring = Ring::new(10);
        ring.add(alarm(1, 100, 0));
        ring.add(alarm(1, 900, 0));
        assert_eq!(ring.take_due_jobs(at(500), 10), []);
        assert_eq!(ring.take_due_jobs(at(900), 10), [entity(1)]);
    }

    #[test]
    fn a_full_ring_refuses_and_can_drop_its_latest() {
        let mut ring = Ring::new(2);
        assert!(ring.add(alarm(1, 100, 0)) && ring.add(alarm(2, 300, 0)));
        assert!(!ring.add(alarm(3, 50, 0)));
        assert_eq!(ring.drop_latest(1), Some(at(300)));
        assert!(ring.add(alarm(3, 50, 0)));
        assert_eq!(ring.take_due_jobs(at(1_000), 10), [entity(3), entity(1)]);
    }

    #[test]
    fn jobs_and_others_are_one_ring_but_neither_waits_for_the_other() {
        let other = |id| EntityId { kind: Kind::Notification, id: Uuid::from_u128(id) };
        let mut ring = Ring::new(4);
        ring.add(alarm(1, 100, 0));
        ring.add(DueAlarm { at: at(200), rank: 0, entity: other(2) });
        ring.add(alarm(3, 300, 0));
        assert_eq!(ring.nearest(3), [(at(100), entity(1)), (at(200), other(2)), (at(300), entity(3))]);
        assert_eq!(ring.take_due_others(at(300), 10), [other(2)], "jobs before it are held");
        assert_eq!((ring.next_due(), ring.len()), (Some(at(100)), 2));
        ring.add(DueAlarm { at: at(250), rank: 0, entity: other(2) });
        assert_eq!(ring.drop_latest(1), Some(at(250)));
        assert_eq!(ring.nearest(3), [(at(100), entity(1))]);
    }
}
