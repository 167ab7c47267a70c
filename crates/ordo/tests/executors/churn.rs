//! Three executors that come and go while work flows: every run comes to one end, and none is done twice.
//!
//! ORDO_CHURN_TURNS makes it longer than the few turns of an ordinary test run.

use std::collections::BTreeMap;

use crate::common::World;
use crate::{Worker, eventually};

#[test]
fn executors_come_and_go_and_no_run_is_lost_or_doubled() {
    let turns: usize = std::env::var("ORDO_CHURN_TURNS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let world = World::new();
    let daemon = world.serve();
    let start = |n: usize| Worker::ordo(&world, &daemon, &["--group", "gpu", "--name", &format!("w{n}")]);
    let mut workers: Vec<Worker> = (0..3).map(start).collect();
    let add =
        ["job", "add", "flow", "--every", "100ms", "--concurrent", "20", "--group", "gpu", "--retain-runs", "9999"];
    world.ordo(&[&add[..], &["--", "sh", "-c", "echo $ORDO_RUN_ID >> done; sleep 0.1"]].concat()).done();
    let done = || world.read("done").lines().count();
    for turn in 1..=turns {
        let before = done();
        eventually("the work flows", || (done() >= before + 5).then_some(()));
        let leaver = workers.remove(0);
        // Every third dies without a word.
        if turn % 3 == 0 {
            leaver.kill();
        } else {
            assert_eq!(leaver.stop(), 0);
        }
        workers.push(start(2 + turn));
    }
    world.ordo(&["job", "pause", "flow"]).done();
    let runs = eventually("every run is over", || {
        let runs = world.runs("flow");
        let over = |status: &str| !["pending", "running"].contains(&status);
        runs.iter().all(|run| over(run["status"]["type"].as_str().unwrap())).then_some(runs)
    });
    let mut effects: BTreeMap<String, usize> = BTreeMap::new();
    for line in world.read("done").lines() {
        *effects.entry(line.to_owned()).or_default() += 1;
    }
    assert!(effects.values().all(|count| *count == 1), "done twice: {effects:?}");
    for run in &runs {
        let done = effects.contains_key(run["id"].as_str().unwrap());
        match run["status"]["type"].as_str().unwrap() {
            "completed" => assert!(done, "said to be done and was not: {run}"),
            // Of one that died either the executor is missed first, or the run in its heartbeats.
            "failed" => {
                let reason = run["status"]["reason"].as_str().unwrap();
                assert!(reason.contains("was lost") || reason.contains("no longer has the run"), "{run}");
            }
            "skipped" => {}
            other => panic!("{other}: {run}"),
        }
    }
    assert!(runs.iter().filter(|run| run["status"]["type"] == "completed").count() > 10);
}
