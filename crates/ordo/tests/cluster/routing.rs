//! Executors that dialled into different nodes are one group: a routing means the same executor on every node, a broadcast
//! goes to all of them, and whoever loses its node goes on with another.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use ordo_engine::clock::Stopwatch;
use ordo_model::limits::HEARTBEAT;
use ordo_model::testing::{Chance, any_seed};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::away::ask;
use crate::common::{Daemon, World, within};
use crate::database::Database;

const NAMES: [&str; 3] = ["a", "b", "c"];
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(90);

pub(crate) struct ExecutorProcess(Child);

impl Drop for ExecutorProcess {
    fn drop(&mut self) {
        // It may have ended.
        kill_process(Pid::from_child(&self.0), Signal::KILL).unwrap_or(());
        self.0.wait().unwrap();
    }
}

/// Three nodes, and three executors that dial into each of them first and know of the others.
pub(crate) struct ThreeNodes {
    pub(crate) worlds: Vec<World>,
    pub(crate) daemons: Vec<Option<Daemon>>,
    pub(crate) executors: Vec<ExecutorProcess>,
    capacity: u32,
    database: Database,
}

impl ThreeNodes {
    pub(crate) fn start() -> ThreeNodes {
        ThreeNodes::with_capacity(16)
    }

    pub(crate) fn with_capacity(capacity: u32) -> ThreeNodes {
        let database = Database::start();
        let url = Database::url_on(database.port());
        let worlds: Vec<World> = (0..3).map(|_| World::new()).collect();
        let serve = |(world, name): (&World, &str)| Some(world.serve_lastingly(&["--node", name, "--store", &url]));
        let daemons: Vec<Option<Daemon>> = worlds.iter().zip(NAMES).map(serve).collect();
        let mut cluster = ThreeNodes { worlds, daemons, executors: Vec::new(), capacity, database };
        for number in 0..9 {
            let executor = cluster.executor(number);
            cluster.executors.push(executor);
        }
        cluster
    }

    /// Kills a node and starts it again under its name and its address, by which the executors know it.
    pub(crate) fn kill_and_restart(&mut self, which: usize) {
        let daemon = self.daemons[which].take().unwrap();
        let listen = daemon.place.trim_start_matches("http://").to_owned();
        daemon.kill();
        let url = Database::url_on(self.database.port());
        let restarted = self.worlds[which].serve_on(&listen, &["--node", NAMES[which], "--store", &url]);
        self.daemons[which] = Some(restarted);
    }

    /// They work in the folder of the first node, so that what they write is found.
    pub(crate) fn executor(&self, number: usize) -> ExecutorProcess {
        let places: Vec<&str> = self.daemons.iter().flatten().map(|daemon| daemon.place.as_str()).collect();
        let servers = [places[number % 3], places[(number + 1) % 3], places[(number + 2) % 3]].join(",");
        let (name, here) = (format!("w{number}"), &self.worlds[0]);
        let capacity = self.capacity.to_string();
        let args = ["--server", &servers, "executor", "--group", "gpu", "--name", &name, "--capacity", &capacity];
        let mut command = here.command(&args);
        command.env("ORDO_TOKEN", here.read(".ordo/token").trim()).stdout(Stdio::null()).stderr(Stdio::null());
        ExecutorProcess(command.spawn().unwrap())
    }

    #[track_caller]
    pub(crate) fn eventually<T>(&self, what: &str, ask: impl FnMut() -> Option<T>) -> T {
        within(PATIENCE, what, ask)
    }

    pub(crate) fn alive(&self, which: usize) -> usize {
        let all = self.worlds[which].json(&["executors"]).as_array().unwrap().clone();
        all.iter().filter(|one| one["in_process"] == false && one["state"] == "alive").count()
    }

    pub(crate) fn add(&self, label: &str, more: &[&str], script: &str) {
        let add = [["job", "add", label].as_slice(), more, &["--", "sh", "-c", script]].concat();
        self.worlds[0].ordo(&add).done();
    }

    /// The runs of a job, once all of so many are over.
    #[track_caller]
    pub(crate) fn over(&self, which: usize, label: &str, count: usize) -> Vec<Value> {
        self.eventually(&format!("{label} is over"), || {
            let runs = self.worlds[which].runs(label);
            let is_over = |run: &&Value| !["pending", "running"].contains(&run["status"]["type"].as_str().unwrap());
            (runs.iter().filter(is_over).count() >= count && runs.iter().all(|run| is_over(&run))).then_some(runs)
        })
    }
}

impl ThreeNodes {
    /// Until whichever node starts a broadcast knows of all executors: a node hears of those elsewhere within a second.
    #[track_caller]
    pub(crate) fn know_each_other(&self) {
        self.add("roll-call", &["--group", "gpu", "--routing", "sharding_broadcast"], "true");
        let mut calls = 0;
        self.eventually("every executor has a share", || {
            calls += 1;
            self.worlds[calls % 3].ordo(&["job", "trigger", "roll-call"]).done();
            let runs = self.over(0, "roll-call", calls);
            let shares = runs.iter().filter(|run| run["shard"]["total"] == 9).count();
            // Each node may be the one that starts it.
            (shares >= 9 * 3).then_some(())
        });
    }
}

pub(crate) fn lines(world: &World, name: &str) -> Vec<String> {
    let mut lines: Vec<String> = world.read(name).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

pub(crate) fn shards(total: usize) -> Vec<String> {
    (0..total).map(|index| format!("{index}/{total}")).collect()
}

const SHARD: &str = "echo $ORDO_SHARD_INDEX/$ORDO_SHARD_TOTAL >> shards";

#[test]
fn a_routing_means_the_same_executor_whichever_node_is_asked() {
    let cluster = ThreeNodes::start();
    for which in 0..3 {
        cluster.eventually("every node knows all executors", || (cluster.alive(which) == 9).then_some(()));
    }
    for routing in ["first", "last", "consistent_hash"] {
        cluster.add(routing, &["--group", "gpu", "--routing", routing], "true");
        for which in 0..3 {
            cluster.worlds[which].ordo(&["job", "trigger", routing]).done();
            cluster.over(which, routing, which + 1);
        }
        let runs = cluster.over(0, routing, 3);
        let by: BTreeSet<&str> = runs.iter().map(|run| run["executor"].as_str().unwrap()).collect();
        assert_eq!(by.len(), 1, "{routing}: {by:?}");
        match routing {
            "first" => assert!(by.contains("w0"), "{by:?}"),
            "last" => assert!(by.contains("w8"), "{by:?}"),
            _ => {}
        }
    }
    cluster.add("all", &["--group", "gpu", "--routing", "sharding_broadcast"], SHARD);
    cluster.worlds[1].ordo(&["job", "trigger", "all"]).done();
    let runs = cluster.over(2, "all", 10);
    let by: BTreeSet<&str> = runs.iter().filter_map(|run| run["executor"].as_str()).collect();
    assert_eq!((lines(&cluster.worlds[0], "shards"), by.len()), (shards(9), 9), "each executor has a share: {runs:#?}");

    // Whoever has just come is among them, also where another node begins the broadcast.
    let newest = cluster.executor(9);
    cluster.eventually("it is there", || (cluster.alive(0) == 10).then_some(()));
    cluster.add("all-ten", &["--group", "gpu", "--routing", "sharding_broadcast"], "true");
    cluster.worlds[1].ordo(&["job", "trigger", "all-ten"]).done();
    let runs = cluster.over(2, "all-ten", 11);
    let by: BTreeSet<&str> = runs.iter().filter_map(|run| run["executor"].as_str()).collect();
    assert!(by.len() == 10 && by.contains("w9"), "{runs:#?}");
    drop(newest);

    // The executors inside the nodes are a group too.
    cluster.add("inside", &["--routing", "sharding_broadcast"], "true");
    cluster.worlds[2].ordo(&["job", "trigger", "inside"]).done();
    let runs = cluster.over(1, "inside", 4);
    let by: BTreeSet<&str> = runs.iter().filter_map(|run| run["executor"].as_str()).collect();
    assert_eq!(by, BTreeSet::from(["a", "b", "c"]), "{runs:#?}");

    // Cancelling and draining reach an executor by whichever node they are asked of.
    cluster.add("hang", &["--group", "gpu", "--routing", "first"], "echo > begun; sleep 300");
    cluster.worlds[1].ordo(&["job", "trigger", "hang"]).done();
    cluster.eventually("it runs", || cluster.worlds[0].file("begun").exists().then_some(()));
    let run = cluster.worlds[2].runs("hang").remove(0);
    cluster.worlds[2].ordo(&["run", "cancel", run["id"].as_str().unwrap()]).done();
    assert_eq!(cluster.over(1, "hang", 1)[0]["status"]["type"], "cancelled");
}

#[test]
fn an_end_that_is_asked_of_another_node_reaches_the_executor_before_its_next_heartbeat() {
    let cluster = ThreeNodes::start();
    cluster.eventually("all are there", || (cluster.alive(0) == 9).then_some(()));
    cluster.add("hang", &["--group", "gpu", "--routing", "first"], "echo >> begun; sleep 300");
    let mut took = Vec::new();
    for number in 1..=3 {
        cluster.worlds[1].ordo(&["job", "trigger", "hang"]).done();
        cluster.eventually("it runs", || (lines(&cluster.worlds[0], "begun").len() == number).then_some(()));
        let run = cluster.worlds[2].runs("hang").remove(0);
        let clock = Stopwatch::start();
        cluster.worlds[2].ordo(&["run", "cancel", run["id"].as_str().unwrap()]).done();
        assert_eq!(cluster.over(1, "hang", number)[0]["status"]["type"], "cancelled");
        took.push(clock.elapsed());
    }
    println!("from asking to the end: {took:?}");
    // By heartbeats, every 5 s, three in a row take 7.5 s in the middle.
    let all: u64 = took.iter().map(|took| took.ms()).sum();
    assert!(all < HEARTBEAT.ms(), "{took:?}");
}

#[test]
fn an_executor_that_another_node_is_asked_to_drain_finishes_what_it_has_and_leaves() {
    let cluster = ThreeNodes::start();
    cluster.eventually("all are there", || (cluster.alive(0) == 9).then_some(()));
    let script = "echo >> begun; while ! test -e go; do sleep 0.1; done";
    cluster.add("last", &["--group", "gpu", "--routing", "first"], script);
    cluster.worlds[0].ordo(&["job", "trigger", "last"]).done();
    cluster.eventually("w0 has it", || cluster.worlds[0].file("begun").exists().then_some(()));
    let listed = |which: usize| cluster.worlds[which].json(&["executors"]).as_array().unwrap().clone();
    let state =
        |which: usize| listed(which).into_iter().find(|one| one["name"] == "w0").map(|one| one["state"].clone());
    let id = listed(1).into_iter().find(|one| one["name"] == "w0").unwrap()["id"].as_str().unwrap().to_owned();
    // w0 is with the first node.
    let token = cluster.worlds[0].read(".ordo/token").trim().to_owned();
    let path = format!("/v1/executors/{id}/drain");
    let answer = ask(cluster.daemons[1].as_ref().unwrap(), "POST", &path, &token, "{}");
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
    cluster
        .eventually("every node knows", || (0..3).all(|which| state(which) == Some("draining".into())).then_some(()));
    cluster.add("next", &["--group", "gpu", "--routing", "first"], "true");
    for which in 0..3 {
        cluster.worlds[which].ordo(&["job", "trigger", "next"]).done();
    }
    let runs = cluster.over(2, "next", 3);
    assert!(runs.iter().all(|run| run["executor"] == "w1"), "the first of those who stay: {runs:#?}");
    cluster.worlds[0].write("go", "");
    assert_eq!(cluster.over(2, "last", 1)[0]["status"]["type"], "completed");
    cluster.eventually("it has left", || (cluster.alive(2) == 8 && state(2) != Some("draining".into())).then_some(()));
}

#[test]
fn nodes_that_die_while_a_broadcast_is_dealt_out_double_no_share_and_the_whole_says_what_became_of_them() {
    let mut cluster = ThreeNodes::start();
    cluster.eventually("all are there", || (cluster.alive(0) == 9).then_some(()));
    let mut chance = Chance::new(any_seed());
    for round in 0..3 {
        let which = deal_out_under_a_kill(&mut cluster, &mut chance, &format!("all-{round}"));
        cluster.eventually("all are there again", || (cluster.alive(which) == 9).then_some(()));
    }
}

/// Kills and restarts a node while a broadcast is dealt out, and looks at what became of its shares; returns which node.
fn deal_out_under_a_kill(cluster: &mut ThreeNodes, chance: &mut Chance, label: &str) -> usize {
    let script = "echo $ORDO_RUN_ID >> begun; sleep 1";
    cluster.add(label, &["--group", "gpu", "--routing", "sharding_broadcast"], script);
    let which = usize::try_from(chance.between(0, 2)).unwrap();
    let asked = (which + usize::try_from(chance.between(0, 1)).unwrap()) % 3;
    // At once, or when some have begun.
    let dealt = lines(&cluster.worlds[0], "begun").len() + usize::try_from(chance.between(0, 6)).unwrap();
    cluster.worlds[asked].ordo(&["job", "trigger", label]).done();
    cluster.eventually("some have begun", || (lines(&cluster.worlds[0], "begun").len() >= dealt).then_some(()));
    cluster.kill_and_restart(which);
    let runs = cluster.over(which, label, 1);
    let (shares, whole): (Vec<&Value>, Vec<&Value>) = runs.iter().partition(|run| run["shard"].is_object());
    let total = shares.len();
    println!("{total} shares, node {which} killed, {asked} asked");
    let mut indexes: Vec<u64> = shares.iter().map(|run| run["shard"]["index"].as_u64().unwrap()).collect();
    indexes.sort_unstable();
    assert!(total >= 6 && indexes.iter().copied().eq(0..total as u64), "each share is there once: {runs:#?}");
    let completed = |run: &&Value| run["status"]["type"] == "completed";
    assert_eq!(whole.len(), 1, "{runs:#?}");
    assert_eq!(completed(&whole[0]), shares.iter().all(completed), "{runs:#?}");
    let begun = lines(&cluster.worlds[0], "begun");
    for share in shares {
        let times = begun.iter().filter(|id| Some(id.as_str()) == share["id"].as_str()).count();
        assert!(times == 1 || (times == 0 && !completed(&share)), "begun {times} times: {share:#}");
    }
    which
}

#[test]
fn executors_whose_node_is_killed_go_on_with_another_and_lose_nothing() {
    let mut cluster = ThreeNodes::start();
    cluster.eventually("all are there", || (cluster.alive(0) == 9).then_some(()));
    cluster.know_each_other();
    let script = "echo >> begun; sleep 5; echo $ORDO_SHARD_INDEX/$ORDO_SHARD_TOTAL >> shards";
    cluster.add("all", &["--group", "gpu", "--routing", "sharding_broadcast"], script);
    cluster.worlds[0].ordo(&["job", "trigger", "all"]).done();
    cluster.eventually("all shares run", || (cluster.worlds[0].read("begun").lines().count() == 9).then_some(()));
    for which in [1, 2] {
        cluster.daemons[which].take().unwrap().kill();
    }
    let runs = cluster.over(0, "all", 10);
    let ended: Vec<&Value> = runs.iter().map(|run| &run["status"]["type"]).collect();
    assert!(ended.iter().all(|status| **status == "completed"), "{runs:#?}");
    assert_eq!(lines(&cluster.worlds[0], "shards"), shards(9), "each once");
    assert!(runs.iter().all(|run| run["attempt"].as_u64().unwrap_or(0) <= 1), "{runs:#?}");
    assert_eq!(cluster.alive(0), 9, "they are the same generations");
}
