//! What cannot be undone is asked of a person first; a program meant what it said.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::World;

/// The command in a terminal of its own: what it showed, and whether it succeeded.
fn in_a_terminal(world: &World, args: &[&str], typed: &str) -> (bool, String) {
    let ordo = world.command(args);
    let words = std::iter::once(ordo.get_program()).chain(ordo.get_args());
    let line = words.map(|word| format!("'{}'", word.to_string_lossy())).collect::<Vec<_>>().join(" ");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in ordo.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    if let Some(folder) = ordo.get_current_dir() {
        script.current_dir(folder);
    }
    let mut child = script.spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    (ended.status.success(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn a_job_is_cancelled_on_a_terminal_only_after_a_yes() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "keep", "--every", "1d", "--", "true"]).done();
    let state = || world.json(&["job", "show", "keep"])["state"].as_str().unwrap().to_owned();
    let (done, shown) = in_a_terminal(&world, &["job", "cancel", "keep"], "n\n");
    assert!(!done && shown.contains("Cancel keep") && shown.contains("nothing was changed"), "{shown}");
    assert_eq!(state(), "active");
    let (done, shown) = in_a_terminal(&world, &["job", "cancel", "keep"], "y\n");
    assert!(done, "{shown}");
    assert_eq!(state(), "cancelled");
    world.ordo(&["job", "add", "other", "--every", "1d", "--", "true"]).done();
    let (done, shown) = in_a_terminal(&world, &["job", "cancel", "other", "--yes"], "");
    assert!(done && !shown.contains("[y/N]"), "{shown}");
    // A program is not asked.
    world.ordo(&["job", "add", "third", "--every", "1d", "--", "true"]).done();
    world.ordo(&["job", "cancel", "third"]).done();
}

/// How it is made, and how it is removed.
const REMOVED: [(&[&str], &[&str]); 6] = [
    (&["hook", "add", "deploy"], &["hook", "remove", "deploy"]),
    (&["monitor", "add", "nightly", "--every", "1d"], &["monitor", "remove", "nightly"]),
    (&["token", "add", "ci", "--role", "viewer"], &["token", "revoke", "ci"]),
    (&["channel", "add", "ops", "--kind", "webhook", "--url", "https://example.com/x"], &["channel", "remove", "ops"]),
    (&["secret", "set", "pg", "--value-file", "value"], &["secret", "remove", "pg"]),
    (&["escalation", "add", "night", "--step", "anna"], &["escalation", "remove", "night"]),
];

#[test]
fn what_is_removed_on_a_terminal_is_removed_after_a_yes() {
    let world = World::new();
    let _daemon = world.serve();
    world.write("value", "x");
    for (add, remove) in REMOVED {
        world.ordo(add).done();
        let (done, shown) = in_a_terminal(&world, remove, "n\n");
        assert!(!done && shown.contains("[y/N]") && shown.contains("nothing was changed"), "{remove:?}: {shown}");
        let (done, shown) = in_a_terminal(&world, remove, "y\n");
        assert!(done, "{remove:?}: {shown}");
        let (_, shown) = in_a_terminal(&world, &[remove, &["--yes"]].concat(), "");
        assert!(!shown.contains("[y/N]"), "{remove:?}: {shown}");
    }
}
