//! A tool that is cancelled stops all it started before it returns.

use std::process::Command;

use ordo_engine::logs::LogLine;
use ordo_engine::tool::{Failure, Tool};
use ordo_model::LogStream;
use serde_json::{Value, json};

use crate::bench::{Bench, attempt, gone, in_time, is_alive, run, texts};

/// Starts a script, waits until it has printed `count` process numbers, stops it.
async fn stop_after(script: &str, count: usize) -> (Vec<i32>, Failure, Vec<LogLine>) {
    stop_on(&Bench::new(), script, count).await
}

async fn stop_on(bench: &Bench, script: &str, count: usize) -> (Vec<i32>, Failure, Vec<LogLine>) {
    let (work, mut log) = attempt(json!({"script": script}));
    let (cancel, shell) = (work.cancel.clone(), bench.shell());
    let running = tokio::spawn(async move { shell.run(work).await });
    let mut pids = Vec::new();
    for _ in 0..count {
        pids.push(log.next().await.parse().expect("a process number"));
    }
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    cancel.cancel();
    let failure = in_time(running).await.unwrap().unwrap_err();
    assert!(bench.records().is_empty());
    (pids, failure, log.lines())
}

#[tokio::test]
async fn grandchildren_are_stopped_too() {
    let (pids, failure, _) =
        stop_after("sleep 100 & echo $!; echo $$; sh -c 'sleep 100 & echo $!; sleep 100'", 3).await;
    assert_eq!(failure.reason, "stopped");
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
async fn a_command_may_tidy_up_when_it_is_stopped() {
    let (_, failure, log) = stop_after("trap 'echo tidy; exit 0' TERM; echo $$; while :; do sleep 0.05; done", 1).await;
    assert_eq!(failure.reason, "stopped");
    assert_eq!(texts(&log, LogStream::Stdout), ["tidy"]);
}

#[tokio::test]
async fn those_who_ignore_the_request_are_killed() {
    let (pids, failure, log) =
        stop_after("trap '' TERM; sh -c 'echo $$; sleep 100' & echo $$; wait; sleep 100", 2).await;
    assert_eq!(failure.reason, "stopped: killed, it did not end within 2s of TERM");
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    assert!(texts(&log, LogStream::System).contains(&"still running: KILL"));
}

#[tokio::test]
async fn a_member_that_outlives_its_leader_is_killed() {
    let (pids, failure, _) =
        stop_after("sh -c \"trap '' TERM; echo \\$\\$; while :; do sleep 100; done\" & wait", 1).await;
    assert!(failure.reason.starts_with("stopped: killed"));
    assert!(!is_alive(pids[0]));
}

/// Two sessions away, without an environment, and its parent is gone.
const ESCAPED: &str =
    "setsid env -i /bin/sh -c 'setsid sh -c \"echo \\$\\$; sleep 100; :\" & sleep 0.1' & wait; sleep 100";

#[tokio::test]
async fn those_who_left_the_group_and_threw_away_their_environment_are_found_too() {
    let (pids, failure, log) = stop_after(ESCAPED, 1).await;
    assert_eq!(failure.reason, "stopped", "they were asked like the others");
    assert!(!is_alive(pids[0]), "{log:?}");
}

#[tokio::test]
async fn those_who_escaped_and_ignore_the_request_are_killed() {
    let script = "setsid env -i /bin/sh -c 'trap \"\" TERM; echo $$; while :; do sleep 100; done' & wait";
    let (pids, failure, _) = stop_after(script, 1).await;
    assert!(failure.reason.starts_with("stopped: killed"), "{failure:?}");
    assert!(!is_alive(pids[0]));
}

#[tokio::test]
async fn in_a_cgroup_nobody_escapes_and_the_cgroup_is_gone_afterwards() {
    let Some(bench) = Bench::with_cgroups() else { return };
    let (work, mut log) = attempt(json!({"script": format!("cat /proc/self/cgroup; {ESCAPED}")}));
    let (cancel, shell) = (work.cancel.clone(), bench.shell());
    let run = work.run_id.to_string();
    let running = tokio::spawn(async move { shell.run(work).await });
    let mut own = None;
    let pid: i32 = loop {
        let line = log.next().await;
        match line.parse() {
            Ok(pid) => break pid,
            Err(_) => own = own.or(line.strip_prefix("0::").filter(|path| path.contains(&run)).map(str::to_owned)),
        }
    };
    let own = own.expect("the command is in a cgroup of its own");
    let is_there = || {
        std::fs::read_dir("/sys/fs/cgroup").unwrap().flatten().any(|entry| entry.path().join(&own[1..]).exists())
            || std::path::Path::new("/sys/fs/cgroup").join(&own[1..]).exists()
    };
    assert!(is_there());
    cancel.cancel();
    in_time(running).await.unwrap().unwrap_err();
    assert!(!is_alive(pid) && !is_there());
}

#[tokio::test]
async fn a_command_that_writes_without_end_can_be_stopped() {
    let bench = Bench::new();
    let (work, mut log) = attempt(json!({"command": "yes"}));
    let (cancel, shell) = (work.cancel.clone(), bench.shell());
    let running = tokio::spawn(async move { shell.run(work).await });
    assert_eq!(log.next().await, "y");
    cancel.cancel();
    assert_eq!(in_time(running).await.unwrap(), Err(Failure::new("stopped")));
}

#[tokio::test]
async fn what_is_stopped_before_it_starts_does_not_start() {
    let bench = Bench::new();
    let file = bench.folder.path().join("made");
    let (work, _log) = attempt(json!({"command": "touch", "args": [file]}));
    work.cancel.cancel();
    assert_eq!(bench.shell().run(work).await.unwrap_err().reason, "stopped before it was started");
    assert!(!file.exists());
}

#[tokio::test]
async fn a_run_that_is_dropped_kills_its_group() {
    let bench = Bench::new();
    let (work, mut log) = attempt(json!({"script": "sleep 100 & echo $!; wait"}));
    let shell = bench.shell();
    let running = tokio::spawn(async move { shell.run(work).await });
    let pid: i32 = log.next().await.parse().unwrap();
    running.abort();
    gone(pid).await;
}

#[tokio::test]
async fn what_a_command_leaves_running_is_ended_with_it() {
    let kept_open = "sleep 100 & echo $!";
    let silent = "sleep 100 >/dev/null 2>&1 & echo $!";
    let escaped = "setsid env -i sleep 100 >/dev/null 2>&1 & echo $!; sleep 0.1";
    for script in [kept_open, silent, escaped] {
        let (outcome, log) = Bench::new().run(json!({"script": script})).await;
        let outcome = outcome.unwrap();
        assert_eq!(outcome["exit_code"], 0, "the command itself succeeded: {script}");
        assert!(!is_alive(outcome["output"].as_str().unwrap().parse().unwrap()), "{script}");
        let said = texts(&log, LogStream::System);
        assert_eq!(said, ["the command has ended, but processes it started were still running: ended"], "{script}");
    }
}

#[tokio::test]
async fn what_ends_a_moment_after_its_command_may_finish() {
    let (outcome, log) = Bench::new().run(json!({"script": "(sleep 0.2; echo late) & echo early"})).await;
    assert_eq!(outcome.unwrap()["output"], "early\nlate");
    assert!(texts(&log, LogStream::System).is_empty());
}

#[tokio::test]
async fn a_launcher_that_is_killed_is_a_failure_and_leaves_nothing() {
    let bench = Bench::new();
    let (work, mut log) = attempt(json!({"script": "echo $PPID; echo $$; sleep 100"}));
    let shell = bench.shell();
    let running = tokio::spawn(async move { shell.run(work).await });
    let launcher: i32 = log.next().await.parse().unwrap();
    let command: i32 = log.next().await.parse().unwrap();
    assert!(Command::new("kill").args(["-9", &launcher.to_string()]).status().unwrap().success());
    let failure = in_time(running).await.unwrap().unwrap_err();
    assert!(failure.reason.contains("lost sight of the command"), "{failure:?}");
    gone(command).await;
    assert!(bench.records().is_empty());
}

#[tokio::test]
async fn many_at_once_each_get_their_own_end() {
    let bench = Bench::new();
    let shell = bench.shell();
    let one = |number: usize| {
        let input: Value = json!({"script": format!("echo {number}; exit {}", number % 2)});
        let shell = shell.clone();
        async move { (number, run(&shell, input).await.0) }
    };
    for (number, outcome) in futures_util::future::join_all((0..40).map(one)).await {
        match outcome {
            Ok(result) => assert_eq!(result, json!({"exit_code": 0, "output": number.to_string()})),
            Err(failure) => assert_eq!((number % 2, failure.reason.as_str()), (1, "exit code 1")),
        }
    }
    assert!(bench.records().is_empty());
}
