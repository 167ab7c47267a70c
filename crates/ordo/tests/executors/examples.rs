//! The workers in `examples/` do what they promise.

use std::process::Command;

use crate::common::{Daemon, World};
use crate::{Worker, over, token};

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
