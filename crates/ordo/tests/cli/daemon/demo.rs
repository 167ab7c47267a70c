//! `ordo demo`: a fleet to look at, sound to the last event, and nothing left of it.

use std::ffi::OsStr;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Daemon, PATIENCE, Ran, World, eventually};

/// The demo that was started in a world, and its own folder.
struct RunningDemo {
    world: World,
    daemon: Daemon,
}

impl RunningDemo {
    /// On a machine that is set up for something else.
    fn start() -> RunningDemo {
        let world = World::new();
        world.write("ordo.toml", "[nonsense]\nthis = 'is not for the demo'\n");
        let mut command = world.command(&["demo", "--listen", "127.0.0.1:0"]);
        command.env("TMPDIR", world.path()).env("ORDO_STORE__PATH", "postgres://production.example.com/ordo");
        // A week in a build for tests, beside other tests.
        RunningDemo { daemon: Daemon::start_within(PATIENCE * 6, command), world }
    }

    fn folders(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.world.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir() && path.file_name().is_some_and(is_of_the_demo)).collect()
    }

    fn ordo(&self, args: &[&str]) -> Ran {
        let folders = self.folders();
        let [folder] = folders.as_slice() else { panic!("{folders:?}") };
        self.world.command(args).current_dir(folder).output().unwrap().into()
    }

    fn list(&self, args: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = ["--output", "json"].iter().chain(args).copied().collect();
        self.ordo(&args).done().json().as_array().unwrap().clone()
    }
}

#[test]
fn the_demo_shows_a_fleet_with_a_past_and_leaves_nothing() {
    let demo = RunningDemo::start();
    demo.daemon.wait_for("/login?token=");
    a_fleet_with_a_past(&demo);
    it_goes_on(&demo);
    let check = demo.ordo(&["store", "check"]);
    assert!(check.done().out.contains("clean"), "the history is what an engine would have written");
    demo.daemon.signal(Signal::INT);
    let (code, said) = demo.daemon.end();
    assert_eq!(code, 0, "{said}");
    let left: Vec<_> = std::fs::read_dir(demo.world.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["ordo.toml"]);
}

/// Other temporary folders may come and go beside it.
fn is_of_the_demo(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("ordo-demo-")
}

fn title(incident: &Value) -> &str {
    incident["title"].as_str().unwrap()
}

fn a_fleet_with_a_past(demo: &RunningDemo) {
    let labels: Vec<Value> = demo.list(&["job", "list", "--all"]).iter().map(|job| job["label"].clone()).collect();
    assert!(labels.len() >= 15 && labels.contains(&"nightly-backup".into()), "{labels:?}");
    let nights = demo.list(&["run", "list", "--job", "nightly-backup", "--all"]);
    let statuses: Vec<&str> = nights.iter().map(|run| run["status"]["type"].as_str().unwrap()).collect();
    assert!(statuses.len() >= 7 && statuses.contains(&"failed") && statuses[0] == "completed", "{statuses:?}");
    let incidents = demo.list(&["incident", "list"]);
    let open = incidents.iter().find(|incident| title(incident).starts_with("settle-payments failed")).unwrap();
    assert_eq!((open["severity"].as_str(), open["assignee"].as_str()), (Some("sev1"), Some("grace")), "{open}");
    let resolved = demo.list(&["incident", "list", "--status", "resolved"]);
    assert!(resolved.iter().any(|incident| title(incident).starts_with("nightly-backup failed")), "{resolved:?}");
    let refreshed = demo.list(&["run", "list", "--job", "refresh-dashboards", "--limit", "50"]);
    assert!(refreshed.len() > 30, "chains ran: {}", refreshed.len());
    assert_eq!(demo.list(&["hook", "list"]).len(), 2);
    let monitors = demo.list(&["monitor", "list"]);
    assert!(monitors.iter().any(|monitor| monitor["status"] == "silent"), "{monitors:?}");
}

/// Its executors are there, its jobs run on, and a job of one's own really runs.
fn it_goes_on(demo: &RunningDemo) {
    eventually("the executors are there", || {
        let there = demo.list(&["executors"]);
        there.iter().any(|one| one["name"] == "payments-eu").then_some(())
    });
    let fired =
        |demo: &RunningDemo| demo.list(&["run", "list", "--job", "checkout-canary", "--limit", "1"])[0]["id"].clone();
    let before = fired(demo);
    eventually("the canary ran again", || (fired(demo) != before).then_some(()));
    demo.ordo(&["job", "add", "hello", "--every", "1h", "--", "echo", "hi from $0"]).done();
    let run = demo.ordo(&["job", "trigger", "hello", "--wait"]).done();
    assert!(run.out.contains("hi from $0"), "{run:?}");
}
