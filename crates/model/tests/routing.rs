//! What each routing strategy promises: to whom, how evenly, how faithfully.

use ordo_model::job::Routing;
use ordo_model::routing::{Candidate, Choice, RoutingRequest, SharedRequest, choose, choose_shared};
use ordo_model::testing::proptest_config;
use ordo_model::{JobId, RunId, Timestamp};
use proptest::prelude::*;
use uuid::Uuid;

const ALL: [Routing; 9] = [
    Routing::First,
    Routing::Last,
    Routing::Round,
    Routing::Random,
    Routing::Lfu,
    Routing::Lru,
    Routing::ConsistentHash,
    Routing::Failover,
    Routing::Busyover,
];
const STICKY: [Routing; 3] = [Routing::First, Routing::Last, Routing::ConsistentHash];

#[derive(Debug, Clone)]
struct TestExecutor {
    name: String,
    free: usize,
    heard_ms: i64,
    chosen: u64,
    chosen_last: u64,
    turn_last: u64,
    chosen_ms: i64,
    missed: u32,
}

fn executor(number: usize) -> TestExecutor {
    TestExecutor {
        name: format!("executor-{number:02}"),
        free: 1,
        heard_ms: 0,
        chosen: 0,
        chosen_last: 0,
        turn_last: 0,
        chosen_ms: 0,
        missed: 0,
    }
}

fn executors(count: usize) -> Vec<TestExecutor> {
    (0..count).map(executor).collect()
}

fn id_of(name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::nil(), name.as_bytes())
}

fn candidates(executors: &[TestExecutor]) -> Vec<Candidate<'_>> {
    executors.iter().map(candidate).collect()
}

fn candidate(executor: &TestExecutor) -> Candidate<'_> {
    Candidate {
        id: id_of(&executor.name),
        name: &executor.name,
        free: executor.free,
        heard_at: Timestamp::from_ms(executor.heard_ms).expect("a time"),
        chosen: executor.chosen,
        chosen_last: executor.chosen_last,
        turn_last: executor.turn_last,
        chosen_at: Timestamp::from_ms(executor.chosen_ms).expect("a time"),
        missed: executor.missed,
    }
}

fn asked(job: u128, draw: u64) -> RoutingRequest {
    RoutingRequest { job: JobId(Uuid::from_u128(job)), draw }
}

fn pick(routing: Routing, executors: &[TestExecutor], job: u128, draw: u64) -> Choice {
    choose(routing, &candidates(executors), asked(job, draw))
}

/// Chooses so often, each choice being noted as a dispatcher does.
fn play(routing: Routing, executors: &mut [TestExecutor], times: u64) -> Vec<usize> {
    let mut taken = Vec::new();
    for number in 1..=times {
        if let Choice::Take(place) = pick(routing, executors, 1, number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) {
            executors[place].chosen += 1;
            executors[place].chosen_last = number;
            if routing == Routing::Round {
                executors[place].turn_last = number;
            }
            taken.push(place);
        }
    }
    taken
}

fn any_executor() -> impl Strategy<Value = TestExecutor> {
    (0usize..30, 0usize..3, 0i64..1_000, 0u64..9, 0u64..9, 0u32..3).prop_map(
        |(number, free, heard_ms, chosen, chosen_last, missed)| TestExecutor {
            free,
            heard_ms,
            chosen,
            chosen_last,
            missed,
            ..executor(number)
        },
    )
}

fn any_executors() -> impl Strategy<Value = Vec<TestExecutor>> {
    prop::collection::vec(any_executor(), 0..8).prop_map(|mut all| {
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.dedup_by(|a, b| a.name == b.name);
        all
    })
}

fn owner(executors: &[TestExecutor], job: u128) -> Option<String> {
    match pick(Routing::ConsistentHash, executors, job, 0) {
        Choice::Take(place) | Choice::WaitFor(place) => Some(executors[place].name.clone()),
        Choice::All | Choice::Nobody => None,
    }
}

proptest! {
    #![proptest_config(proptest_config())]

    #[test]
    fn whoever_is_chosen_has_a_free_slot(executors in any_executors(), job: u128, draw: u64) {
        for routing in ALL {
            match pick(routing, &executors, job, draw) {
                Choice::Take(place) => prop_assert!(executors[place].free > 0),
                Choice::WaitFor(place) => {
                    prop_assert!(executors[place].free == 0 && STICKY.contains(&routing));
                }
                Choice::Nobody => {
                    let idle = executors.iter().any(|executor| executor.free > 0);
                    prop_assert!(!idle || (STICKY.contains(&routing) && executors.is_empty()));
                }
                Choice::All => prop_assert!(false, "only a broadcast goes to all"),
            }
        }
    }

    #[test]
    fn the_same_question_has_the_same_answer(executors in any_executors(), job: u128, draw: u64) {
        for routing in ALL {
            prop_assert_eq!(pick(routing, &executors, job, draw), pick(routing, &executors, job, draw));
        }
    }

    #[test]
    fn a_job_moves_only_to_an_executor_that_joins(count in 1usize..9, job: u128) {
        let before = executors(count);
        let after = executors(count + 1);
        let (old, new) = (owner(&before, job), owner(&after, job));
        prop_assert!(old == new || new == Some(after[count].name.clone()));
    }

    #[test]
    fn a_job_moves_only_when_its_executor_leaves(count in 2usize..9, gone in 0usize..9, job: u128) {
        let before = executors(count);
        let gone = gone % count;
        let mut after = before.clone();
        let left = after.remove(gone);
        let (old, new) = (owner(&before, job), owner(&after, job));
        prop_assert!(old == new || old == Some(left.name));
    }

    #[test]
    fn how_busy_others_are_does_not_move_a_job(executors in any_executors(), job: u128) {
        let idle: Vec<TestExecutor> = executors.iter().map(|one| TestExecutor { free: 1, ..one.clone() }).collect();
        prop_assert_eq!(owner(&executors, job), owner(&idle, job));
    }

    #[test]
    fn the_least_used_of_the_free_ones_is_taken(executors in any_executors()) {
        if let Choice::Take(place) = pick(Routing::Lfu, &executors, 1, 0) {
            let least = executors.iter().filter(|one| one.free > 0).map(|one| (one.missed, one.chosen)).min();
            prop_assert_eq!(Some((executors[place].missed, executors[place].chosen)), least);
        }
    }

    #[test]
    fn the_longest_unused_of_the_free_ones_is_taken(executors in any_executors()) {
        if let Choice::Take(place) = pick(Routing::Lru, &executors, 1, 0) {
            let least = executors.iter().filter(|one| one.free > 0).map(|one| (one.missed, one.chosen_last)).min();
            prop_assert_eq!(Some((executors[place].missed, executors[place].chosen_last)), least);
        }
    }

    #[test]
    fn failover_takes_the_newest_heartbeat_among_those_who_take_offers(executors in any_executors()) {
        if let Choice::Take(place) = pick(Routing::Failover, &executors, 1, 0) {
            let best = executors.iter().filter(|one| one.free > 0).map(|one| (one.missed, -one.heard_ms)).min();
            prop_assert_eq!(Some((executors[place].missed, -executors[place].heard_ms)), best);
        }
    }
}

#[test]
fn in_turn_every_executor_gets_the_same() {
    let mut all = executors(5);
    assert_eq!(play(Routing::Round, &mut all, 10), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    for routing in [Routing::Lfu, Routing::Lru] {
        let mut all = executors(5);
        play(routing, &mut all, 1_000);
        assert!(all.iter().all(|one| one.chosen == 200), "{routing:?}: {all:?}");
    }
}

#[test]
fn in_turn_a_full_one_is_passed_over() {
    let mut all = executors(3);
    all[1].free = 0;
    assert_eq!(play(Routing::Round, &mut all, 4), [0, 2, 0, 2]);
}

#[test]
fn by_chance_every_executor_gets_about_the_same() {
    let mut all = executors(5);
    play(Routing::Random, &mut all, 10_000);
    assert!(all.iter().all(|one| (1_800..2_200).contains(&one.chosen)), "{all:?}");
}

#[test]
fn by_hash_jobs_are_spread() {
    let all = executors(5);
    let mut counts = [0u32; 5];
    for job in 0..10_000u128 {
        if let Choice::Take(place) = pick(Routing::ConsistentHash, &all, job << 64 | job, 0) {
            counts[place] += 1;
        }
    }
    assert!(counts.iter().all(|count| (1_800..2_200).contains(count)), "{counts:?}");
}

#[test]
fn first_and_last_wait_for_their_executor_and_busyover_does_not() {
    let mut all = executors(3);
    all[0].free = 0;
    all[2].free = 0;
    assert_eq!(pick(Routing::First, &all, 1, 0), Choice::WaitFor(0));
    assert_eq!(pick(Routing::Last, &all, 1, 0), Choice::WaitFor(2));
    assert_eq!(pick(Routing::Busyover, &all, 1, 0), Choice::Take(1));
}

#[test]
fn an_executor_that_let_an_offer_pass_comes_last() {
    let mut all = executors(2);
    all[0].heard_ms = 1_000;
    assert_eq!(pick(Routing::Failover, &all, 1, 0), Choice::Take(0));
    all[0].missed = 1;
    assert_eq!(pick(Routing::Failover, &all, 1, 0), Choice::Take(1));
}

#[test]
fn a_broadcast_goes_to_all_who_are_there_however_busy() {
    let mut all = executors(2);
    all[0].free = 0;
    assert_eq!(pick(Routing::ShardingBroadcast, &all, 1, 0), Choice::All);
    assert_eq!(pick(Routing::ShardingBroadcast, &[], 1, 0), Choice::Nobody);
}

#[test]
fn whoever_may_choose_passes_over_one_that_let_its_offer_pass() {
    let mut all = executors(3);
    all[0].missed = 1;
    // What would make it the choice of each otherwise.
    (all[0].heard_ms, all[1].chosen, all[2].chosen, all[1].chosen_last, all[2].chosen_last) = (9, 1, 1, 1, 2);
    all[2].turn_last = 2;
    for routing in ALL.into_iter().filter(|routing| routing.may_choose()) {
        for draw in 0..50 {
            let choice = choose(routing, &candidates(&all), RoutingRequest { job: JobId(Uuid::nil()), draw });
            assert!(matches!(choice, Choice::Take(place) if place > 0), "{routing:?}: {choice:?}");
        }
    }
    let alone = &all[..1];
    for routing in ALL {
        let choice = choose(routing, &candidates(alone), RoutingRequest { job: JobId(Uuid::nil()), draw: 0 });
        assert_eq!(choice, Choice::Take(0), "{routing:?}: there is nobody else");
    }
}

/// A choice among the executors of several nodes for the so-manieth run of a job.
fn pick_shared(routing: Routing, executors: &[TestExecutor], number: u64) -> Choice {
    let (job, run) = (JobId(Uuid::from_u128(5)), RunId(Uuid::from_u128(u128::from(number))));
    choose_shared(routing, &candidates(executors), SharedRequest { job, run, number })
}

fn taken_by(choice: Choice) -> usize {
    let Choice::Take(place) = choice else { panic!("{choice:?}") };
    place
}

#[test]
fn runs_one_after_the_other_go_once_around_whether_or_not_it_is_known_who_was_chosen() {
    for routing in [Routing::Round, Routing::Lfu, Routing::Lru] {
        for knows in [true, false] {
            let mut all = executors(9);
            let mut taken: Vec<usize> = (1..=9)
                .map(|number| {
                    let place = taken_by(pick_shared(routing, &all, number));
                    if knows {
                        all[place].chosen += 1;
                        all[place].chosen_ms = 1_000 + number as i64;
                    }
                    place
                })
                .collect();
            taken.sort_unstable();
            assert_eq!(taken, (0..9).collect::<Vec<_>>(), "{routing:?}, known: {knows}");
        }
    }
}

#[test]
fn who_has_no_free_slot_is_passed_over_and_the_next_in_order_has_the_run() {
    let mut all = executors(4);
    assert_eq!(pick_shared(Routing::Busyover, &all, 1), Choice::Take(0));
    all[0].free = 0;
    assert_eq!(pick_shared(Routing::Busyover, &all, 1), Choice::Take(1));
    let number = (1..=4).find(|number| {
        all[0].free = 1;
        pick_shared(Routing::Round, &all, *number) == Choice::Take(0)
    });
    all[0].free = 0;
    assert_eq!(pick_shared(Routing::Round, &all, number.unwrap()), Choice::Take(1));
    all.iter_mut().for_each(|executor| executor.free = 0);
    for routing in ALL.into_iter().filter(|routing| routing.may_choose()) {
        assert_eq!(pick_shared(routing, &all, 1), Choice::Nobody, "{routing:?}");
    }
}

#[test]
fn who_was_away_catches_up_under_lfu_and_comes_first_under_lru() {
    let mut all = executors(3);
    for executor in &mut all {
        (executor.chosen, executor.chosen_ms) = (100, 50_000);
    }
    (all[1].chosen, all[1].chosen_ms) = (10, 40_000);
    for number in 1..=9 {
        assert_eq!(pick_shared(Routing::Lfu, &all, number), Choice::Take(1));
        assert_eq!(pick_shared(Routing::Lru, &all, number), Choice::Take(1));
    }
}

#[test]
fn failover_passes_over_who_was_not_heard_of_for_longer_than_a_heartbeat() {
    let mut all = executors(3);
    (all[0].heard_ms, all[1].heard_ms, all[2].heard_ms) = (9_000, 14_000, 17_000);
    assert_eq!(pick_shared(Routing::Failover, &all, 1), Choice::Take(1));
    all[1].missed = 1;
    assert_eq!(pick_shared(Routing::Failover, &all, 1), Choice::Take(2), "nor who let an offer pass");
}

#[test]
fn random_chooses_all_of_them_about_equally_often() {
    let (all, mut counts) = (executors(9), [0u32; 9]);
    for number in 1..=9_000 {
        counts[taken_by(pick_shared(Routing::Random, &all, number))] += 1;
    }
    assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
}
