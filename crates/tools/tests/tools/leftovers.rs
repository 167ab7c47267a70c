//! What a dead executor left running is ended by the next one, and nobody else is.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ordo_engine::clock::new_id;
use ordo_engine::tool::Tool;
use ordo_tools::{Environment, ProcessBook, ProcessRunner, Shell};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;

use crate::bench::{attempt, gone, in_time, is_alive, launcher, records};

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

/// A named pipe into which a command writes its number. Whoever has begun is on record: a launcher gets its order after
/// that.
struct Announced(BufReader<pipe::Receiver>);

impl Announced {
    fn in_folder(folder: &TempDir, name: &str) -> Announced {
        let path = folder.path().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Announced(BufReader::new(pipe::OpenOptions::new().read_write(true).open_receiver(path).unwrap()))
    }

    async fn pid(mut self) -> i32 {
        let mut line = String::new();
        in_time(self.0.read_line(&mut line)).await.unwrap();
        line.trim().parse().expect("a process number")
    }
}

/// Kills an executor whose command has written its number to `pid`, and its launcher before; the command lives on.
async fn die_leaving(folder: &TempDir, script: &str) -> i32 {
    let announced = Announced::in_folder(folder, "pid");
    let mut daemon = start_daemon(folder, script);
    let pid = announced.pid().await;
    // It can do nothing about its launcher while it stands still.
    signal("-STOP", daemon.id().try_into().unwrap());
    kill(leader_pid(folder));
    gone(leader_pid(folder)).await;
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(is_alive(pid));
    pid
}

fn record_file(folder: &TempDir) -> std::path::PathBuf {
    let names = records(folder);
    assert_eq!(names.len(), 1, "{names:?}");
    folder.path().join("processes").join(&names[0])
}

/// The second line of the record.
fn leader(folder: &TempDir) -> Value {
    let text = fs::read_to_string(record_file(folder)).unwrap();
    serde_json::from_str(text.lines().nth(1).unwrap()).unwrap()
}

fn leader_pid(folder: &TempDir) -> i32 {
    leader(folder)["pid"].as_i64().unwrap().try_into().unwrap()
}

/// Replaces the second line of the record.
fn write_leader(folder: &TempDir, leader: &str) {
    let file = record_file(folder);
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
    let [own, escaped] = ["pid", "escaped"].map(|name| Announced::in_folder(&folder, name));
    let mut daemon = start_daemon(&folder, &script);
    let all = [own.pid().await, escaped.pid().await, leader_pid(&folder)];
    assert!(all.iter().all(|pid| is_alive(*pid)));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    for pid in all {
        gone(pid).await;
    }
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
    gone(ours).await;
    // This test takes less than the 10 ms of a tick; until a number comes round again, far more go by.
    let started_ticks = leader(&folder)["started_ticks"].as_u64().unwrap() - 1;
    write_leader(&folder, &json!({"pid": stranger.id(), "started_ticks": started_ticks}).to_string());
    assert_eq!(book(folder.path()).sweep().await.unwrap(), 0);
    assert!(is_alive(stranger.id().try_into().unwrap()) && records(&folder).is_empty());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test]
async fn a_neighbour_that_is_alive_keeps_its_processes() {
    let folder = new_folder();
    let announced = Announced::in_folder(&folder, "pid");
    let mut daemon = start_daemon(&folder, &format!("echo $$ > {}/pid; sleep 100; true", folder.path().display()));
    let pid = announced.pid().await;
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
