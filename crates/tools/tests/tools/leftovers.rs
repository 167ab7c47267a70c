//! What a dead executor left running is ended by the next one, and nobody else is.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ordo_engine::clock::new_id;
use ordo_engine::tool::Tool;
use ordo_tools::{Environment, ProcessBook, ProcessRunner, Shell};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::{attempt, is_alive, launcher, records, until};

const FOLDER: &str = "TEST_DAEMON_FOLDER";
const SCRIPT: &str = "TEST_DAEMON_SCRIPT";

/// Not a test: the executor that is going to die, in a process of its own.
#[tokio::test]
#[ignore = "run by the tests below, in a process that they kill"]
async fn daemon() {
    let (Some(folder), Ok(script)) = (std::env::var_os(FOLDER), std::env::var(SCRIPT)) else { return };
    let runner = ProcessRunner::new(book(folder.as_ref()), Environment::of_this_process(), launcher());
    let (work, _log) = attempt(json!({"script": script}));
    Shell::new(runner.into(), None).run(work).await.unwrap();
}

fn book(folder: &Path) -> ProcessBook {
    ProcessBook::open(folder.join("processes"), new_id()).unwrap()
}

fn start_daemon(folder: &TempDir, script: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers::daemon", "--ignored"])
        .env(FOLDER, folder.path())
        .env(SCRIPT, script)
        .env("ORDO_TOKEN", "secret")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn read_pid(path: &Path) -> Option<i32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Kills an executor whose command has written its number to `pid`, and its launcher before; the command lives on.
async fn die_leaving(folder: &TempDir, script: &str) -> i32 {
    let mut daemon = start_daemon(folder, script);
    let path = folder.path().join("pid");
    until(|| read_pid(&path).is_some() && leader(folder).is_some()).await;
    // It can do nothing about its launcher while it stands still.
    signal("-STOP", daemon.id().try_into().unwrap());
    kill(leader_pid(folder));
    until(|| !is_alive(leader_pid(folder))).await;
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let pid = read_pid(&path).unwrap();
    assert!(is_alive(pid));
    pid
}

fn record_file(folder: &TempDir) -> Option<std::path::PathBuf> {
    let [name] = &records(folder)[..] else { return None };
    Some(folder.path().join("processes").join(name))
}

/// The second line of the record, once it is there.
fn leader(folder: &TempDir) -> Option<Value> {
    let text = fs::read_to_string(record_file(folder)?).ok()?;
    serde_json::from_str(text.lines().nth(1)?).ok()
}

fn leader_pid(folder: &TempDir) -> i32 {
    leader(folder).unwrap()["pid"].as_i64().unwrap().try_into().unwrap()
}

/// Replaces the second line of the record.
fn write_leader(folder: &TempDir, leader: &str) {
    let file = record_file(folder).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, format!("{}\n{leader}", text.lines().next().unwrap())).unwrap();
}

fn kill(pid: i32) {
    signal("-9", pid);
}

fn signal(signal: &str, pid: i32) {
    Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
}

fn new_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("processes")).unwrap();
    folder
}

#[tokio::test]
async fn what_runs_when_its_executor_dies_is_ended_at_once() {
    let folder = new_folder();
    let script = format!(
        "setsid env -i /bin/sh -c 'echo $$ > {0}/escaped; sleep 100; :' & echo $$ > {0}/pid; wait",
        folder.path().display()
    );
    let mut daemon = start_daemon(&folder, &script);
    let (pid, escaped) = (folder.path().join("pid"), folder.path().join("escaped"));
    until(|| read_pid(&pid).is_some() && read_pid(&escaped).is_some() && leader(&folder).is_some()).await;
    let all = [read_pid(&pid).unwrap(), read_pid(&escaped).unwrap(), leader_pid(&folder)];
    assert!(all.iter().all(|pid| is_alive(*pid)));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    until(|| !all.iter().any(|pid| is_alive(*pid))).await;
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 0, "nothing is left to be killed");
    assert!(records(&folder).is_empty(), "and the record goes");
}

#[tokio::test]
async fn a_group_left_by_a_dead_executor_is_killed_once() {
    let folder = new_folder();
    let script = format!("sleep 100 & env > {0}/env; echo $! > {0}/pid; wait", folder.path().display());
    let grandchild = die_leaving(&folder, &script).await;
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 1);
    assert!(!is_alive(grandchild));
    assert!(records(&folder).is_empty());
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 0);
    assert!(!fs::read_to_string(folder.path().join("env")).unwrap().contains("ORDO_TOKEN"));
}

#[tokio::test]
async fn an_intent_without_a_group_finds_what_it_started() {
    let folder = new_folder();
    let pid = die_leaving(&folder, &format!("echo $$ > {}/pid; sleep 100; true", folder.path().display())).await;
    write_leader(&folder, "{\"pid\": 1");
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 1);
    assert!(!is_alive(pid) && records(&folder).is_empty());
}

#[tokio::test]
async fn a_process_that_only_got_the_same_number_is_not_killed() {
    let folder = new_folder();
    let ours = die_leaving(&folder, &format!("echo $$ > {}/pid; exec sleep 100", folder.path().display())).await;
    let stranger = std::os::unix::process::CommandExt::process_group(&mut Command::new("sleep"), 0).arg("100").spawn();
    let mut stranger = stranger.unwrap();
    kill(ours);
    until(|| !is_alive(ours)).await;
    // This test takes less than the 10 ms of a tick; until a number comes round again, far more go by.
    let started_ticks = leader(&folder).unwrap()["started_ticks"].as_u64().unwrap() - 1;
    write_leader(&folder, &json!({"pid": stranger.id(), "started_ticks": started_ticks}).to_string());
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 0);
    assert!(is_alive(stranger.id().try_into().unwrap()) && records(&folder).is_empty());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test]
async fn a_neighbour_that_is_alive_keeps_its_processes() {
    let folder = new_folder();
    let mut daemon = start_daemon(&folder, &format!("echo $$ > {}/pid; sleep 100; true", folder.path().display()));
    let path = folder.path().join("pid");
    until(|| read_pid(&path).is_some() && leader(&folder).is_some()).await;
    let pid = read_pid(&path).unwrap();
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 0);
    assert!(is_alive(pid) && records(&folder).len() == 1);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    book(folder.path()).sweep().await.unwrap();
    assert!(!is_alive(pid) && records(&folder).is_empty());
}

#[tokio::test]
async fn a_file_that_is_no_record_harms_nobody() {
    let folder = new_folder();
    let stray = folder.path().join("processes").join("notes.txt");
    fs::write(&stray, "not a record").unwrap();
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 0);
    assert!(stray.exists());
}
