//! Keys and rates that runs share.

use super::*;

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
    refused(&mut dispatcher, 1, SharedLimit::Rate(rate.as_ref().unwrap().counted_by()), Some(at(700)));
    dispatcher.add_waiting(rated(2), now());
    dispatcher.add_waiting(rated(3), now());
    dispatcher.time_passed(at(699));
    assert_eq!(dispatcher.next_wake(), Some(at(700)));
    let begun = carry_out(&mut dispatcher, at(699));
    assert_eq!(begun.len(), 1, "the one without a rate");
    dispatcher.time_passed(at(700));
    assert_eq!(carry_out(&mut dispatcher, at(700)).len(), 2, "what was refused does not count");
}
