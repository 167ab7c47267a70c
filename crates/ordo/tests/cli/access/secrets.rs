//! Secrets, from the hand of whoever sets them to the tool that needs them, and nowhere else.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Daemon, Ran, World};

const VALUE: &str = "correct-horse-battery-staple-4711";

fn set(world: &World, name: &str, value: &str) -> Ran {
    piped(world, &["secret", "set", name], value)
}

fn piped(world: &World, words: &[&str], value: &str) -> Ran {
    use std::io::Write;
    let mut command = world.command(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(value.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

/// All files below a folder that hold the text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(holding(&path, text));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(text.len()).any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_secret_is_set_listed_and_removed_without_being_seen() {
    let world = World::new();
    let _daemon = world.serve();
    assert!(world.ordo(&["secret", "list"]).done().out.contains("ordo secret set NAME"));
    let output = set(&world, "pg", &format!("{VALUE}\n")).done();
    assert!(output.out.contains(r#"{"secret":"pg"}"#) && !output.out.contains(VALUE), "{output:?}");
    world.write("value", VALUE);
    world.ordo(&["secret", "set", "mail", "--value-file", "value"]).done();
    let listed = world.json(&["secret", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[0]["name"], "mail");
    assert_eq!(world.ordo(&["secret", "list"]).done().out.lines().count(), 3);
    let mode = std::fs::metadata(world.file(".ordo/secret.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    world.ordo(&["secret", "remove", "mail"]).done();
    world.ordo(&["secret", "remove", "mail"]).refused(1, &["[secret_not_found]"]);
    set(&world, "a b", "x").refused(1, &["[invalid_secret]"]);
    set(&world, "empty", "\n").refused(1, &["empty"]);
    piped(&world, &["secret", "set", "dash", "-"], VALUE).done();
    let typed = world.ordo(&["secret", "set", "typed", VALUE]);
    typed.refused(2, &["history", "--value-file"]);
    assert!(!format!("{typed:?}").contains(VALUE), "what may be the value is not repeated: {typed:?}");
}

#[test]
fn the_tool_gets_the_value_and_store_log_and_answers_do_not() {
    let world = World::new();
    let daemon = world.serve_with(&["--log-level", "trace"]);
    set(&world, "pg", &format!("{VALUE}\n")).done();
    let script = r#"echo "$1 $KEY $(cat)"; echo "$KEY" >&2; [ "$1$KEY" = "$(cat expected)" ] && touch right; exit 3"#;
    world.write("expected", &format!("{VALUE}{VALUE}"));
    let input = json!({
        "command": "sh",
        "args": ["-c", script, "sh", { "secret": "pg" }],
        "env": { "KEY": { "secret": "pg" } },
        "stdin": { "secret": "pg", "prefix": "Bearer " },
    });
    world.ordo(&["job", "add", "uses", "--tool", "shell", "--input", &input.to_string()]).done();
    world.ordo(&["job", "trigger", "uses"]).done();
    let run = world.over("uses");
    assert!(world.file("right").exists(), "the tool had the value: {run}");
    std::fs::remove_file(world.file("expected")).unwrap();
    assert!(run["status"]["reason"].as_str().unwrap().contains("***"), "{run}");
    let logs = world.ordo(&["run", "logs", "uses"]).done().out;
    assert!(logs.contains("*** *** Bearer ***"), "{logs}");

    let token = world.read(".ordo/token");
    let client = ordo_client::Client::new(ordo_client::Target::Http { url: daemon.place.clone() }, Some(&token));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let id = run["id"].as_str().unwrap();
    for path in ["/v1/jobs", "/v1/runs", "/v1/events?limit=200", "/v1/secrets", &format!("/v1/runs/{id}")] {
        let answer = runtime.block_on(client.get::<Value>(path)).unwrap().to_string();
        assert!(!answer.contains(VALUE), "{path}: {answer}");
    }
    assert!(!daemon.said().contains(VALUE), "the log shows it");
    let (code, said) = daemon.stop();
    assert_eq!(code, 0);
    assert!(!said.contains(VALUE), "the log shows it");
    assert_eq!(holding(world.path(), VALUE), Vec::<String>::new());
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));

    // After a restart the key opens what it sealed.
    let _daemon = world.serve();
    world.write("expected", &format!("{VALUE}{VALUE}"));
    std::fs::remove_file(world.file("right")).unwrap();
    world.ordo(&["job", "trigger", "uses"]).done();
    crate::common::eventually("it ran again", || world.file("right").exists().then_some(()));
}

#[test]
fn a_job_cannot_refer_to_what_is_not_there_and_a_run_says_what_it_missed() {
    let world = World::new();
    let _daemon = world.serve();
    let input = r#"{"command": "true", "env": {"KEY": {"secret": "pg"}}}"#;
    let add = ["job", "add", "uses", "--tool", "shell", "--input", input];
    world.ordo(&add).refused(1, &["[unknown_secret]", "ordo secret set pg"]);
    set(&world, "pg", VALUE).done();
    world.ordo(&add).done();
    world.ordo(&["secret", "remove", "pg"]).done();
    world.ordo(&["job", "trigger", "uses"]).done();
    let run = world.over("uses");
    assert_eq!(run["status"]["type"], "failed");
    assert!(run["status"]["reason"].as_str().unwrap().contains("there is no secret \"pg\""), "{run}");
}

#[test]
fn without_its_key_a_secret_cannot_be_used_and_no_second_key_is_made() {
    let world = World::new();
    let daemon = world.serve();
    set(&world, "pg", VALUE).done();
    daemon.stop();
    std::fs::rename(world.file(".ordo/secret.key"), world.file("kept.key")).unwrap();
    let daemon = world.serve();
    set(&world, "other", "x").refused(1, &["[secrets_unavailable]", "no key"]);
    assert!(!world.file(".ordo/secret.key").exists());
    daemon.stop();
    let _daemon = Daemon::start({
        let mut serve = world.command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.env("ORDO_SECRETS__KEY_FILE", "kept.key");
        serve
    });
    set(&world, "other", "x").done();
}

#[test]
fn a_new_key_takes_the_place_of_the_old_one_without_a_restart() {
    let world = World::new();
    let _daemon = world.serve();
    set(&world, "pg", VALUE).done();
    world
        .ordo(&[
            "job",
            "add",
            "uses",
            "--tool",
            "shell",
            "--input",
            r#"{"script": {"secret": "pg", "prefix": "echo "}}"#,
        ])
        .done();
    let old = world.read(".ordo/secret.key");
    let new = "5a".repeat(32);
    world.write(".ordo/secret.key", &format!("{new}\n{old}"));
    assert!(world.ordo(&["secret", "reseal"]).done().out.starts_with("1 secret is"));
    world.write(".ordo/secret.key", &format!("{new}\n"));
    assert_eq!(world.ordo(&["job", "trigger", "uses", "--wait"]).done().out, "***\n");
}
