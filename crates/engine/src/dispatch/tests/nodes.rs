//! Executors of other nodes: what is left to them, and what is waited for until it is known who is there.

use super::*;

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
