//! Executors elsewhere: what they are offered, take, let pass and leave behind.

use super::*;

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

#[test]
fn what_others_choose_takes_nobodys_turn_away() {
    let all = ["a", "b", "c"];
    let mut dispatcher = with_executors(&all, 9);
    let mut turns = Vec::new();
    for n in 0..6 {
        dispatcher.add_waiting(far(2 * n, Routing::First), now());
        assert_eq!(names(&carry_out(&mut dispatcher, now()), &all), ["a"]);
        dispatcher.add_waiting(far(2 * n + 1, Routing::Round), now());
        turns.extend(names(&carry_out(&mut dispatcher, now()), &all));
    }
    assert_eq!(turns, ["a", "b", "c", "a", "b", "c"]);
}
