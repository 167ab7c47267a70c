//! The timekeeper as stories: scans ahead, a full ring, partitions that come and go, jobs that are held for a slot.

use super::*;
use ordo_model::JobId;
use ordo_store::Partition;

const TICK: Millis = Millis::from_secs(1);
const AMPLE: SlotRoom = SlotRoom { free: FIRE_BATCH, is_quick: false };

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(1_000_000_000 + ms).unwrap()
}

fn alarm(id: u128, ms: i64) -> DueAlarm {
    DueAlarm { at: at(ms), rank: 0, entity: JobId(Uuid::from_u128(id)).into() }
}

/// A timekeeper that has made one scan ahead and found these alarms.
fn after_one_scan(alarms: &[DueAlarm]) -> Timekeeper {
    let mut timekeeper = Timekeeper::new(TICK, at(0));
    let scan = timekeeper.tick(at(0)).unwrap();
    assert_eq!(scan.until, at(5_000));
    assert_eq!(timekeeper.seen(scan, alarms), None);
    timekeeper
}

#[test]
fn one_tick_at_a_time_and_no_backlog_of_ticks() {
    let mut timekeeper = Timekeeper::new(TICK, at(0));
    let scan = timekeeper.tick(at(0)).unwrap();
    assert_eq!(timekeeper.tick(at(2_500)), None, "one is under way");
    timekeeper.seen(scan, &[]);
    assert!(timekeeper.tick(at(2_500)).is_some(), "it overran: the next follows at once");
    timekeeper.seen(scan, &[]);
    assert_eq!(timekeeper.tick(at(2_600)), None, "but only one");
    assert_eq!(timekeeper.next_wake(), Some(at(3_500)));
}

#[test]
fn a_clock_that_is_set_back_does_not_stop_the_ticking() {
    let mut timekeeper = after_one_scan(&[]);
    assert!(timekeeper.tick(at(-3_600_000)).is_some());
}

#[test]
fn an_alarm_inside_the_horizon_rings_without_waiting_for_a_tick() {
    let mut timekeeper = after_one_scan(&[]);
    timekeeper.alarm_changed(alarm(1, 300).entity, Some(alarm(1, 300)), at(10));
    timekeeper.alarm_changed(alarm(2, 60_000).entity, Some(alarm(2, 60_000)), at(10));
    assert_eq!(timekeeper.next_wake(), Some(at(300)));
    assert_eq!(timekeeper.take_due(at(300), AMPLE), [alarm(1, 300).entity]);
    assert_eq!(timekeeper.ring_len(), 0, "what lies beyond the horizon stays in the store");
}

#[test]
fn what_is_in_flight_is_not_taken_from_the_store_again() {
    let mut timekeeper = after_one_scan(&[alarm(1, 100)]);
    assert_eq!(timekeeper.take_due(at(100), AMPLE).len(), 1);
    let scan = timekeeper.tick(at(1_000)).unwrap();
    timekeeper.seen(scan, &[alarm(1, 100)]);
    assert_eq!(timekeeper.take_due(at(1_000), AMPLE), []);
    timekeeper.alarm_changed(alarm(1, 0).entity, Some(alarm(1, 1_100)), at(1_000));
    assert_eq!(timekeeper.take_due(at(1_100), AMPLE).len(), 1);
}

#[test]
fn a_wake_that_could_not_be_committed_rings_again() {
    let mut timekeeper = after_one_scan(&[alarm(1, 100)]);
    let due = timekeeper.take_due(at(100), AMPLE);
    timekeeper.wake_failed(due[0], 0, at(100));
    assert_eq!(timekeeper.take_due(at(100), AMPLE), []);
    assert_eq!(timekeeper.take_due(at(600), AMPLE), due);
}

#[test]
fn a_full_ring_leaves_the_rest_in_the_store_and_goes_on_when_half_empty() {
    let mut timekeeper = Timekeeper::new(TICK, at(0));
    let mut scan = timekeeper.tick(at(0)).unwrap();
    let many: Vec<DueAlarm> = (0..RING_CAPACITY as i64 + 10).map(|n| alarm(n as u128, n / 100)).collect();
    let mut pages = many.chunks(ALARM_PAGE);
    while let Some(next) = timekeeper.seen(scan, pages.next().unwrap()) {
        scan = next;
    }
    assert_eq!(timekeeper.ring_len(), RING_CAPACITY);
    assert_eq!(timekeeper.refill(), None);
    let mut taken = 0;
    while taken < RING_CAPACITY / 2 {
        taken += timekeeper.take_due(at(10_000), AMPLE).len();
    }
    let again = timekeeper.refill().expect("half empty");
    assert!(again.after.unwrap().at < many.last().unwrap().at, "it begins before the first that had no room");
}

fn owning(partitions: PartitionSet, until: i64) -> Ownership {
    Ownership { partitions, until: at(until) }
}

#[test]
fn a_node_fires_only_what_it_looks_after_and_only_while_its_leases_hold() {
    let mut timekeeper = Timekeeper::new(TICK, at(0));
    timekeeper.own(Ownership::none(), at(0));
    let scan = timekeeper.tick(at(0)).unwrap();
    timekeeper.seen(scan, &[alarm(1, 100)]);
    assert_eq!(timekeeper.take_due(at(200), AMPLE), [], "nothing is its own yet");
    let mine: PartitionSet = [Partition::of(alarm(1, 0).entity)].into_iter().collect();
    timekeeper.own(owning(mine, 5_000), at(200));
    let scan = timekeeper.tick(at(200)).expect("what was gained is looked at now");
    assert_eq!(scan.after, None);
    timekeeper.seen(scan, &[alarm(1, 100), alarm(2, 100)]);
    assert_eq!(timekeeper.take_due(at(200), AMPLE), [alarm(1, 0).entity]);
    timekeeper.alarm_changed(alarm(1, 0).entity, Some(alarm(1, 4_000)), at(300));
    assert_eq!(timekeeper.take_due(at(6_000), AMPLE), [], "the lease is over");
    timekeeper.tick(at(6_000)).expect("what others wrote is looked for all the same");
    assert_eq!(timekeeper.next_wake(), None, "and nobody is kept awake for it, though it was due before the end");
    timekeeper.own(owning(mine, 20_000), at(6_100));
    assert_eq!(timekeeper.take_due(at(6_100), AMPLE), [alarm(1, 0).entity], "renewed");
}

#[test]
fn a_partition_that_is_lost_leaves_the_ring() {
    let mut timekeeper = after_one_scan(&[alarm(1, 100)]);
    timekeeper.own(owning(PartitionSet::all(), 5_000), at(0));
    timekeeper.own(owning(PartitionSet::default(), 5_000), at(50));
    assert_eq!(timekeeper.take_due(at(200), AMPLE), []);
    assert_eq!(timekeeper.take_over(&[alarm(1, 100)]), [alarm(1, 100).entity], "unless nobody else serves it");
    assert_eq!(timekeeper.take_over(&[alarm(1, 100)]), [], "once");
}

#[test]
fn its_projection_tells_what_it_has_in_mind_and_how_late_it_is() {
    let mut timekeeper = after_one_scan(&[alarm(2, 900), alarm(1, 100)]);
    let projection = timekeeper.projection(at(350));
    assert_eq!((projection.ring, projection.covered_until), (2, Some(at(5_000))));
    assert_eq!(projection.nearest, [(at(100), alarm(1, 0).entity), (at(900), alarm(2, 0).entity)]);
    assert_eq!((projection.lag, projection.ticks, projection.in_flight), (Millis::from_ms(250), 1, 0));
    timekeeper.take_due(at(350), AMPLE);
    let projection = timekeeper.projection(at(350));
    assert_eq!((projection.lag, projection.in_flight), (Millis::from_ms(0), 1));
}

#[test]
fn a_stopped_timekeeper_fires_nothing() {
    let mut timekeeper = after_one_scan(&[alarm(1, 100)]);
    timekeeper.stop();
    assert_eq!(timekeeper.take_due(at(200), AMPLE), []);
    assert_eq!(timekeeper.next_wake(), None);
    assert_eq!(timekeeper.tick(at(5_000)), None);
}

fn many(count: u128, ms: i64) -> Vec<DueAlarm> {
    (0..count).map(|id| alarm(id, ms)).collect()
}

#[test]
fn without_slots_a_few_jobs_are_fired_at_a_time() {
    let mut timekeeper = after_one_scan(&many(600, 100));
    let busy = SlotRoom { free: 0, is_quick: false };
    let first = timekeeper.take_due(at(100), busy);
    assert_eq!(first.len(), UNPLACED_MAX);
    first.iter().for_each(|entity| timekeeper.went_without_slot(*entity));
    assert_eq!(timekeeper.take_due(at(101), busy), []);
    assert_eq!(timekeeper.next_wake(), Some(at(151)), "and the core does not spin meanwhile");
    timekeeper.alarm_changed(first[0], None, at(105));
    let next = timekeeper.take_due(at(105), busy);
    assert_eq!(next.len(), 1, "one is in the store");
    timekeeper.went_without_slot(next[0]);
    assert_eq!(timekeeper.take_due(at(106), SlotRoom { free: 7, ..busy }).len(), 7, "and there are slots");
}

#[test]
fn where_slots_become_free_quickly_due_jobs_wait_for_one_but_not_for_long() {
    let mut timekeeper = after_one_scan(&many(600, 100));
    let quick = SlotRoom { free: 3, is_quick: true };
    assert_eq!(timekeeper.take_due(at(100), quick).len(), 3);
    assert_eq!(timekeeper.take_due(at(101), SlotRoom { free: 0, ..quick }), []);
    assert_eq!(timekeeper.next_wake(), Some(at(151)));
    assert_eq!(timekeeper.take_due(at(4_099), SlotRoom { free: 0, ..quick }), []);
    assert_eq!(timekeeper.take_due(at(4_100), SlotRoom { free: 0, ..quick }).len(), 597, "long enough");
}

#[test]
fn on_a_shared_store_more_jobs_go_without_a_slot() {
    let mut timekeeper = Timekeeper::new(TICK, at(0));
    timekeeper.own(Ownership::everything(), at(0));
    let scan = timekeeper.tick(at(0)).unwrap();
    assert_eq!(timekeeper.seen(scan, &many(900, 100)), None);
    let full = SlotRoom { free: 0, is_quick: false };
    assert_eq!(timekeeper.take_due(at(100), full).len(), UNPLACED_SHARED_MAX);
}

#[test]
fn nothing_but_jobs_is_held() {
    let mut timekeeper = after_one_scan(&many(3, 100));
    let hook = DueAlarm { entity: EntityId { kind: Kind::Notification, id: Uuid::from_u128(9) }, ..alarm(9, 150) };
    timekeeper.alarm_changed(hook.entity, Some(hook), at(110));
    let full = SlotRoom { free: 0, is_quick: true };
    assert_eq!(timekeeper.take_due(at(120), full), []);
    assert_eq!(timekeeper.next_wake(), Some(at(150)));
    assert_eq!(timekeeper.take_due(at(150), full), [hook.entity]);
}
