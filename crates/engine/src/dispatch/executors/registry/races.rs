//! Polls, deliveries, goodbyes and offers that are taken back, in many orders: shuttle chooses who goes on at every lock and signal,
//! and finds it when nobody can.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use shuttle::future::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, Runner, thread};

use super::tests::attempt;
use super::*;

/// So many orders are tried in each of two ways; `ORDO_RACES` says another number.
const ORDERS: usize = 2_000;
/// How many times PCT lets a thread be overtaken at the worst moment.
const DEPTH: usize = 3;
const ID: Uuid = Uuid::from_u128(1);
const NOW: Timestamp = Timestamp::MIN;

fn in_many_orders(story: fn()) {
    let orders = std::env::var("ORDO_RACES").ok().and_then(|orders| orders.parse().ok()).unwrap_or(ORDERS);
    let config = || {
        let mut config = Config::new();
        config.stack_size = 256 * 1024;
        config.failure_persistence = FailurePersistence::Print;
        config
    };
    Runner::new(RandomScheduler::new(orders), config()).run(story);
    Runner::new(PctScheduler::new(DEPTH, orders), config()).run(story);
}

fn registry() -> Arc<ExecutorRegistry> {
    let registry = ExecutorRegistry::default();
    let offer =
        Offer { name: "a".into(), group: "g".into(), tools: ["t".to_owned()].into(), capacity: 9, version: None };
    registry.enroll(ID, offer, None, false, NOW);
    Arc::new(registry)
}

fn run(number: u128) -> RunId {
    RunId(Uuid::from_u128(number))
}

/// Hands these over, one after the other; those that were not taken come back.
fn deliver(registry: &Arc<ExecutorRegistry>, runs: [u128; 2]) -> thread::JoinHandle<Vec<RunId>> {
    let registry = registry.clone();
    let deliver = move |number| registry.deliver(attempt(ID, run(number))).err().map(|refused| refused.run_id);
    thread::spawn(move || runs.into_iter().filter_map(deliver).collect())
}

/// Polls until the executor is gone or leaves, or so many attempts came.
fn poll(registry: &Arc<ExecutorRegistry>, enough: usize) -> thread::JoinHandle<Vec<RunId>> {
    let registry = registry.clone();
    thread::spawn(move || {
        let mut got = Vec::new();
        while got.len() < enough {
            let taken = block_on(registry.take_next(ID, 1, false, || NOW));
            let Some(taken) = taken.filter(|taken| !taken.is_empty()) else { break };
            got.extend(taken.attempts.iter().map(|attempt| attempt.run_id));
        }
        got
    })
}

fn sorted(parts: &[Vec<RunId>]) -> Vec<RunId> {
    let mut all = parts.concat();
    all.sort();
    all
}

#[test]
fn an_executor_that_waits_is_given_every_attempt_once() {
    in_many_orders(|| {
        let registry = registry();
        let (poller, others) = (poll(&registry, 4), [deliver(&registry, [1, 2]), deliver(&registry, [3, 4])]);
        let [first, second] = others.map(|thread| thread.join().unwrap());
        let got = poller.join().unwrap();
        assert_eq!(sorted(&[got, first, second]), [1, 2, 3, 4].map(run));
    });
}

#[test]
fn nobody_waits_for_an_executor_that_is_gone_and_nothing_goes_with_it() {
    in_many_orders(|| {
        let registry = registry();
        let (poller, deliverer) = (poll(&registry, usize::MAX), deliver(&registry, [1, 2]));
        let remover =
            thread::spawn(move || registry.remove(ID).undelivered.iter().map(|attempt| attempt.run_id).collect());
        let (refused, undelivered) = (deliverer.join().unwrap(), remover.join().unwrap());
        let got = poller.join().unwrap();
        assert_eq!(sorted(&[got, refused, undelivered]), [1, 2].map(run));
    });
}

#[test]
fn a_poll_that_crosses_a_goodbye_is_answered() {
    in_many_orders(|| {
        let registry = registry();
        let (poller, deliverer) = (poll(&registry, usize::MAX), deliver(&registry, [1, 2]));
        let leaver = thread::spawn(move || {
            let left = registry.ask_to_leave(ID).unwrap();
            left.undelivered.iter().map(|attempt| attempt.run_id).collect()
        });
        let (refused, undelivered) = (deliverer.join().unwrap(), leaver.join().unwrap());
        let got = poller.join().unwrap();
        assert_eq!(sorted(&[got, refused, undelivered]), [1, 2].map(run));
    });
}

#[test]
fn an_attempt_is_taken_back_or_begun_and_never_both() {
    in_many_orders(|| {
        let registry = registry();
        registry.lock().members.get_mut(&ID).unwrap().heard = Stopwatch::started_ago(CONFIRM_AFTER);
        let (number, offered) = (run(1), attempt(ID, run(1)));
        let overdue = Overdue { executor: ID, job_id: offered.job_id, run_id: number, token: offered.token };
        let token = offered.token;
        registry.deliver(offered).unwrap();
        let executor = {
            let registry = registry.clone();
            thread::spawn(move || {
                let taken = registry.take(ID, 9, true, NOW).unwrap();
                let has: Vec<_> = taken.attempts.iter().map(|attempt| (attempt.run_id, attempt.token)).collect();
                registry.pulse(ID, &has, NOW).unwrap().confirmed
            })
        };
        let is_withdrawn = registry.withdraw(&overdue).is_some();
        let begun = executor.join().unwrap();
        assert_eq!(begun, if is_withdrawn { Vec::new() } else { vec![(number, token)] });
    });
}
