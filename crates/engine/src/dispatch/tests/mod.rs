//! Stories of the dispatcher: places and queues here; executors elsewhere, other nodes and limits below.

mod executors;
mod limits;
mod nodes;

use std::collections::BTreeSet;
use std::sync::Arc;

use ordo_model::executor::Offer;
use ordo_model::job::{Command, Pool, Routing, SlotReservation};
use ordo_model::limits::{LEASE, OFFER};
use ordo_model::{FencingToken, Incarnation, JobId, Millis, RunId, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use super::choosing::RunStart;
use super::requirements::{ConcurrencyLimit, QueueName, Rate, Requirements, RunTerms};
use super::{Dispatcher, Draws, PoolSize, PoolSizes, Restored};
use crate::cluster::{ElsewhereExecutor, ExecutorLoad, NodeLoads};
use crate::commit::change::{SharedLimit, SlotLocation, StartedAttempt, WaitingRun};
use crate::time::partitions::PartitionSet;

const GROUP: &str = "default";

fn now() -> Timestamp {
    Timestamp::from_ms(1_000_000).unwrap()
}

fn at(ms: u64) -> Timestamp {
    now().plus(Millis::from_ms(ms))
}

fn me() -> Incarnation {
    Incarnation { executor: "local".into(), generation: Uuid::from_u128(1) }
}

fn queue(group: &str, pool: Pool, tool: &str) -> QueueName {
    QueueName { group: group.into(), pool, tool: tool.into() }
}

fn dispatcher(slots: usize, queue: usize) -> Dispatcher {
    let size = PoolSize { slots, queue };
    let tools = Some(Arc::new(BTreeSet::from(["noop".to_owned()])));
    let reservation =
        SlotReservation { executor: me(), group: GROUP.into(), tools, draw: 0, has_others: false, is_keyless: false };
    let mut dispatcher = Dispatcher::new(reservation, Draws::of_seed(1), PoolSizes { fast: size, slow: size });
    answer_all(&mut dispatcher);
    dispatcher
}

/// Every question to the store is answered: nothing waits there.
fn answer_all(dispatcher: &mut Dispatcher) {
    while let Some(find) = dispatcher.wants_waiting() {
        dispatcher.found_waiting(&find.queue, Vec::new(), true, now());
    }
}

fn job(n: u128) -> JobId {
    JobId(Uuid::from_u128(n))
}

fn run(n: u128) -> RunId {
    RunId(Uuid::from_u128(n))
}

fn waiting_in(queue: QueueName, n: u128, rank: u8, terms: RunTerms) -> WaitingRun {
    WaitingRun {
        turn: now(),
        rank,
        run_id: run(n),
        job_id: job(n),
        requirements: Arc::new(Requirements { queue, terms }),
    }
}

fn waiting(n: u128, rank: u8) -> WaitingRun {
    waiting_in(queue(GROUP, Pool::Fast, "noop"), n, rank, RunTerms::default())
}

fn far(n: u128, routing: Routing) -> WaitingRun {
    waiting_in(queue("gpu", Pool::Fast, "render"), n, 0, RunTerms { routing, ..RunTerms::default() })
}

fn offer(name: &str, capacity: u32) -> Offer {
    Offer {
        name: name.into(),
        group: "gpu".into(),
        tools: BTreeSet::from(["render".to_owned()]),
        capacity,
        version: None,
    }
}

fn id(name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::nil(), name.as_bytes())
}

fn with_executors(names: &[&str], capacity: u32) -> Dispatcher {
    let mut dispatcher = dispatcher(1, 10);
    for name in names {
        dispatcher.enrolled(id(name), &offer(name, capacity), now());
    }
    answer_all(&mut dispatcher);
    dispatcher
}

fn started(n: u128, location: SlotLocation) -> StartedAttempt {
    StartedAttempt {
        location,
        executor: me(),
        job_id: job(n),
        run_id: run(n),
        label: String::new(),
        attempt: 1,
        token: FencingToken(1),
        scheduled_for: None,
        timeout: Millis::from_secs(1),
        delivery: None,
        tool_name: "noop".into(),
        tool_input: Value::Null,
        shard: None,
        traceparent: None,
    }
}

fn finish(dispatcher: &mut Dispatcher, n: u128) {
    dispatcher.finished((run(n), FencingToken(1)));
}

/// Carries out what was chosen; answers (run, where).
fn carry_out(dispatcher: &mut Dispatcher, moment: Timestamp) -> Vec<(u128, SlotLocation)> {
    let mut begun = Vec::new();
    for start in dispatcher.take_startable(moment) {
        let (Command::Start { run_id }, Some((_, location))) = (start.command, start.reservation) else { continue };
        assert!(dispatcher.began(&started(run_id.0.as_u128(), location), moment));
        begun.push((run_id.0.as_u128(), location));
    }
    begun
}

fn names(begun: &[(u128, SlotLocation)], known: &[&'static str]) -> Vec<&'static str> {
    let name = |location: &SlotLocation| {
        *known.iter().find(|name| SlotLocation::Remote(id(name)) == *location).unwrap_or(&"here")
    };
    begun.iter().map(|(_, location)| name(location)).collect()
}

// --- here -----------------------------------------------------------------------------------------

#[test]
fn a_slot_is_reserved_taken_and_freed() {
    let mut dispatcher = dispatcher(1, 10);
    assert!(dispatcher.reserve(job(1)).is_some());
    assert!(dispatcher.reserve(job(2)).is_none(), "the only place is reserved");
    dispatcher.began(&started(1, SlotLocation::Local(Pool::Fast)), now());
    assert!(dispatcher.reserve(job(2)).is_none(), "and now it is taken");
    assert!(!dispatcher.is_idle());
    finish(&mut dispatcher, 1);
    assert!(dispatcher.is_idle());
    assert!(dispatcher.reserve(job(2)).is_some());
}

#[test]
fn those_who_wait_come_before_those_who_come() {
    let mut dispatcher = dispatcher(1, 10);
    dispatcher.add_waiting(waiting(1, 5), now());
    assert!(dispatcher.reserve(job(2)).is_none());
    assert_eq!(dispatcher.take_startable(now()).len(), 1);
}

#[test]
fn waiting_runs_start_by_rank_and_each_once() {
    let mut dispatcher = dispatcher(2, 10);
    for (n, rank) in [(1, 9), (2, 0), (3, 4)] {
        dispatcher.add_waiting(waiting(n, rank), now());
        dispatcher.add_waiting(waiting(n, rank), now());
    }
    let starts: Vec<JobId> = dispatcher.take_startable(now()).iter().map(|start: &RunStart| start.job_id).collect();
    assert_eq!(starts, [job(2), job(3)]);
    dispatcher.add_waiting(waiting(2, 0), now());
    assert!(dispatcher.take_startable(now()).is_empty(), "it is on its way already, and no place is free");
}

#[test]
fn a_start_that_was_refused_gives_its_slot_back_and_may_wait_again() {
    let mut dispatcher = dispatcher(1, 10);
    dispatcher.add_waiting(waiting(1, 0), now());
    assert_eq!(dispatcher.take_startable(now()).len(), 1);
    dispatcher.give_back(SlotLocation::Local(Pool::Fast));
    dispatcher.answered(run(1));
    dispatcher.add_waiting(waiting(1, 0), now());
    assert_eq!(dispatcher.take_startable(now()).len(), 1);
}

#[test]
fn what_does_not_fit_into_memory_is_asked_for_when_half_of_it_is_gone() {
    let mut dispatcher = dispatcher(1, 4);
    for n in 0..6 {
        dispatcher.add_waiting(waiting(n, 0), now());
    }
    assert_eq!(dispatcher.wants_waiting(), None, "the queue is still full");
    for n in 0..2 {
        assert_eq!(carry_out(&mut dispatcher, now()).len(), 1);
        finish(&mut dispatcher, n);
        // Long enough for nothing to be started ahead.
        dispatcher.time_passed(now().plus(Millis::from_secs(n as u64 + 1)));
    }
    let find = dispatcher.wants_waiting().expect("half of it is gone");
    assert_eq!(dispatcher.wants_waiting(), None, "one question at a time");
    let rest: Vec<WaitingRun> = (2..6).map(|n| waiting(n, 0)).collect();
    assert_eq!(dispatcher.found_waiting(&find.queue, rest, true, now()), None);
    assert_eq!(dispatcher.wants_waiting(), None, "all of it is in memory now");
    assert_eq!(dispatcher.load()[0], (Pool::Fast, 0, 4));
}

#[test]
fn one_of_a_better_turn_takes_the_room_of_the_last() {
    let mut dispatcher = dispatcher(0, 2);
    for (n, rank) in [(1, 5), (2, 6), (3, 0)] {
        dispatcher.add_waiting(waiting(n, rank), now());
    }
    dispatcher.add_waiting(waiting(2, 6), now());
    let in_memory: Vec<RunId> =
        dispatcher.queues[&queue(GROUP, Pool::Fast, "noop")].runs.iter().map(|waiting| waiting.run_id).collect();
    assert_eq!(in_memory, [run(3), run(1)]);
}

#[test]
fn however_many_slow_runs_wait_the_fast_ones_come_into_memory() {
    let mut dispatcher = dispatcher(1, 4);
    let slow = |n: u128| waiting_in(queue(GROUP, Pool::Slow, "noop"), 1_000 + n, 0, RunTerms::default());
    for n in 0..100u128 {
        dispatcher.add_waiting(slow(n), now());
    }
    dispatcher.add_waiting(waiting(1, 9), now());
    let begun = carry_out(&mut dispatcher, now());
    assert!(begun.contains(&(1, SlotLocation::Local(Pool::Fast))), "{begun:?}");
}

#[test]
fn a_page_of_the_store_is_followed_by_the_next_while_there_is_room() {
    let mut dispatcher = dispatcher(0, 10);
    dispatcher.queues.values_mut().for_each(super::run_queue::RunQueue::must_refill);
    let find = dispatcher.wants_waiting().unwrap();
    let page: Vec<WaitingRun> = (0..5).map(|n| waiting(n, 0)).collect();
    let more = dispatcher.found_waiting(&find.queue, page, false, now()).expect("there is room for more");
    assert_eq!(more.after.unwrap().run_id, run(4));
    let page: Vec<WaitingRun> = (5..12).map(|n| waiting(n, 0)).collect();
    assert_eq!(dispatcher.found_waiting(&find.queue, page, false, now()), None, "now it is full");
}

#[test]
fn a_store_that_could_not_be_read_is_asked_again() {
    let mut dispatcher = dispatcher(1, 10);
    dispatcher.queues.values_mut().for_each(super::run_queue::RunQueue::must_refill);
    let find = dispatcher.wants_waiting().unwrap();
    dispatcher.found_waiting(&find.queue, Vec::new(), false, now());
    assert!(dispatcher.wants_waiting().is_some());
}

#[test]
fn a_stopped_dispatcher_starts_nothing() {
    let mut dispatcher = dispatcher(1, 10);
    dispatcher.add_waiting(waiting(1, 0), now());
    dispatcher.stop();
    assert!(dispatcher.take_startable(now()).is_empty());
    assert!(dispatcher.reserve(job(2)).is_none());
}

// --- elsewhere --------------------------------------------------------------------------------------
