//! Webhooks from the first command to the last: others call, jobs run, what came reaches them.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::common::{Daemon, World, eventually};

/// Calls over TCP as a stranger does, without any token.
fn call(daemon: &Daemon, path: &str, headers: &str, body: &str) -> (u16, Value) {
    let address = daemon.place.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: hooks.example\r\nConnection: close\r\nContent-Length: {length}\r\n");
    stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn whoever_calls_a_hook_runs_the_job_with_what_came() {
    let world = World::new();
    let daemon = world.serve();
    let added = world.ordo(&["hook", "add", "push", "--filter", "/ref=refs/heads/main"]).done();
    assert_eq!(added.out, "added hook push: POST /hooks/push, open to whoever knows the address\n");
    let script = r#"echo "$ORDO_HOOK_SLUG $ORDO_HOOK_CONTENT_TYPE $ORDO_HOOK_HEADER_X_EVENT"; cat"#;
    world.ordo(&["job", "add", "deploy", "--on-hook", "push", "--", "sh", "-c", script]).done();
    let body = r#"{"ref": "refs/heads/main", "text": "grün"}"#;
    let headers = "Content-Type: application/json\r\nX-Event: push\r\nX-Delivery-Id: d-1\r\n";
    let (status, accepted) = call(&daemon, "/hooks/push", headers, body);
    assert_eq!(status, 202, "{accepted}");
    let run = world.over("deploy");
    assert_eq!(run["status"]["type"], "completed", "{run:#}");
    let logs = world.ordo(&["run", "logs", "deploy"]).done().out;
    assert_eq!(logs, format!("push application/json push\n{body}\n"));
    assert!(world.ordo(&["run", "show", "deploy"]).done().out.contains("of its hook"));
    // The same again is the same; another branch does not pass.
    let (status, again) = call(&daemon, "/hooks/push", headers, body);
    assert_eq!((status, &again), (202, &json!({ "id": accepted["id"], "duplicate": true })));
    assert_eq!(call(&daemon, "/hooks/push", "X-Delivery-Id: d-2\r\n", r#"{"ref": "x"}"#).0, 202);
    let deliveries = world.json(&["hook", "deliveries", "push"]);
    let statuses: Vec<&str> = deliveries.as_array().unwrap().iter().map(|it| it["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["filtered", "done"]);
    assert_eq!(world.runs("deploy").len(), 1);
    let listed = world.ordo(&["hook", "list"]).done().out;
    assert!(listed.contains("push") && listed.contains("/ref"), "{listed}");
    assert_eq!(call(&daemon, "/hooks/nobody", "", "{}").0, 404);
    let removed = world.ordo(&["hook", "remove", "push"]).done();
    assert!(removed.err.contains("1 job still listens"), "{removed:?}");
    assert_eq!(call(&daemon, "/hooks/push", "", "{}").0, 404);
    world.ordo(&["hook", "show", "push"]).refused(1, &["no hook"]);
}

#[test]
fn a_job_may_listen_before_its_hook_is_there_and_a_delivery_that_failed_is_replayed() {
    let world = World::new();
    let daemon = world.serve();
    let added = world.ordo(&["job", "add", "late", "--on-hook", "later", "--", "test", "-e", "mended"]).done();
    assert!(added.err.contains("the hook later does not exist yet: ordo hook add later"), "{added:?}");
    world.ordo(&["hook", "add", "later"]).done();
    assert_eq!(call(&daemon, "/hooks/later", "", "x=1").0, 202);
    let failed = |delivery: &Value| delivery["status"] == "failed";
    let newest = || world.json(&["hook", "deliveries", "later"])[0].clone();
    let delivery = eventually("the delivery failed", || Some(newest()).filter(failed));
    world.write("mended", "");
    let id = delivery["id"].as_str().unwrap();
    let said = world.ordo(&["hook", "replay", "later", id]).done().out;
    assert_eq!(said, format!("replaying {id} for 1 job\n"));
    eventually("the replay is done", || Some(newest()).filter(|delivery| delivery["status"] == "done"));
    assert_eq!(world.runs("late").len(), 2);
    world.ordo(&["hook", "replay", "later", id]).refused(1, &["no longer kept"]);
}

/// The secret, payload and signature of GitHub's documentation.
#[test]
fn a_call_must_be_signed_with_the_secret_that_was_given_and_is_never_shown() {
    const SECRET: &str = "It's a Secret to Everybody";
    const SIGNED: &str =
        "X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17\r\n";
    let world = World::new();
    let mut daemon = world.serve();
    world.write("secret", &format!("{SECRET}\n"));
    let added = world.ordo(&["hook", "add", "push", "--verify", "github", "--secret", "@secret"]).done();
    assert_eq!(added.out, "added hook push: POST /hooks/push, callers sign as github\n");
    world.ordo(&["job", "add", "greet", "--on-hook", "push", "--", "cat"]).done();
    assert_eq!(call(&daemon, "/hooks/push", "", "Hello, World!").0, 401);
    assert_eq!(call(&daemon, "/hooks/push", SIGNED, "Hello, world!").0, 401);
    assert_eq!(call(&daemon, "/hooks/push", SIGNED, "Hello, World!").0, 202);
    assert_eq!(world.over("greet")["status"]["result"]["output"], "Hello, World!");
    let shown = world.ordo(&["hook", "show", "push", "-o", "json"]).done().out;
    assert!(shown.contains("hook/push") && !shown.contains(SECRET), "{shown}");
    // The secret is there after a restart, and gone with its hook.
    daemon.kill();
    daemon = world.serve();
    assert_eq!(call(&daemon, "/hooks/push", SIGNED, "Hello, World!").0, 202);
    let secrets = || world.ordo(&["secret", "list"]).done().out;
    assert!(secrets().contains("hook/push"));
    world.ordo(&["hook", "remove", "push"]).done();
    assert!(!secrets().contains("hook/push"));
    world.ordo(&["hook", "add", "x", "--verify", "github"]).refused(2, &["--secret"]);
    world.ordo(&["hook", "add", "x", "--verify", "github", "--secret-name", "none"]).refused(1, &["verify.secret"]);
}
