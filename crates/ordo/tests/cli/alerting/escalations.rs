//! Escalation chains on the real binary: added while it runs, used by the next incident, still there after it was killed.

use crate::common::World;

#[test]
fn a_chain_is_added_used_and_outlives_the_daemon() {
    let world = World::new();
    world.write("ordo.toml", "[escalation.day]\nsteps = [{ notify = 'anna' }]\n");
    let daemon = world.serve();
    let step = ["--step", "#on-call via slack", "--step", "15m lead@example.org via email"];
    let add: Vec<&str> = ["escalation", "add", "night"].into_iter().chain(step).collect();
    world.ordo(&add).done();
    world.ordo(&add).refused(1, &["[escalation_exists]"]);
    world.ordo(&["escalation", "add", "day", "--step", "ben"]).refused(1, &["the configuration has a chain"]);
    world.ordo(&["escalation", "add", "odd", "--step", "15m"]).refused(2, &["is not a step"]);
    let listed = world.ordo(&["escalation", "list"]).done().out;
    for words in ["day", "configuration", "night", "lead@example.org", "15m", "store"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let started = world.json(&["incident", "start", "down", "--escalation", "night"]);
    assert_eq!(started["escalation"]["policy"]["steps"][1]["notify"], "lead@example.org");
    daemon.kill();

    let _daemon = world.serve();
    world.ordo(&["escalation", "update", "night"]).refused(2, &["what should change?"]);
    world.ordo(&["escalation", "update", "night", "--ack-timeout", "2h"]).done();
    let shown = world.ordo(&["escalation", "show", "night"]).done().out;
    for words in ["#on-call via slack", "15m lead@example.org via email", "2h"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    world.ordo(&["escalation", "remove", "day"]).refused(1, &["[escalation.day]"]);
    world.ordo(&["escalation", "remove", "night"]).done();
    world.ordo(&["incident", "start", "again", "--escalation", "night"]).refused(1, &["there is no escalation chain"]);
}
