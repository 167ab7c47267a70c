//! Stories of the dispatcher: places, queues, executors elsewhere, limits.

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

#[test]
fn what_nobody_can_run_stays_in_the_store_and_is_read_when_somebody_comes() {
    let mut dispatcher = dispatcher(1, 10);
    dispatcher.add_waiting(far(1, Routing::Round), now());
    assert!(dispatcher.take_startable(now()).is_empty() && dispatcher.known.is_empty());
    dispatcher.enrolled(id("a"), &offer("a", 1), now());
    let find = dispatcher.wants_waiting().expect("its queues are new");
    assert_eq!(find.queue, queue("gpu", Pool::Fast, "render"));
    dispatcher.found_waiting(&find.queue, vec![far(1, Routing::Round)], true, now());
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a"]), ["a"]);
}

#[test]
fn an_executor_without_the_tool_or_of_another_group_gets_nothing() {
    let mut dispatcher = with_executors(&["a"], 9);
    dispatcher.add_waiting(waiting_in(queue("gpu", Pool::Fast, "sing"), 1, 0, RunTerms::default()), now());
    dispatcher.add_waiting(waiting_in(queue("cpu", Pool::Fast, "render"), 2, 0, RunTerms::default()), now());
    assert!(dispatcher.take_startable(now()).is_empty());
}

#[test]
fn an_executor_gets_no_more_than_its_capacity() {
    let mut dispatcher = with_executors(&["a", "b"], 2);
    for n in 1..=6 {
        dispatcher.add_waiting(far(n, Routing::Round), now());
    }
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["a", "b", "a", "b"]);
    finish(&mut dispatcher, 2);
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["b"]);
}

#[test]
fn a_run_that_sticks_to_a_busy_executor_keeps_nobody_waiting() {
    let mut dispatcher = with_executors(&["a", "b"], 1);
    dispatcher.add_waiting(far(1, Routing::First), now());
    dispatcher.add_waiting(far(2, Routing::First), now());
    dispatcher.add_waiting(far(3, Routing::Busyover), now());
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["a", "b"]);
    finish(&mut dispatcher, 3);
    assert!(carry_out(&mut dispatcher, now()).is_empty(), "it waits for the first one");
    finish(&mut dispatcher, 1);
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["a"]);
}

#[test]
fn runs_that_stick_to_this_process_begin_when_it_has_room_again() {
    for names in [[].as_slice(), &["z"]] {
        let mut dispatcher = dispatcher(1, 9);
        for name in names {
            let tools = BTreeSet::from(["noop".to_owned()]);
            dispatcher.enrolled(id(name), &Offer { group: GROUP.into(), tools, ..offer(name, 1) }, now());
        }
        answer_all(&mut dispatcher);
        let terms = RunTerms { routing: Routing::First, ..RunTerms::default() };
        for n in 1..=3 {
            dispatcher.add_waiting(waiting_in(queue(GROUP, Pool::Fast, "noop"), n, 0, terms.clone()), now());
        }
        for n in 1..=3 {
            assert_eq!(carry_out(&mut dispatcher, now()), [(n, SlotLocation::Local(Pool::Fast))], "{names:?}");
            finish(&mut dispatcher, n);
            dispatcher.time_passed(at(200 * u64::try_from(n).unwrap()));
        }
    }
}

#[test]
fn a_run_that_sticks_to_one_that_leaves_goes_to_another() {
    let mut dispatcher = with_executors(&["a", "b"], 1);
    dispatcher.add_waiting(far(1, Routing::First), now());
    dispatcher.add_waiting(far(2, Routing::First), now());
    carry_out(&mut dispatcher, now());
    dispatcher.gone(id("a"));
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["b"]);
}

#[test]
fn a_draining_executor_gets_nothing_new() {
    let mut dispatcher = with_executors(&["a", "b"], 9);
    dispatcher.draining(id("a"));
    for n in 1..=3 {
        dispatcher.add_waiting(far(n, Routing::Round), now());
    }
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["b", "b", "b"]);
}

#[test]
fn an_offer_that_is_not_taken_goes_to_the_next_under_every_routing_that_may_choose() {
    use Routing::{Busyover, Failover, Lfu, Lru, Random, Round};
    for routing in [Busyover, Failover, Lfu, Lru, Random, Round] {
        let mut dispatcher = with_executors(&["a", "b"], 9);
        dispatcher.add_waiting(far(1, routing), now());
        let first = carry_out(&mut dispatcher, now());
        assert_eq!(dispatcher.next_wake(), Some(now().plus(OFFER)), "{routing:?}");
        assert_eq!(dispatcher.overdue_offers(now().plus(OFFER)).len(), 1);
        finish(&mut dispatcher, 1);
        dispatcher.add_waiting(far(1, routing), now());
        let second = carry_out(&mut dispatcher, now());
        assert_ne!(first[0].1, second[0].1, "{routing:?}");
        finish(&mut dispatcher, 1);
        for name in ["a", "b"] {
            dispatcher.asks_for_work(id(name), at(1));
        }
        assert!(dispatcher.remotes.values().all(|remote| remote.missed == 0), "whoever asks for work is there");
    }
}

#[test]
fn an_offer_under_failover_that_is_not_taken_goes_to_the_next() {
    let mut dispatcher = with_executors(&["a", "b"], 9);
    dispatcher.heard(id("a"), at(1));
    dispatcher.add_waiting(far(1, Routing::Failover), now());
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["a"]);
    assert_eq!(dispatcher.next_wake(), Some(now().plus(OFFER)));
    let overdue = dispatcher.overdue_offers(now().plus(OFFER));
    assert_eq!((overdue.len(), overdue[0].executor), (1, id("a")));
    finish(&mut dispatcher, 1);
    dispatcher.add_waiting(far(1, Routing::Failover), now());
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["b"]);
}

#[test]
fn an_offer_that_was_taken_does_not_run_out() {
    let mut dispatcher = with_executors(&["a"], 9);
    dispatcher.add_waiting(far(1, Routing::Round), now());
    carry_out(&mut dispatcher, now());
    assert_eq!(dispatcher.next_wake(), Some(now().plus(LEASE)));
    dispatcher.taken(&[(run(1), FencingToken(1))]);
    assert_eq!((dispatcher.next_wake(), dispatcher.overdue_offers(at(1_000_000))), (None, Vec::new()));
}

#[test]
fn an_attempt_for_an_executor_that_left_meanwhile_is_not_begun() {
    let mut dispatcher = with_executors(&["a"], 9);
    dispatcher.add_waiting(far(1, Routing::Round), now());
    assert_eq!(dispatcher.take_startable(now()).len(), 1);
    dispatcher.gone(id("a"));
    assert!(!dispatcher.began(&started(1, SlotLocation::Remote(id("a"))), now()));
    dispatcher.give_back(SlotLocation::Remote(id("a")));
}

#[test]
fn where_executors_share_the_group_of_this_process_runs_are_routed_among_all() {
    let mut dispatcher = dispatcher(9, 10);
    let shared = Offer { group: GROUP.into(), tools: BTreeSet::from(["noop".to_owned()]), ..offer("a", 9) };
    dispatcher.enrolled(id("a"), &shared, now());
    answer_all(&mut dispatcher);
    assert!(dispatcher.reserve(job(1)).is_none(), "a free slot here is no reason to run it here");
    for n in 1..=4 {
        dispatcher.add_waiting(waiting(n, 0), now());
    }
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a"]), ["here", "a", "here", "a"]);
}

#[test]
fn a_broadcast_names_all_who_are_there_and_its_shards_go_where_they_are_meant() {
    let mut dispatcher = with_executors(&["a", "b"], 1);
    dispatcher.add_waiting(far(1, Routing::ShardingBroadcast), now());
    let starts = dispatcher.take_startable(now());
    let Command::Broadcast { executors, .. } = &starts[0].command else { panic!("{starts:?}") };
    assert_eq!(executors.iter().map(|one| one.executor.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    dispatcher.answered(run(1));
    let shard = |n, name: &str| {
        let terms = RunTerms { meant_for: Some(id(name)), ..RunTerms::default() };
        waiting_in(queue("gpu", Pool::Fast, "render"), n, 0, terms)
    };
    for waiting in [shard(2, "b"), shard(3, "b"), shard(4, "a"), shard(5, "gone")] {
        dispatcher.add_waiting(waiting, now());
    }
    assert_eq!(names(&carry_out(&mut dispatcher, now()), &["a", "b"]), ["b", "a"]);
    finish(&mut dispatcher, 4);
    let moved = carry_out(&mut dispatcher, now());
    assert_eq!((moved[0].0, names(&moved, &["a", "b"])), (5, vec!["a"]), "what was meant for a dead one is moved");
}

fn other(name: &str) -> ElsewhereExecutor {
    ElsewhereExecutor {
        id: id(name),
        name: name.into(),
        group: "gpu".into(),
        tools: BTreeSet::from(["render".to_owned()]),
        is_in_process: false,
        is_served: true,
        load: ExecutorLoad { id: id(name), free: 9, ..ExecutorLoad::default() },
        said_at: now(),
    }
}

#[test]
fn a_run_that_belongs_to_an_executor_of_another_node_is_left_to_it() {
    let mut dispatcher = with_executors(&["b", "d"], 9);
    dispatcher.are_elsewhere(vec![other("a"), other("c"), other("e")], now());
    let routings = [Routing::First, Routing::Last, Routing::Busyover];
    for (n, routing) in (1..).zip(routings) {
        dispatcher.add_waiting(far(n, routing), now());
    }
    assert!(carry_out(&mut dispatcher, now()).is_empty());
    // The first of all is now one that is here.
    dispatcher.are_elsewhere(vec![other("c"), other("e")], now());
    let begun = carry_out(&mut dispatcher, now());
    assert_eq!((begun.len(), names(&begun, &["b", "d"])), (1, vec!["b"]));
}

#[test]
fn a_broadcast_names_the_executors_of_other_nodes_too_and_each_node_begins_its_own_shares() {
    let mut dispatcher = with_executors(&["b"], 9);
    dispatcher.are_elsewhere(vec![other("a"), other("c")], now());
    dispatcher.add_waiting(far(1, Routing::ShardingBroadcast), now());
    let starts = dispatcher.take_startable(now());
    let [RunStart { command: Command::Broadcast { executors, .. }, .. }] = starts.as_slice() else {
        panic!("{starts:?}")
    };
    let named: Vec<&str> = executors.iter().map(|executor| executor.executor.as_str()).collect();
    assert_eq!(named, ["a", "b", "c"]);
    for (n, name) in [(2, "a"), (3, "b")] {
        let terms = RunTerms { meant_for: Some(id(name)), ..RunTerms::default() };
        dispatcher.add_waiting(waiting_in(queue("gpu", Pool::Fast, "render"), n, 0, terms), now());
    }
    assert_eq!(carry_out(&mut dispatcher, now()), [(3, SlotLocation::Remote(id("b")))]);
    // The other one is gone: whoever is there may have its share.
    dispatcher.are_elsewhere(vec![other("c")], now());
    assert_eq!(carry_out(&mut dispatcher, now()), [(2, SlotLocation::Remote(id("b")))]);
}

#[test]
fn on_one_of_several_nodes_a_broadcast_waits_until_it_is_known_who_is_there() {
    let mut dispatcher = with_executors(&["a"], 2);
    dispatcher.share(false);
    dispatcher.add_waiting(far(1, Routing::ShardingBroadcast), now());
    assert!(dispatcher.take_startable(now()).is_empty());
    assert!(dispatcher.takes_roll_call() && !dispatcher.takes_roll_call(), "it asks once");
    dispatcher.are_elsewhere(vec![other("b")], now());
    assert!(dispatcher.take_startable(now()).is_empty(), "that was read before");
    dispatcher.roll_called(Some(vec![other("b"), other("c")]), now());
    let starts = dispatcher.take_startable(now());
    let [RunStart { command: Command::Broadcast { executors, .. }, .. }] = starts.as_slice() else {
        panic!("{starts:?}")
    };
    assert_eq!(executors.iter().map(|one| one.executor.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    dispatcher.answered(run(1));
    dispatcher.add_waiting(far(2, Routing::ShardingBroadcast), now());
    assert!(dispatcher.take_startable(now()).is_empty() && dispatcher.takes_roll_call(), "each asks anew");
}

/// One of several nodes, with the executor b; a and c are with other nodes.
fn between_others() -> Dispatcher {
    let mut dispatcher = with_executors(&["b"], 9);
    dispatcher.share(false);
    dispatcher.are_elsewhere(vec![other("a"), other("c")], now());
    dispatcher
}

fn begun_at(dispatcher: &mut Dispatcher, waiting: WaitingRun, moment: Timestamp) -> bool {
    dispatcher.time_passed(moment);
    dispatcher.add_waiting(waiting, moment);
    !carry_out(dispatcher, moment).is_empty()
}

#[test]
fn a_run_that_another_node_does_not_take_is_looked_at_again_and_then_anybodys() {
    let mut dispatcher = between_others();
    let run = || far(1, Routing::Busyover);
    assert!(!begun_at(&mut dispatcher, run(), now()), "it is the first one's");
    assert_eq!(dispatcher.next_wake(), Some(at(250)));
    assert!(!begun_at(&mut dispatcher, run(), at(100)) && !dispatcher.takes_roll_call());
    assert!(!begun_at(&mut dispatcher, run(), at(250)));
    assert!(dispatcher.wants_waiting().is_some(), "whether it still waits is read");
    assert!(dispatcher.takes_roll_call(), "it does: what is known of the others may be old");
    assert_eq!(dispatcher.next_wake(), Some(at(1_000)));
    assert!(begun_at(&mut dispatcher, run(), at(1_000)), "it was left to another for long enough");
    assert!(begun_at(&mut dispatcher, far(2, Routing::Busyover), at(1_010)), "who let a run pass is passed over");
    // Until its node speaks of it again.
    dispatcher.are_elsewhere(vec![ElsewhereExecutor { said_at: at(1_500), ..other("a") }], at(1_500));
    assert!(!begun_at(&mut dispatcher, far(3, Routing::Busyover), at(1_500)));
}

#[test]
fn who_is_full_or_whose_node_is_dead_is_left_nothing() {
    let full = || ElsewhereExecutor { load: ExecutorLoad::default(), ..other("a") };
    let orphaned = || ElsewhereExecutor { is_served: false, ..other("a") };
    for passed_over in [full(), orphaned()] {
        let mut dispatcher = between_others();
        dispatcher.are_elsewhere(vec![passed_over, other("c")], now());
        assert!(begun_at(&mut dispatcher, far(1, Routing::Busyover), now()), "b is the next");
    }
    let mut dispatcher = between_others();
    let one_slot = ExecutorLoad { free: 1, ..ExecutorLoad::default() };
    dispatcher.are_elsewhere(vec![ElsewhereExecutor { load: one_slot, ..other("a") }], now());
    assert!(!begun_at(&mut dispatcher, far(1, Routing::Busyover), now()));
    assert!(!begun_at(&mut dispatcher, far(2, Routing::Busyover), now()), "what was left to it counts, but is a guess");
    assert!(begun_at(&mut dispatcher, far(4, Routing::Lru), now()), "where no order is kept that is good enough");
    assert!(dispatcher.takes_roll_call());
    let one_slot = ExecutorLoad { free: 1, ..ExecutorLoad::default() };
    dispatcher.roll_called(Some(vec![ElsewhereExecutor { load: one_slot, ..other("a") }]), now());
    assert_eq!(carry_out(&mut dispatcher, now()).len(), 1, "its node has said nothing else");
    // Word that changes the choice has the queue read again.
    while dispatcher.wants_waiting().is_some() {
        answer_all(&mut dispatcher);
    }
    dispatcher.are_elsewhere(vec![full()], now());
    assert!(dispatcher.wants_waiting().is_some());
    assert!(begun_at(&mut dispatcher, far(1, Routing::Busyover), now()));
}

#[test]
fn what_is_said_of_executors_is_said_at_once_when_one_is_full() {
    let mut dispatcher = with_executors(&["b"], 1);
    dispatcher.share(false);
    assert_eq!(dispatcher.takes_loads(now()), None, "there is nobody to hear it");
    dispatcher.are_elsewhere(vec![other("c")], now());
    let free = |said: Option<NodeLoads>| {
        let NodeLoads { loads, is_urgent } = said?;
        Some((loads.iter().find(|load| load.id == id("b"))?.free, is_urgent))
    };
    assert_eq!(free(dispatcher.takes_loads(now())), Some((1, false)));
    assert_eq!(free(dispatcher.takes_loads(at(500))), None);
    assert!(begun_at(&mut dispatcher, far(1, Routing::Busyover), at(510)));
    assert_eq!(free(dispatcher.takes_loads(at(510))), Some((0, true)));
    finish(&mut dispatcher, 1);
    assert_eq!((free(dispatcher.takes_loads(at(520))), dispatcher.next_wake()), (None, Some(at(610))));
    assert_eq!(free(dispatcher.takes_loads(at(610))), Some((1, true)));
    assert_eq!(free(dispatcher.takes_loads(at(1_610))), Some((1, false)));
}

#[test]
fn what_only_the_executors_inside_nodes_could_run_begins_where_it_came_to_be_unless_it_matters_which() {
    let mut dispatcher = dispatcher(9, 9);
    dispatcher.share(false);
    let inside = ElsewhereExecutor {
        group: GROUP.into(),
        tools: BTreeSet::from(["noop".to_owned()]),
        is_in_process: true,
        ..other("a")
    };
    dispatcher.are_elsewhere(vec![inside], now());
    for routing in [Routing::Round, Routing::Random] {
        let terms = RunTerms { routing, ..RunTerms::default() };
        assert!(begun_at(&mut dispatcher, waiting_in(queue(GROUP, Pool::Fast, "noop"), 1, 0, terms), now()));
    }
    let terms = RunTerms { routing: Routing::Busyover, ..RunTerms::default() };
    assert!(!begun_at(&mut dispatcher, waiting_in(queue(GROUP, Pool::Fast, "noop"), 2, 0, terms), now()));
}

#[test]
fn on_one_of_several_nodes_nobody_is_stuck_to_before_it_is_known_who_is_there() {
    let mut dispatcher = with_executors(&["b"], 9);
    dispatcher.share(false);
    dispatcher.add_waiting(far(1, Routing::First), now());
    dispatcher.add_waiting(far(2, Routing::First), now());
    dispatcher.add_waiting(far(3, Routing::Round), now());
    assert_eq!(carry_out(&mut dispatcher, now()).iter().map(|(n, _)| *n).collect::<Vec<_>>(), [3]);
    assert!(dispatcher.takes_roll_call() && !dispatcher.takes_roll_call(), "one for both");
    // What comes while it is under way waits for the next one.
    dispatcher.add_waiting(far(4, Routing::First), now());
    assert!(carry_out(&mut dispatcher, now()).is_empty() && !dispatcher.takes_roll_call(), "one at a time");
    dispatcher.roll_called(None, now());
    assert!(
        carry_out(&mut dispatcher, now()).is_empty() && dispatcher.takes_roll_call(),
        "it could not be made: again"
    );
    dispatcher.add_waiting(far(5, Routing::Last), now());
    assert!(carry_out(&mut dispatcher, now()).is_empty());
    dispatcher.roll_called(Some(vec![other("a")]), now());
    assert!(carry_out(&mut dispatcher, now()).is_empty(), "they are left to the first of all");
    assert!(dispatcher.takes_roll_call(), "for the one that came later");
    dispatcher.roll_called(Some(vec![other("c")]), now());
    let begun = carry_out(&mut dispatcher, now());
    assert_eq!(
        begun.iter().map(|(n, _)| *n).collect::<Vec<_>>(),
        [1, 2, 4],
        "asked for once: it goes by the newest list"
    );
    assert!(!dispatcher.takes_roll_call());
}

#[test]
fn a_share_for_an_executor_that_is_not_known_here_waits_until_it_is_known_who_is_there() {
    let mut dispatcher = with_executors(&["a"], 9);
    dispatcher.share(false);
    let shard = |n, name: &str| {
        let terms = RunTerms { meant_for: Some(id(name)), ..RunTerms::default() };
        waiting_in(queue("gpu", Pool::Fast, "render"), n, 0, terms)
    };
    for waiting in [shard(1, "a"), shard(2, "b"), shard(3, "gone")] {
        dispatcher.add_waiting(waiting, now());
    }
    assert_eq!(carry_out(&mut dispatcher, now()), [(1, SlotLocation::Remote(id("a")))]);
    assert!(dispatcher.takes_roll_call());
    dispatcher.roll_called(Some(vec![other("b")]), now());
    assert_eq!(carry_out(&mut dispatcher, now()), [(3, SlotLocation::Remote(id("a")))], "the other share is b's");
}

#[test]
fn what_runs_elsewhere_since_before_a_restart_counts() {
    let mut dispatcher = with_executors(&["a"], 1);
    let restored =
        Restored { job_id: job(1), run_id: run(1), token: FencingToken(1), executor: id("a"), key: Some("k".into()) };
    dispatcher.restored(vec![restored]);
    dispatcher.add_waiting(far(2, Routing::Round), now());
    assert!(carry_out(&mut dispatcher, now()).is_empty());
    finish(&mut dispatcher, 1);
    assert_eq!(carry_out(&mut dispatcher, now()).len(), 1);
}

// --- limits -----------------------------------------------------------------------------------------

fn limited(n: u128, key: &str) -> WaitingRun {
    let concurrency = Some(ConcurrencyLimit { key: key.into(), max: 1 });
    waiting_in(queue(GROUP, Pool::Fast, "noop"), n, 0, RunTerms { concurrency, ..RunTerms::default() })
}

#[test]
fn runs_that_share_a_key_go_one_by_one_and_others_pass_them() {
    let mut dispatcher = dispatcher(9, 10);
    for waiting in [limited(1, "k"), limited(2, "k"), limited(3, "other"), waiting(4, 9)] {
        dispatcher.add_waiting(waiting, now());
    }
    let runs = |begun: Vec<(u128, SlotLocation)>| begun.into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(runs(carry_out(&mut dispatcher, now())), [1, 3, 4]);
    finish(&mut dispatcher, 3);
    assert!(carry_out(&mut dispatcher, now()).is_empty());
    finish(&mut dispatcher, 1);
    assert_eq!(runs(carry_out(&mut dispatcher, now())), [2]);
}

#[test]
fn a_key_is_free_again_when_the_executor_that_held_it_is_with_another_node() {
    let keyed = |n| {
        let concurrency = Some(ConcurrencyLimit { key: "k".into(), max: 1 });
        waiting_in(queue("gpu", Pool::Fast, "render"), n, 0, RunTerms { concurrency, ..RunTerms::default() })
    };
    let mut dispatcher = with_executors(&["a", "b"], 9);
    dispatcher.add_waiting(keyed(1), now());
    dispatcher.add_waiting(keyed(2), now());
    let (_, SlotLocation::Remote(holder)) = carry_out(&mut dispatcher, now())[0] else { panic!("it is far") };
    // That its attempt ends is written by whoever it is with from here on.
    dispatcher.gone(holder);
    assert_eq!(carry_out(&mut dispatcher, now()).len(), 1);
    finish(&mut dispatcher, 1);
    dispatcher.add_waiting(keyed(3), now());
    assert!(carry_out(&mut dispatcher, now()).is_empty(), "the second has the key, whoever hears late of the first");
}

#[test]
fn a_key_is_free_again_when_the_start_was_refused() {
    let mut dispatcher = dispatcher(9, 10);
    dispatcher.add_waiting(limited(1, "k"), now());
    dispatcher.add_waiting(limited(2, "k"), now());
    assert_eq!(dispatcher.take_startable(now()).len(), 1);
    dispatcher.give_back(SlotLocation::Local(Pool::Fast));
    dispatcher.answered(run(1));
    assert_eq!(dispatcher.take_startable(now()).len(), 1);
}

#[test]
fn runs_beyond_what_memory_holds_for_one_key_are_found_when_it_is_free() {
    let mut dispatcher = dispatcher(9, 1_000);
    for n in 1..=500 {
        dispatcher.add_waiting(limited(n, "k"), now());
        carry_out(&mut dispatcher, now());
    }
    assert!(dispatcher.known.len() < 300, "{}", dispatcher.known.len());
    assert_eq!(dispatcher.wants_waiting(), None);
    finish(&mut dispatcher, 1);
    assert!(dispatcher.wants_waiting().is_some());
}

#[test]
fn a_rate_lets_so_many_begin_and_the_next_at_its_time() {
    let mut dispatcher = dispatcher(9, 10);
    let rate = Some(Rate { key: "k".into(), limit: 2, per: Millis::from_secs(1) });
    for n in 1..=3 {
        let terms = RunTerms { rate: rate.clone(), ..RunTerms::default() };
        dispatcher.add_waiting(waiting_in(queue(GROUP, Pool::Fast, "noop"), n, 0, terms), now());
    }
    assert_eq!(carry_out(&mut dispatcher, now()).len(), 2);
    assert_eq!(dispatcher.next_wake(), Some(at(1_000)));
    dispatcher.time_passed(at(999));
    assert!(carry_out(&mut dispatcher, at(999)).is_empty());
    dispatcher.time_passed(at(1_000));
    assert_eq!(carry_out(&mut dispatcher, at(1_000)).len(), 1);
    assert_eq!(dispatcher.next_wake(), None);
}

/// Starts one run, which the store refuses.
fn refused(dispatcher: &mut Dispatcher, n: u128, limit: SharedLimit, until: Option<Timestamp>) {
    let starts = dispatcher.take_startable(now());
    assert_eq!(starts.iter().map(|start| start.job_id).collect::<Vec<_>>(), [job(n)]);
    dispatcher.exhausted(limit, until, now());
    dispatcher.give_back(SlotLocation::Local(Pool::Fast));
    dispatcher.answered(run(n));
    dispatcher.add_waiting(limited(n, "k"), now());
}

#[test]
fn a_key_that_other_nodes_hold_is_left_alone_until_it_may_be_free() {
    let held = || SharedLimit::Concurrency("k".into());
    let freed: [fn(&mut Dispatcher); 4] = [
        |dispatcher| dispatcher.freed("k"),
        |dispatcher| dispatcher.may_be_free(&PartitionSet::all()),
        |dispatcher| dispatcher.time_passed(at(1_000)),
        |dispatcher| {
            let key = SharedLimit::Concurrency("k".into()).bytes();
            dispatcher.may_be_free(&[ordo_store::Partition::of_key(&key)].into_iter().collect());
        },
    ];
    for free in freed {
        let mut dispatcher = dispatcher(9, 10);
        dispatcher.add_waiting(limited(1, "k"), now());
        refused(&mut dispatcher, 1, held(), None);
        dispatcher.add_waiting(limited(2, "k"), now());
        assert!(carry_out(&mut dispatcher, now()).is_empty(), "others hold it");
        assert_eq!(dispatcher.next_wake(), Some(at(1_000)));
        dispatcher.may_be_free(&PartitionSet::default());
        assert!(carry_out(&mut dispatcher, now()).is_empty(), "nothing was heard of it");
        free(&mut dispatcher);
        assert_eq!(carry_out(&mut dispatcher, at(1_000)).len(), 1, "one of the two");
    }
}

#[test]
fn a_rate_that_other_nodes_used_up_is_left_alone_until_its_time() {
    let mut dispatcher = dispatcher(9, 10);
    let rate = Some(Rate { key: "k".into(), limit: 2, per: Millis::from_secs(1) });
    let rated = |n| {
        let terms = RunTerms { rate: rate.clone(), ..RunTerms::default() };
        waiting_in(queue(GROUP, Pool::Fast, "noop"), n, 0, terms)
    };
    dispatcher.add_waiting(rated(1), now());
    refused(&mut dispatcher, 1, SharedLimit::Rate("k".into()), Some(at(700)));
    dispatcher.add_waiting(rated(2), now());
    dispatcher.add_waiting(rated(3), now());
    dispatcher.time_passed(at(699));
    assert_eq!(dispatcher.next_wake(), Some(at(700)));
    let begun = carry_out(&mut dispatcher, at(699));
    assert_eq!(begun.len(), 1, "the one without a rate");
    dispatcher.time_passed(at(700));
    assert_eq!(carry_out(&mut dispatcher, at(700)).len(), 2, "what was refused does not count");
}
