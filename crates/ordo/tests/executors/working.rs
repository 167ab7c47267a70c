//! `ordo executor` at work.

use std::io::{Read, Write};

use serde_json::Value;

use crate::common::World;
use crate::{Worker, alive, eventually, listed, over};

#[test]
fn work_of_a_group_is_done_by_its_executor() {
    let world = World::new();
    let daemon = world.serve();
    let add = ["job", "add", "far", "--group", "gpu", "--", "sh", "-c", "echo on $ORDO_ATTEMPT; echo done"];
    world.ordo(&add).done();
    world.ordo(&["job", "trigger", "far"]).done();
    let run = world.runs("far").remove(0);
    assert_eq!(run["status"]["waiting_for"], "an executor of group gpu with tool shell");

    let worker = Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", "w1", "--capacity", "2"]);
    let run = over(&world, "far");
    assert_eq!((run["status"]["type"].as_str(), run["executor"].as_str()), (Some("completed"), Some("w1")));
    let lines = world.ordo(&["run", "logs", "far"]).done().out;
    assert!(lines.contains("on 1") && lines.contains("done"), "{lines}");
    assert_eq!(listed(&world)[0]["capacity"], 2);
    let table = world.ordo(&["executors"]).done().out;
    assert!(table.contains("w1") && table.contains("gpu"), "{table}");
    assert_eq!(worker.stop(), 0);
    eventually("it said goodbye", || listed(&world).is_empty().then_some(()));
}

#[test]
fn what_is_running_is_finished_before_the_executor_leaves() {
    let world = World::new();
    let daemon = world.serve();
    let worker = Worker::ordo(&world, &daemon, &["--group", "gpu"]);
    world.ordo(&["job", "add", "slow", "--group", "gpu", "--", "sh", "-c", "touch begun; sleep 1; echo bye"]).done();
    world.ordo(&["job", "trigger", "slow"]).done();
    eventually("it runs", || world.file("begun").exists().then_some(()));
    assert_eq!(worker.stop(), 0);
    assert_eq!(over(&world, "slow")["status"]["type"], "completed");
}

#[test]
fn a_run_elsewhere_is_cancelled_and_its_processes_end() {
    let world = World::new();
    let daemon = world.serve();
    let _worker = Worker::ordo(&world, &daemon, &["--group", "gpu"]);
    world.ordo(&["job", "add", "hang", "--group", "gpu", "--", "sh", "-c", "echo $$ > pid; sleep 64"]).done();
    world.ordo(&["job", "trigger", "hang"]).done();
    let pid: i32 = eventually("it runs", || world.read("pid").trim().parse().ok());
    let run = world.runs("hang").remove(0);
    world.ordo(&["run", "cancel", run["id"].as_str().unwrap()]).done();
    assert_eq!(over(&world, "hang")["status"]["type"], "cancelled");
    eventually("its process is gone", || crate::common::is_gone(pid).then_some(()));
}

#[test]
fn a_restart_of_the_daemon_alone_costs_no_run() {
    let world = World::new();
    let daemon = world.serve_lastingly(&[]);
    let listen = daemon.place.trim_start_matches("http://").to_owned();
    let _worker = Worker::ordo(&world, &daemon, &["--group", "gpu"]);
    world.ordo(&["job", "add", "long", "--group", "gpu", "--", "sh", "-c", "touch begun; sleep 4; echo ok"]).done();
    world.ordo(&["job", "trigger", "long"]).done();
    eventually("it runs", || world.file("begun").exists().then_some(()));
    daemon.kill();
    let _daemon = world.serve_on(&listen, &[]);
    assert_eq!(alive(&world), 1, "it is remembered");
    let run = over(&world, "long");
    assert_eq!((run["status"]["type"].as_str(), run["attempt"].as_u64()), (Some("completed"), Some(1)));
}

#[test]
fn a_broadcast_runs_once_on_every_executor_with_its_share() {
    let world = World::new();
    let daemon = world.serve();
    let _workers: Vec<Worker> =
        ["a", "b", "c"].map(|name| Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", name])).into();
    eventually("all are there", || (alive(&world) == 3).then_some(()));
    let script = "echo $ORDO_SHARD_INDEX/$ORDO_SHARD_TOTAL >> shards";
    let add = ["job", "add", "all", "--group", "gpu", "--routing", "sharding_broadcast", "--", "sh", "-c", script];
    world.ordo(&add).done();
    world.ordo(&["job", "trigger", "all"]).done();
    let whole = eventually("all shards are done", || {
        let runs = world.runs("all");
        runs.into_iter().find(|run| run["parent_id"].is_null() && run["status"]["type"] == "completed")
    });
    let written = world.read("shards");
    let mut shards: Vec<&str> = written.lines().collect();
    shards.sort_unstable();
    assert_eq!(shards, ["0/3", "1/3", "2/3"]);
    let children = world.runs("all").into_iter().filter(|run| run["parent_id"] == whole["id"]).count();
    assert_eq!(children, 3);
}

#[test]
fn what_a_webhook_brought_reaches_the_tool_elsewhere() {
    let world = World::new();
    let daemon = world.serve();
    let _worker = Worker::ordo(&world, &daemon, &["--group", "gpu"]);
    world.ordo(&["hook", "add", "push"]).done();
    let script = r#"echo "$ORDO_HOOK_SLUG $ORDO_HOOK_HEADER_X_EVENT ${TRACEPARENT%%-*}" > told; cat > body"#;
    world.ordo(&["job", "add", "deploy", "--group", "gpu", "--on-hook", "push", "--", "sh", "-c", script]).done();
    let body = b"\xff\x00 not a text";
    let address = daemon.place.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!(
        "POST /hooks/push HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Event: tag\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 202"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(over(&world, "deploy")["status"]["type"], "completed");
    assert_eq!(world.read("told"), "push tag 00\n");
    assert_eq!(std::fs::read(world.file("body")).unwrap(), body);
}

#[test]
fn one_that_is_asked_to_leave_finishes_its_run_and_ends() {
    let world = World::new();
    let daemon = world.serve();
    let mut worker = Worker::ordo(&world, &daemon, &["--group", "gpu"]);
    world.ordo(&["job", "add", "slow", "--group", "gpu", "--", "sh", "-c", "touch begun; sleep 2; echo bye"]).done();
    world.ordo(&["job", "trigger", "slow"]).done();
    eventually("it runs", || world.file("begun").exists().then_some(()));
    let path = format!("/v1/executors/{}/drain", listed(&world)[0]["id"].as_str().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(world.client().post_empty::<Value>(&path)).unwrap();
    assert_eq!(eventually("it has ended", || worker.child.try_wait().unwrap()).code(), Some(0));
    assert_eq!(over(&world, "slow")["status"]["type"], "completed");
    eventually("it said goodbye", || listed(&world).is_empty().then_some(()));
}

#[test]
fn an_executor_that_is_asked_to_leave_ends_although_its_server_is_gone() {
    let world = World::new();
    let daemon = world.serve();
    let worker = Worker::ordo(&world, &daemon, &["--group", "gpu", "--grace", "1s"]);
    eventually("it is there", || (alive(&world) == 1).then_some(()));
    world.ordo(&["job", "add", "hang", "--group", "gpu", "--", "sh", "-c", "echo >> begun; sleep 300"]).done();
    world.ordo(&["job", "trigger", "hang"]).done();
    eventually("it runs", || world.file("begun").exists().then_some(()));
    daemon.kill();
    // Nobody takes the report of what it ends.
    assert_eq!(worker.stop(), 0);
}
