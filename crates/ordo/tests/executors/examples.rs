//! The workers in `examples/` do what they promise.

use std::process::Command;

use rustix::process::Signal;

use crate::common::{Daemon, World};
use crate::{Worker, eventually, over, token};

fn example(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

#[track_caller]
fn does(world: &World, job: &[&str], result: &serde_json::Value) {
    world.ordo(&[&["job", "add"], job].concat()).done();
    world.ordo(&["job", "trigger", job[0]]).done();
    let run = over(world, job[0]);
    assert_eq!(&run["status"]["result"], result, "{run}");
    assert!(world.ordo(&["run", "logs", job[0]]).done().out.contains("working"));
}

fn worker(world: &World, daemon: &Daemon, mut command: Command) -> Command {
    command.arg(&daemon.place).current_dir(world.path()).env("ORDO_TOKEN", token(world));
    command
}

#[test]
fn the_worker_in_python() {
    let world = World::new();
    let daemon = world.serve();
    let mut python = Command::new("python3");
    python.arg(example("worker.py"));
    let worker = Worker::start_and_listen(worker(&world, &daemon, python), "ready");
    let job = ["greet", "--group", "python", "--tool", "greet", "--input", r#"{"name": "Ada"}"#];
    does(&world, &job, &serde_json::json!({ "greeting": "Hello Ada, attempt 1" }));
    assert_eq!(worker.stop(), 0);
}

#[test]
fn the_worker_in_rust() {
    let world = World::new();
    let daemon = world.serve();
    // Examples are built beside the tests.
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/worker");
    let worker = Worker::start(worker(&world, &daemon, Command::new(program)));
    let job = ["shout", "--group", "rust", "--tool", "shout", "--input", r#"{"text": "hello"}"#];
    does(&world, &job, &serde_json::json!({ "text": "HELLO" }));
    assert_eq!(worker.stop(), 0);
}

/// Work that takes a minute, unless it is told to stop.
fn begin_slow(world: &World) {
    world.ordo(&["job", "trigger", "slow"]).done();
    eventually("it runs", || (world.runs("slow").first()?["status"]["type"] == "running").then_some(()));
}

#[test]
fn the_worker_in_python_outlives_the_server_and_stops_what_is_cancelled_or_lost() {
    let world = World::new();
    let listen =
        format!("127.0.0.1:{}", std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port());
    let serve = || Daemon::start(world.command(&["serve", "--listen", &listen, "--tick-rate", "500ms"]));
    let daemon = serve();
    let mut python = Command::new("python3");
    python.arg(example("worker.py"));
    let worker = Worker::start_and_listen(worker(&world, &daemon, python), "ready");
    let job = ["job", "add", "slow", "--group", "python", "--tool", "greet", "--input", r#"{"seconds": 600}"#];
    world.ordo(&job).done();

    // The server dies under a run: the worker goes on with it, and is told later to stop.
    begin_slow(&world);
    daemon.kill();
    let daemon = serve();
    eventually("the worker is heard of again", || (crate::alive(&world) == 1).then_some(()));
    assert_eq!(world.runs("slow")[0]["status"]["type"], "running");
    world.ordo(&["run", "cancel", "slow"]).done();
    assert_eq!(over(&world, "slow")["status"]["type"], "cancelled");

    // The worker hangs for longer than its lease: the run is not its own any more, and it goes on with other work.
    begin_slow(&world);
    worker.signal(Signal::STOP);
    let lost = over(&world, "slow");
    assert!(lost["status"]["reason"].as_str().unwrap().contains("lost"), "{lost}");
    worker.signal(Signal::CONT);
    let job = ["greet", "--group", "python", "--tool", "greet", "--input", r#"{"name": "Ada"}"#];
    does(&world, &job, &serde_json::json!({ "greeting": "Hello Ada, attempt 1" }));
    assert_eq!(world.runs("slow").len(), 2, "nothing was reported for what was lost");
    assert_eq!(worker.stop(), 0);
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn a_fleet_shares_a_broadcast() {
    let world = World::new();
    let daemon = world.serve();
    let program = std::env::current_exe().unwrap().parent().unwrap().join("../examples/worker_fleet");
    let ran = worker(&world, &daemon, Command::new(program)).arg("3").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && said.contains("the broadcast completed"), "{ran:?}");
    for share in ["[0,3,6,9]", "[1,4,7,10]", "[2,5,8,11]"] {
        assert_eq!(said.matches(&format!("warmed {share}")).count(), 1, "{said}");
    }
}

/// A script of `examples/`, with `ordo` in its path.
fn script(world: &World, daemon: &Daemon, name: &str, args: &[&str]) -> String {
    let programs = world.file("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let ordo = programs.join("ordo");
    if !ordo.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ordo"), ordo).unwrap();
    }
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(example(name));
    command.args(args).current_dir(world.path()).env("PATH", path).env("ORDO_URL", &daemon.place);
    command.env_remove("ORDO_TOKEN").env_remove("ORDO_SERVER");
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[test]
fn the_nightly_backup_is_made_and_its_monitor_hears_of_it() {
    let world = World::new();
    let daemon = world.serve();
    for folder in ["data", "backup"] {
        std::fs::create_dir(world.file(folder)).unwrap();
    }
    world.write("data/one", "1");
    world.write("data/two", "2");
    let said = script(&world, &daemon, "nightly_backup.sh", &["--play", "data", "backup"]);
    assert!(said.contains("2 files in ") && said.contains("status      up"), "{said}");
    assert_eq!(std::fs::read_dir(world.file("backup")).unwrap().count(), 1);
    // Set up twice it is there once.
    script(&world, &daemon, "nightly_backup.sh", &["data", "backup"]);
    assert_eq!(world.json(&["job", "list"]).as_array().unwrap().len(), 1);
    // What cannot be backed up fails the run and the monitor.
    std::fs::rename(world.file("data"), world.file("elsewhere")).unwrap();
    world.ordo(&["job", "update", "nightly-backup", "--retry", "0"]).done();
    world.ordo(&["job", "trigger", "nightly-backup", "--wait"]);
    assert_eq!(over(&world, "nightly-backup")["status"]["type"], "failed");
    assert_eq!(world.json(&["monitor", "show", "nightly-backup"])["status"], "failing");
}

#[test]
fn a_push_to_github_deploys_once() {
    let world = World::new();
    let daemon = world.serve();
    world.write("deploy.sh", "#!/bin/sh\necho \"deploying for $ORDO_HOOK_HEADER_X_GITHUB_EVENT\"\n");
    std::fs::set_permissions(world.file("deploy.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let said = script(&world, &daemon, "github_deploy.sh", &["--play", "./deploy.sh"]);
    for line in ["first to main: 202", "second to experiment: 202", "third to main: 401", "deploying for push"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(world.runs("deploy").len(), 1, "{said}");
}
