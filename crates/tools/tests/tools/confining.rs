//! Limits limit, another user is another user, and a private `/tmp` is private and goes with its attempt.

use std::path::Path;

use ordo_engine::clock::new_id;
use ordo_engine::tool::Failure;
use ordo_tools::{Environment, ProcessBook, ToolOptions, Toolbox};
use serde_json::{Value, json};

use crate::bench::{Bench, launcher, run};

/// Runs a script with a shell that is configured so.
async fn script(options: Value, script: &str) -> Result<Value, Failure> {
    with(options, json!({"script": script})).await
}

async fn with(options: Value, input: Value) -> Result<Value, Failure> {
    let options: ToolOptions = serde_json::from_value(json!({"shell": options})).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let book = ProcessBook::open(folder.path().join("processes"), new_id()).unwrap();
    let toolbox = Toolbox::builtin(options, book, Environment::of_this_process(), launcher()).unwrap();
    run(&*toolbox.get("shell").unwrap(), input).await.0
}

fn output(outcome: Result<Value, Failure>) -> String {
    outcome.unwrap()["output"].as_str().unwrap().to_owned()
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: this needs root");
    }
    is_root
}

#[tokio::test]
async fn a_command_has_the_limits_of_its_tool() {
    let limits =
        json!({"limits": {"cpu_seconds": 7, "memory_bytes": 268_435_456, "open_files": 20, "file_bytes": 4096}});
    let shown = output(script(limits.clone(), "ulimit -t; ulimit -v; ulimit -n; ulimit -f").await);
    assert_eq!(shown.lines().collect::<Vec<_>>(), ["7", "262144", "20", "8"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("big");
    let failure = script(limits, &format!("exec head -c 5000 /dev/zero > {}", file.display())).await.unwrap_err();
    assert!(failure.reason.contains("XFSZ") || failure.reason.contains("File too large"), "{failure:?}");
    assert_eq!(std::fs::metadata(file).unwrap().len(), 4096);
}

#[tokio::test]
async fn time_on_a_processor_runs_out() {
    let failure = script(json!({"limits": {"cpu_seconds": 1}}), "while :; do :; done").await.unwrap_err();
    assert_eq!(failure.reason, "killed by signal 24 (XCPU)");
}

#[tokio::test]
async fn memory_runs_out() {
    let options = json!({"limits": {"memory_bytes": 67_108_864}});
    let failure = script(options, "head -c 300000000 /dev/zero | tail -c 200000000 > /dev/null").await.unwrap_err();
    assert!(failure.reason.contains("exhausted") || failure.reason.contains("allocate"), "{failure:?}");
}

#[tokio::test]
async fn a_job_narrows_its_limits_and_cannot_widen_them() {
    let input = json!({"script": "ulimit -n; ulimit -t", "limits": {"open_files": 1000, "cpu_seconds": 3}});
    let shown = output(with(json!({"limits": {"open_files": 50}}), input).await);
    assert_eq!(shown.lines().collect::<Vec<_>>(), ["50", "3"]);
}

#[tokio::test]
async fn a_confined_command_has_its_input_and_tells_its_errors() {
    let limits = json!({"limits": {"open_files": 50}});
    let input = json!({"command": "cat", "stdin": "to be read"});
    assert_eq!(output(with(limits.clone(), input).await), "to be read");
    let missing = with(limits.clone(), json!({"command": "no-such-command"})).await.unwrap_err();
    assert_eq!(missing.reason, r#"command not found "no-such-command""#);
    let nowhere = with(limits, json!({"command": "true", "cwd": "/no/such/folder"})).await.unwrap_err();
    assert!(nowhere.reason.starts_with("working folder not found"), "{nowhere:?}");
    let (outcome, _) = Bench::new().run(json!({"script": "kill -9 $$", "limits": {"open_files": 50}})).await;
    assert_eq!(outcome.unwrap_err().reason, "killed by signal 9 (KILL)");
}

#[tokio::test]
async fn a_command_runs_as_its_user_with_his_groups_only() {
    if !is_root() {
        return;
    }
    let shown = output(script(json!({"user": "nobody"}), "id -un; id -G; echo $USER $LOGNAME; : > /dev/stderr").await);
    let mut lines = shown.lines();
    assert_eq!(lines.next(), Some("nobody"));
    let groups = std::process::Command::new("id").args(["-G", "nobody"]).output().unwrap();
    assert_eq!(lines.next(), Some(String::from_utf8(groups.stdout).unwrap().trim()));
    assert_eq!(lines.next(), Some("nobody nobody"));
    let failure = script(json!({"user": "nobody"}), "exec cat /etc/shadow").await.unwrap_err();
    assert!(failure.reason.contains("Permission denied"), "{failure:?}");
    let back = script(json!({"user": "nobody"}), "exec chroot / true").await.unwrap_err();
    assert!(back.reason.contains("not permitted"), "there is no way back: {back:?}");
}

#[tokio::test]
async fn processes_are_counted_for_a_user() {
    if !is_root() {
        return;
    }
    let options = json!({"user": "games", "limits": {"processes": 3}});
    let failure = script(options, "for i in 1 2 3 4 5 6; do sleep 1 & done; wait").await.unwrap_err();
    assert!(failure.reason.to_lowercase().contains("fork"), "{failure:?}");
}

#[tokio::test]
async fn a_private_tmp_is_private_and_goes_with_its_attempt() {
    if !is_root() {
        return;
    }
    let outside = tempfile::Builder::new().prefix("ordo-outside-").tempfile().unwrap();
    let name = format!("seen-inside-{}", new_id());
    let look = format!(
        "test ! -e {} && ls -A /tmp /var/tmp && touch /tmp/{name} /var/tmp/{name} && stat -c %a /tmp && echo $TMPDIR",
        outside.path().display()
    );
    let shown = output(script(json!({"private_tmp": true, "user": "nobody"}), &look).await);
    assert_eq!(shown.lines().collect::<Vec<_>>(), ["/tmp:", "", "/var/tmp:", "1777", "/tmp"]);
    assert!(!Path::new("/tmp").join(&name).exists() && !Path::new("/var/tmp").join(&name).exists());
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("ordo-tmp-"));
    let held = left.filter(|entry| entry.path().join("tmp").join(&name).exists()).count();
    assert_eq!(held, 0, "what was made for the attempt is removed");
}
