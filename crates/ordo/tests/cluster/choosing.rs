//! The strategies that may choose among executors choose among those of all nodes, whichever node is asked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::routing::{ThreeNodes, lines};

/// How often each executor was given one of the runs.
fn by_executor(runs: &[Value]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for run in runs {
        assert_eq!(run["status"]["type"], "completed", "{run:#}");
        *counts.entry(run["executor"].as_str().unwrap()).or_default() += 1;
    }
    counts
}

/// Triggers a job so often, of one node after the other, and returns its runs when all are over.
fn triggered(cluster: &ThreeNodes, label: &str, routing: &str, times: usize) -> Vec<Value> {
    cluster.add(label, &["--group", "gpu", "--routing", routing, "--concurrent", "99"], "true");
    for which in 0..times {
        cluster.worlds[which % 3].ordo(&["job", "trigger", label]).done();
    }
    cluster.over(0, label, times)
}

/// A run that was left to another node for too long, on a busy machine, goes to whoever has room and takes a turn away. So either
/// a round of nine is even, as one in a thousand is by chance; or all five together are, nearly: one in fifteen is by chance.
fn each_has_its_turn(cluster: &ThreeNodes, routing: &str) {
    let mut turns: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..5 {
        let runs = triggered(cluster, &format!("{routing}-{round}"), routing, 9);
        let by = by_executor(&runs);
        if by.len() == 9 {
            return;
        }
        println!("{routing}: {by:?}");
        for (executor, count) in by {
            *turns.entry(executor.to_owned()).or_default() += count;
        }
    }
    let is_even = turns.len() == 9 && turns.values().all(|count| (3..=7).contains(count));
    assert!(is_even, "{routing}: not each has its turn: {turns:?}");
}

#[test]
fn the_strategies_that_may_choose_mean_all_executors_whichever_node_is_asked() {
    let cluster = ThreeNodes::start();
    cluster.eventually("all are there", || (cluster.alive(0) == 9).then_some(()));
    cluster.know_each_other();
    for routing in ["round", "lfu", "lru"] {
        each_has_its_turn(&cluster, routing);
    }
    let runs = triggered(&cluster, "random", "random", 45);
    let by = by_executor(&runs);
    assert!(by.len() >= 7, "random leaves out hardly anybody: {by:?}");
    for routing in ["failover", "busyover"] {
        let runs = triggered(&cluster, routing, routing, 6);
        assert_eq!(by_executor(&runs).into_keys().collect::<Vec<_>>(), ["w0"], "{routing}: the first of all has room");
    }
}

#[test]
fn busyover_fills_the_first_of_all_nodes_before_the_next() {
    let cluster = ThreeNodes::with_capacity(2);
    cluster.eventually("all are there", || (cluster.alive(0) == 9).then_some(()));
    cluster.know_each_other();
    let script = "echo >> begun; while ! test -e go; do sleep 0.1; done";
    cluster.add("fill", &["--group", "gpu", "--routing", "busyover", "--concurrent", "99"], script);
    for number in 0..6 {
        cluster.worlds[(number + 1) % 3].ordo(&["job", "trigger", "fill"]).done();
        cluster.eventually("it runs", || (lines(&cluster.worlds[0], "begun").len() == number + 1).then_some(()));
    }
    cluster.worlds[0].write("go", "");
    let runs = cluster.over(0, "fill", 6);
    for run in runs.iter().rev() {
        println!("{} from {} to {}", run["executor"], run["fired_at"], run["started_at"]);
    }
    assert_eq!(by_executor(&runs), BTreeMap::from([("w0", 2), ("w1", 2), ("w2", 2)]));
}

#[test]
fn the_executors_of_a_node_that_was_killed_are_passed_over() {
    let mut cluster = ThreeNodes::start();
    cluster.eventually("all are there", || (cluster.alive(0) == 9).then_some(()));
    cluster.know_each_other();
    cluster.daemons[1].take().unwrap().kill();
    // They die with their node: otherwise they go to another.
    for number in [7, 4, 1] {
        drop(cluster.executors.remove(number));
    }
    for routing in ["round", "random", "lfu", "lru", "failover", "busyover"] {
        cluster.add(routing, &["--group", "gpu", "--routing", routing, "--concurrent", "99"], "true");
        for which in [0, 2, 0, 2, 0, 2] {
            cluster.worlds[which].ordo(&["job", "trigger", routing]).done();
        }
        let runs = cluster.over(0, routing, 6);
        let by: BTreeSet<&str> = by_executor(&runs).into_keys().collect();
        assert!(by.is_disjoint(&BTreeSet::from(["w1", "w4", "w7"])), "{routing}: {by:?}");
    }
}
