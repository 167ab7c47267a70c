//! Runs: their logs, their ends, and what they see of the world.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::json;

use crate::common::{World, eventually, is_gone};

#[test]
fn a_log_is_followed_while_it_is_written() {
    let world = World::new();
    let _daemon = world.serve();
    // Each line is printed only after the one before was seen: nothing is held back until the end.
    let script = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; echo oops >&2";
    world.ordo(&["job", "add", "talk", "--", "sh", "-c", script]).done();
    world.ordo(&["job", "trigger", "talk"]).done();
    let mut follower =
        world.command(&["run", "logs", "-f", "talk"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    world.write("go", "");
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    assert!(lines.next().is_none(), "it ends with the run");
    let ended = follower.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()), (Some(0), "oops\n"));
    let stamped = world.ordo(&["run", "logs", "talk", "--timestamps"]).done().out;
    assert!(stamped.starts_with("20") && stamped.contains("Z one\n"), "{stamped}");
    let data = world.ordo(&["run", "logs", "talk", "-o", "ndjson"]).done().out;
    assert!(data.contains(r#""stream":"stderr""#), "{data}");
}

#[test]
fn whoever_follows_learns_when_the_daemon_goes_away() {
    let world = World::new();
    let daemon = world.serve_with(&["--grace", "10ms"]);
    world.ordo(&["job", "add", "talk", "--", "sh", "-c", "echo one; sleep 65"]).done();
    world.ordo(&["job", "trigger", "talk"]).done();
    let mut follower = world.command(&["run", "logs", "-f", "talk"]);
    let mut follower = follower.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    daemon.kill();
    let ended = crate::common::Ran::from(follower.wait_with_output().unwrap());
    ended.refused(3, &["no daemon is running"]);
}

#[test]
fn a_cancelled_run_is_stopped_with_all_it_started() {
    let world = World::new();
    let _daemon = world.serve();
    let script = "sleep 61 & echo $! > child; wait";
    world.ordo(&["job", "add", "nest", "--", "sh", "-c", script]).done();
    world.ordo(&["job", "trigger", "nest"]).done();
    let child = eventually("the child runs", || world.read("child").trim().parse::<i32>().ok());
    world.ordo(&["run", "cancel", "nest"]).done();
    let run = world.over("nest");
    assert_eq!(run["status"]["type"], "cancelled");
    eventually("the child is gone", || is_gone(child).then_some(()));
    world.ordo(&["run", "cancel", "nest"]).refused(1, &["[run_over]"]);
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "slow", "--timeout", "200ms", "--", "sleep", "60"]).done();
    world.ordo(&["job", "trigger", "slow", "--wait"]).refused(1, &["failed slow", "timed out after 200ms"]);
}

#[test]
fn a_failed_run_is_tried_again_as_often_as_asked() {
    let world = World::new();
    let _daemon = world.serve();
    let script = "echo $ORDO_ATTEMPT >> tries; [ $ORDO_ATTEMPT = 3 ]";
    world.ordo(&["job", "add", "flaky", "--retry", "2", "--backoff", "50ms", "--", "sh", "-c", script]).done();
    world.ordo(&["job", "trigger", "flaky", "--wait"]).done();
    assert_eq!(world.read("tries"), "1\n2\n3\n");
    let run = world.json(&["run", "show", "flaky"]);
    assert_eq!((&run["attempt"], run["errors"].as_array().unwrap().len()), (&json!(3), 2));
    world.ordo(&["job", "add", "hopeless", "--retry", "1", "--backoff", "20ms", "--", "false"]).done();
    world.ordo(&["job", "trigger", "hopeless", "--wait"]).refused(1, &["exit code 1"]);
    assert_eq!(world.json(&["run", "show", "hopeless"])["attempt"], 2);
}

#[test]
fn a_finished_run_can_be_run_once_more() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "again", "--", "echo", "x"]).done();
    world.ordo(&["job", "trigger", "again", "--wait", "--input", r#"{"command": "echo", "args": ["special"]}"#]).done();
    let first = world.over("again")["id"].clone();
    let output = world.ordo(&["run", "retry", "again"]).done().out;
    assert!(output.contains("once more: run "), "{output}");
    eventually("the second is over", || {
        let runs = world.runs("again");
        (runs.len() == 2 && runs[0]["status"]["type"] == "completed").then_some(())
    });
    let second = &world.runs("again")[0];
    assert_eq!(second["cause"], json!({"type": "retry", "of": first}));
    assert_eq!(world.ordo(&["run", "logs", "again"]).done().out, "special\n");
}

#[test]
fn runs_are_found_by_status_and_time() {
    let world = World::new();
    let _daemon = world.serve();
    for (label, command) in [("good", "true"), ("bad", "false")] {
        world.ordo(&["job", "add", label, "--", command]).done();
        world.ordo(&["job", "trigger", label, "--wait"]);
    }
    let failed = world.json(&["run", "list", "--status", "failed"]);
    assert_eq!((failed.as_array().unwrap().len(), &failed[0]["label"]), (1, &json!("bad")));
    assert_eq!(world.json(&["run", "list", "--since", "1h"]).as_array().unwrap().len(), 2);
    assert_eq!(world.json(&["run", "list", "--since", "2126-01-01T00:00:00Z"]), json!([]));
    world.ordo(&["run", "list", "--status", "odd"]).refused(1, &["pending, running"]);
    world.ordo(&["run", "show", "019b0000-0000-7000-8000-000000000000"]).refused(1, &["[run_not_found]"]);
}

#[test]
fn a_missing_program_fails_its_run_and_says_which() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "typo", "--", "no-such-program"]).done();
    world.ordo(&["job", "trigger", "typo", "--wait"]).refused(1, &["failed typo", "no-such-program"]);
}

#[test]
fn output_that_is_no_text_is_kept_readable() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "noise", "--", "printf", r"a\377\200b\n"]).done();
    world.ordo(&["job", "trigger", "noise", "--wait"]).done();
    let logs = world.ordo(&["run", "logs", "noise"]).done().out;
    assert!(logs.starts_with('a') && logs.ends_with("b\n"), "{logs:?}");
    let shown = world.json(&["run", "show", "noise"]);
    assert_eq!(shown["status"]["type"], "completed");
}

#[test]
fn a_command_sees_its_attempt_but_no_secret_of_the_daemon() {
    let world = World::new();
    let mut serve = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("ORDO_TOKEN", "hunter2").env("ORDO_SERVE__GRACE", "1s").env("PLAIN", "kept").env("HIDDEN", "away");
    serve.env("ORDO_TOOLS__SHELL__ENVIRONMENT", "PLAIN");
    let _daemon = crate::common::Daemon::start(serve);
    let job = world.json(&["job", "add", "env", "--", "env"]);
    world.ordo(&["job", "trigger", "env", "--wait"]).done();
    let seen = world.ordo(&["run", "logs", "env"]).done().out;
    assert!(!seen.contains("hunter2") && !seen.contains("ORDO_TOKEN") && !seen.contains("ORDO_SERVE"), "{seen}");
    assert!(!seen.contains("HIDDEN"), "only what is named is handed on: {seen}");
    for expected in
        [format!("ORDO_JOB_ID={}", job["id"].as_str().unwrap()), "ORDO_ATTEMPT=1".into(), "PLAIN=kept".into()]
    {
        assert!(seen.contains(&expected), "{expected}: {seen}");
    }
    assert!(seen.contains("ORDO_RUN_ID=") && seen.contains("ORDO_FENCE="), "{seen}");
}

#[test]
fn an_input_may_come_from_a_file_or_from_standard_input() {
    let world = World::new();
    let _daemon = world.serve();
    world.write("input.json", r#"{"command": "echo", "args": ["from a file"]}"#);
    world.ordo(&["job", "add", "f", "--tool", "shell", "--input", "@input.json"]).done();
    assert_eq!(world.ordo(&["job", "trigger", "f", "--wait"]).done().out, "from a file\n");
    let mut piped = world.command(&["job", "trigger", "f", "--wait", "--input", "@-"]);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    piped.stdin.take().unwrap().write_all(br#"{"script": "echo piped"}"#).unwrap();
    assert_eq!(piped.wait_with_output().unwrap().stdout, b"piped\n");
}
