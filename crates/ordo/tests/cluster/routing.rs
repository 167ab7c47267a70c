//! Executors that dialled into different nodes are one group: a routing means the same executor on every node, a broadcast
//! goes to all of them, and whoever loses its node goes on with another.

use std::collections::BTreeSet;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{Daemon, World, within};
use crate::database::Database;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(90);

struct ExecutorProcess(Child);

impl Drop for ExecutorProcess {
    fn drop(&mut self) {
        // It may have ended.
        kill_process(Pid::from_child(&self.0), Signal::KILL).unwrap_or(());
        self.0.wait().unwrap();
    }
}

/// Three nodes, and three executors that dial into each of them first and know of the others.
struct ThreeNodes {
    worlds: Vec<World>,
    daemons: Vec<Option<Daemon>>,
    executors: Vec<ExecutorProcess>,
    _database: Database,
}

impl ThreeNodes {
    fn start() -> ThreeNodes {
        let database = Database::start();
        let url = Database::url_on(database.port());
        let worlds: Vec<World> = (0..3).map(|_| World::new()).collect();
        let names = ["a", "b", "c"];
        let serve = |(world, name): (&World, &str)| Some(world.serve_with(&["--node", name, "--store", &url]));
        let daemons: Vec<Option<Daemon>> = worlds.iter().zip(names).map(serve).collect();
        let mut cluster = ThreeNodes { worlds, daemons, executors: Vec::new(), _database: database };
        for number in 0..9 {
            let executor = cluster.executor(number);
            cluster.executors.push(executor);
        }
        cluster
    }

    /// They work in the folder of the first node, so that what they write is found.
    fn executor(&self, number: usize) -> ExecutorProcess {
        let places: Vec<&str> = self.daemons.iter().flatten().map(|daemon| daemon.place.as_str()).collect();
        let servers = [places[number % 3], places[(number + 1) % 3], places[(number + 2) % 3]].join(",");
        let (name, here) = (format!("w{number}"), &self.worlds[0]);
        let mut command = here.command(&["--server", &servers, "executor", "--group", "gpu", "--name", &name]);
        command.env("ORDO_TOKEN", here.read(".ordo/token").trim()).stdout(Stdio::null()).stderr(Stdio::null());
        ExecutorProcess(command.spawn().unwrap())
    }

    #[track_caller]
    fn eventually<T>(&self, what: &str, ask: impl FnMut() -> Option<T>) -> T {
        within(PATIENCE, what, ask)
    }

    fn alive(&self, which: usize) -> usize {
        let all = self.worlds[which].json(&["executors"]).as_array().unwrap().clone();
        all.iter().filter(|one| one["in_process"] == false && one["state"] == "alive").count()
    }

    fn add(&self, label: &str, more: &[&str], script: &str) {
        let add = [["job", "add", label].as_slice(), more, &["--", "sh", "-c", script]].concat();
        self.worlds[0].ordo(&add).done();
    }

    /// The runs of a job, once all of so many are over.
    #[track_caller]
    fn over(&self, which: usize, label: &str, count: usize) -> Vec<Value> {
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
    fn know_each_other(&self) {
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

fn lines(world: &World, name: &str) -> Vec<String> {
    let mut lines: Vec<String> = world.read(name).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn shards(total: usize) -> Vec<String> {
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
