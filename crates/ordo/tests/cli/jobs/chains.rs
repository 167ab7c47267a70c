//! Chains and unique keys, on the real binary.

use crate::common::{World, eventually};

#[test]
fn a_chain_goes_on_with_the_results_also_after_a_crash() {
    let world = World::new();
    let daemon = world.serve();
    world.ordo(&["job", "add", "extract", "--", "sh", "-c", "echo 42 rows"]).done();
    world.ordo(&["job", "add", "check", "--", "true"]).done();
    let load =
        ["job", "add", "load", "--after", "extract", "--after", "check", "--", "sh", "-c", "cat > input; echo ok"];
    let added = world.ordo(&load).done().out;
    assert!(added.contains("runs when all of 2 jobs have completed"), "{added}");
    let shown = world.ordo(&["job", "show", "load"]).done().out;
    assert!(shown.contains("\"mode\":\"all\"") && !shown.contains("by hand"), "{shown}");
    let alarm = ["job", "add", "alarm", "--after", "load", "--after-on", "failure", "--", "touch", "alarmed"];
    world.ordo(&alarm).done();
    world.ordo(&["job", "trigger", "extract"]).done();
    world.over("extract");
    // What has come is remembered when the daemon dies.
    daemon.kill();
    let daemon = world.serve();
    world.ordo(&["job", "trigger", "check"]).done();
    let run = world.over("load");
    assert_eq!(run["status"]["type"], "completed", "{run:#}");
    let input: serde_json::Value = serde_json::from_str(&world.read("input")).unwrap();
    assert_eq!((&input[0]["label"], &input[1]["label"]), (&"extract".into(), &"check".into()));
    assert_eq!(input[0]["result"]["output"], "42 rows");
    assert!(world.ordo(&["run", "show", "load"]).done().out.contains("the end of run"));
    assert!(!world.file("alarmed").exists());
    world.ordo(&["job", "update", "load", "--", "false"]).done();
    for job in ["extract", "check"] {
        world.ordo(&["job", "trigger", job]).done();
    }
    eventually("the alarm was raised", || world.file("alarmed").exists().then_some(()));
    world.ordo(&["job", "update", "extract", "--after", "alarm"]).refused(1, &["ring"]);
    assert_eq!(daemon.stop().0, 0);
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
}

#[test]
fn a_unique_key_refuses_the_second_job_and_run_or_answers_with_the_first() {
    let world = World::new();
    let _daemon = world.serve();
    let add = |key: &str| world.ordo(&["job", "add", "once", "--unique-key", key, "--", "true"]);
    let first = add("label:1h").done().out;
    add("label:1h").refused(1, &["unique_key_taken"]);
    assert_eq!(add("label:1h:merge").done().out, first, "the first one is answered");
    world.ordo(&["job", "trigger", "once"]).done();
    world.ordo(&["job", "trigger", "once"]).refused(1, &["unique_key_taken"]);
}
