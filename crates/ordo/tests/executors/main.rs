//! Executors elsewhere, kept by the real binary: work goes out and comes back, whoever dies in between.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod churn;
mod examples;
mod killed;
mod prompt;
mod tls;
mod working;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Daemon, World};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A lease is 15 s, and the machine may be busy.
const LONG: Duration = Duration::from_secs(60);

/// A process that works for a daemon. Killed when dropped.
struct Worker {
    child: Child,
}

impl Worker {
    fn start(mut command: Command) -> Worker {
        Worker { child: command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap() }
    }

    /// `ordo executor`, with these arguments.
    fn ordo(world: &World, daemon: &Daemon, args: &[&str]) -> Worker {
        let all: Vec<&str> = ["--server", &daemon.place, "executor"].iter().chain(args).copied().collect();
        let mut command = world.command(&all);
        command.env("ORDO_TOKEN", token(world));
        Worker::start(command)
    }

    /// Waits for the line that says that it works.
    fn start_and_listen(mut command: Command, line: &str) -> Worker {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines().next();
        assert_eq!(said.unwrap().unwrap(), line);
        Worker { child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Asks it to leave and waits for its end.
    fn stop(mut self) -> i32 {
        self.signal(Signal::TERM);
        eventually("the worker has left", || self.child.try_wait().unwrap()).code().unwrap_or(-1)
    }

    fn kill(self) {
        self.signal(Signal::KILL);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token(world: &World) -> String {
    world.read(".ordo/token").trim().to_owned()
}

/// Those that are listed, besides the daemon's own one.
fn listed(world: &World) -> Vec<Value> {
    let all = world.json(&["executors"]).as_array().unwrap().clone();
    all.into_iter().filter(|executor| executor["in_process"] == false).collect()
}

fn alive(world: &World) -> usize {
    listed(world).iter().filter(|executor| executor["state"] == "alive").count()
}

/// Asks again for longer than a lease.
#[track_caller]
fn eventually<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    common::within(LONG, what, ask)
}

/// The newest run of a job, once it is over.
#[track_caller]
fn over(world: &World, job: &str) -> Value {
    eventually(&format!("{job} is over"), || {
        let run = world.runs(job).into_iter().next()?;
        (!["pending", "running"].contains(&run["status"]["type"].as_str()?)).then_some(run)
    })
}
