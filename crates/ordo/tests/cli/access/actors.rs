//! Who did it, on the real binary: the command line signs with its token, and what runs by itself is Ordo's.

use ordo_store_postgres::testing::TestServer;
use serde_json::{Value, json};

use crate::common::{Daemon, Ran, World};

/// A command over TCP with a token of its own.
fn with_token(world: &World, daemon: &Daemon, token: &str, args: &[&str]) -> Ran {
    let args: Vec<&str> = ["--server", &daemon.place].iter().chain(args).copied().collect();
    world.command(&args).env("ORDO_TOKEN", token).output().unwrap().into()
}

/// Type, name and source of each event of a job.
fn recorded(world: &World, job: &str) -> Vec<(String, String, String)> {
    let history = world.json(&["job", "history", job, "--all"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entry = |event: &Value| {
        let actor = &event["actor"];
        (text(&event["type"]), text(&actor["name"]), text(&actor["source"]))
    };
    let shown = history.as_array().unwrap().iter().filter(|event| event["type"] != "Published");
    shown.map(entry).collect()
}

fn the_story(world: &World, daemon: &Daemon) -> Vec<(String, String, String)> {
    world.ordo(&["job", "add", "report", "--every", "1h", "--", "true"]).done();
    world.ordo(&["job", "trigger", "report", "--wait"]).done();
    let ana = world.ordo(&["token", "add", "ana", "--role", "operator"]).done().out.trim().to_owned();
    with_token(world, daemon, &ana, &["job", "pause", "report"]).done();
    recorded(world, "report")
}

fn expect_the_story(story: &[(String, String, String)]) {
    let expected = [
        ("JobScheduled", "local", "cli"),
        ("JobTriggered", "local", "cli"),
        ("JobStarted", "ordo", "ordo"),
        ("JobExecuted", "ordo", "ordo"),
        ("JobPaused", "ana", "cli"),
    ];
    let expected = expected.map(|(kind, name, source)| (kind.to_owned(), name.to_owned(), source.to_owned()));
    assert_eq!(story, expected);
}

#[test]
fn a_pause_from_the_command_line_shows_up_with_its_token_also_after_a_kill() {
    let world = World::new();
    let daemon = world.serve();
    expect_the_story(&the_story(&world, &daemon));
    let shown = world.ordo(&["job", "history", "report"]).done().out;
    assert!(shown.contains("ana (cli)") && shown.contains("local (cli)"), "{shown}");
    daemon.kill();
    let daemon = world.serve();
    expect_the_story(&recorded(&world, "report"));
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"), "{shown}");
    drop(daemon);
}

#[test]
fn actors_survive_on_a_database_and_the_move_to_one() {
    let (server, world) = (TestServer::join(), World::new());
    let (first, second) = (server.fresh_url(), server.fresh_url());
    let daemon = world.serve_with(&["--store", &first]);
    expect_the_story(&the_story(&world, &daemon));
    assert_eq!(daemon.stop().0, 0);
    world.ordo(&["store", "copy", &first, &second]).done();
    let daemon = world.serve_with(&["--store", &second]);
    expect_the_story(&recorded(&world, "report"));
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn as_somebody_else_is_kept_beside_the_token() {
    let world = World::new();
    let daemon = world.serve();
    let ci = world.ordo(&["token", "add", "ci", "--role", "operator"]).done().out.trim().to_owned();
    let started = ["--output", "json", "incident", "start", "checkout is down", "--as", "ana"];
    let made = with_token(&world, &daemon, &ci, &started).done().json();
    assert_eq!(made["started_by"], json!({"actor": "ci", "source": "cli", "on_behalf_of": "ana"}));
    let id = made["id"].as_str().unwrap();
    let actor = world.json(&["incident", "show", id])["timeline"][0]["actor"].clone();
    assert_eq!((&actor["name"], &actor["on_behalf_of"]), (&json!("ci"), &json!("ana")));
    let shown = world.ordo(&["incident", "show", id]).done().out;
    assert!(shown.contains("ci for ana (cli)"), "{shown}");
}
