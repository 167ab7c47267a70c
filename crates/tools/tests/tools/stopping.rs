//! A tool that is cancelled stops all it started before it returns.

use std::process::{Command, Stdio};

use ordo_engine::logs::LogLine;
use ordo_engine::tool::{Failure, Tool};
use ordo_model::LogStream;
use serde_json::{Value, json};

use crate::bench::{Bench, attempt, in_time, is_alive, run, texts, until};

/// Starts a script, waits until it has printed `count` process numbers, stops it.
async fn stop_after(script: &str, count: usize) -> (Vec<i32>, Failure, Vec<LogLine>) {
    let bench = Bench::new();
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
    assert!(texts(&log, LogStream::System).contains(&"still running: KILL to the process group"));
}

#[tokio::test]
async fn a_member_that_outlives_its_leader_is_killed() {
    let (pids, failure, _) =
        stop_after("sh -c \"trap '' TERM; echo \\$\\$; while :; do sleep 100; done\" & wait", 1).await;
    assert!(failure.reason.starts_with("stopped: killed"));
    assert!(!is_alive(pids[0]));
}

#[tokio::test]
async fn those_who_left_the_process_group_are_found() {
    let (pids, _, log) = stop_after("setsid sh -c 'echo $$; sleep 100' & wait", 1).await;
    assert!(!is_alive(pids[0]));
    assert!(texts(&log, LogStream::System).contains(&"killed processes that had left the process group"));
}

#[tokio::test]
async fn those_who_left_the_group_and_threw_away_their_environment_are_found_too() {
    let (pids, _, log) = stop_after("setsid env -i /bin/sh -c 'echo $$; sleep 100; :' & wait", 1).await;
    assert!(!is_alive(pids[0]));
    assert!(texts(&log, LogStream::System).contains(&"killed processes that had left the process group"));
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
    until(|| !is_alive(pid)).await;
}

#[tokio::test]
async fn a_child_that_keeps_the_output_open_does_not_keep_the_run() {
    let (outcome, log) = Bench::new().run(json!({"script": "sleep 100 & echo $!"})).await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome["exit_code"], 0);
    assert!(!is_alive(outcome["output"].as_str().unwrap().parse().unwrap()));
    let said = texts(&log, LogStream::System);
    assert_eq!(said, ["the command has ended, but processes it started kept its output open: killed"]);
}

#[tokio::test]
async fn a_daemon_that_left_the_group_does_not_keep_the_run_and_lives_on() {
    let (outcome, log) = Bench::new().run(json!({"script": "setsid sleep 100 & echo $!; sleep 0.1"})).await;
    let pid: i32 = outcome.unwrap()["output"].as_str().unwrap().parse().unwrap();
    assert!(is_alive(pid), "the run succeeded: what it detached on purpose is not ours to end");
    assert!(texts(&log, LogStream::System)[0].contains("no longer read"));
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status().unwrap();
    assert!(killed.success());
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
