//! Who gets in, over the network and with a browser.

mod actors;
mod discovery;
mod secrets;
mod tls;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use ordo_client::{Client, Error, Target};
use serde_json::{Value, json};

use crate::common::{Daemon, World};

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn get(place: &str, token: &str, path: &str) -> Result<Value, String> {
    let client = Client::new(Target::Http { url: place.to_owned() }, Some(token));
    block(client.get(path)).map_err(|error| error.code().unwrap_or("none").to_owned())
}

/// An answer as it stands on the wire.
fn raw(place: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(place.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_first_start_makes_an_admin_token_and_says_once_how_to_log_in() {
    let world = World::new();
    let daemon = world.serve();
    let token = world.read(".ordo/token").trim().to_owned();
    assert!(token.starts_with("ordo_a_"), "{token}");
    assert_eq!(std::fs::metadata(world.file(".ordo/token")).unwrap().permissions().mode() & 0o777, 0o600);
    let link = format!("{}/login?token={token}", daemon.place);
    daemon.wait_for(&link);
    assert!(get(&daemon.place, &token, "/v1/jobs").is_ok());
    let listed = world.json(&["token", "list"]);
    assert_eq!((&listed[0]["name"], &listed[0]["role"]), (&json!("admin@local"), &json!("admin")));
    daemon.stop();
    let daemon = world.serve();
    assert_eq!(world.read(".ordo/token").trim(), token, "it stays the same");
    assert!(get(&daemon.place, &token, "/v1/jobs").is_ok());
    let (_, said) = daemon.stop();
    assert!(!said.contains(&token), "the link is not logged again where nobody reads it");
}

#[test]
fn under_a_service_manager_the_log_does_not_get_the_token() {
    let world = World::new();
    let mut serve = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.env("INVOCATION_ID", "x");
    let (_, said) = Daemon::start(serve).stop();
    assert!(!said.contains(world.read(".ordo/token").trim()));
    assert!(said.contains(".ordo/token"), "{said}");
}

#[test]
fn tokens_are_made_used_and_revoked() {
    let world = World::new();
    let daemon = world.serve();
    let made = world.ordo(&["token", "add", "eve", "--role", "viewer", "--expires", "90d"]).done();
    let token = made.out.trim().to_owned();
    assert!(token.starts_with("ordo_v_") && made.err.contains("shown once"), "{made:?}");
    assert!(get(&daemon.place, &token, "/v1/jobs").is_ok());
    assert_eq!(get(&daemon.place, &token, "/v1/tokens"), Err("forbidden".into()));
    let mut add = world.command(&["--server", &daemon.place, "job", "add", "x", "--", "true"]);
    let ran: crate::common::Ran = add.env("ORDO_TOKEN", &token).output().unwrap().into();
    ran.refused(1, &["[forbidden]", "operator"]);
    world.ordo(&["token", "add", "eve", "--role", "admin"]).refused(1, &["[token_exists]"]);
    world.ordo(&["token", "add", "bob", "--role", "root"]).refused(2, &["root", "hook-manager"]);
    let table = world.ordo(&["token", "list"]).done().out;
    assert!(table.contains("eve") && !table.contains(&token), "{table}");
    world.ordo(&["token", "revoke", "eve"]).done();
    assert_eq!(get(&daemon.place, &token, "/v1/jobs"), Err("unauthorized".into()));
    world.ordo(&["token", "revoke", "nobody"]).refused(1, &["[token_not_found]"]);
    daemon.kill();
    let daemon = world.serve();
    assert_eq!(get(&daemon.place, &token, "/v1/jobs"), Err("unauthorized".into()), "also after a restart");
    daemon.stop();
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean"));
}

#[test]
fn a_revoked_admin_token_stays_revoked_and_the_next_start_makes_another() {
    let world = World::new();
    let daemon = world.serve();
    let first = world.read(".ordo/token").trim().to_owned();
    world.ordo(&["token", "revoke", "admin@local"]).done();
    assert_eq!(get(&daemon.place, &first, "/v1/jobs"), Err("unauthorized".into()));
    // The socket is its owner's all the same.
    world.ordo(&["job", "list"]).done();
    daemon.stop();
    let daemon = world.serve();
    let second = world.read(".ordo/token").trim().to_owned();
    assert_ne!(first, second);
    assert!(get(&daemon.place, &second, "/v1/jobs").is_ok());
    assert_eq!(get(&daemon.place, &first, "/v1/jobs"), Err("unauthorized".into()));
}

#[test]
fn a_token_of_an_earlier_version_is_still_let_in() {
    let world = World::new();
    std::fs::create_dir(world.file(".ordo")).unwrap();
    let old = "0123456789abcdef".repeat(4);
    world.write(".ordo/token", &format!("{old}\n"));
    let daemon = world.serve();
    assert!(get(&daemon.place, &old, "/v1/jobs").is_ok());
    assert_eq!(world.read(".ordo/token").trim(), old);
}

#[test]
fn a_browser_stays_logged_in_over_a_restart_until_the_token_is_revoked() {
    let world = World::new();
    let daemon = world.serve();
    let token = world.ordo(&["token", "add", "eve", "--role", "viewer"]).done().out.trim().to_owned();
    let answer = raw(
        &daemon.place,
        &format!("GET /login?token={token} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    );
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let session = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let session = session.split(';').next().unwrap().to_owned();
    assert!(!answer.contains(&token));
    let jobs = |place: &str| {
        raw(
            place,
            &format!("GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nCookie: {session}\r\nConnection: close\r\n\r\n"),
        )
    };
    assert!(jobs(&daemon.place).starts_with("HTTP/1.1 200"));
    daemon.stop();
    let daemon = world.serve();
    assert!(jobs(&daemon.place).starts_with("HTTP/1.1 200"));
    let change = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nCookie: {session}\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    assert!(raw(&daemon.place, &change).contains("origin_refused"));
    world.ordo(&["token", "revoke", "eve"]).done();
    assert!(jobs(&daemon.place).starts_with("HTTP/1.1 401"));
}

#[test]
fn an_address_that_others_reach_is_never_served_without_a_token() {
    let world = World::new();
    let daemon = Daemon::start(world.command(&["serve", "--listen", "0.0.0.0:0"]));
    assert!(daemon.said().contains("others can reach this port"), "{}", daemon.said());
    let place = daemon.place.replace("0.0.0.0", "127.0.0.1");
    for path in ["/v1/jobs", "/v1/secrets", "/v1/tokens", "/v1/status"] {
        let error = block(Client::new(Target::Http { url: place.clone() }, None).get::<Value>(path)).unwrap_err();
        assert!(matches!(&error, Error::Problem { status: 401, .. }), "{path}: {error:?}");
    }
}

#[test]
fn requests_have_a_limit_that_the_configuration_sets() {
    let world = World::new();
    world.write("ordo.toml", "[limits]\nrequests_per_minute = 2\n");
    let daemon = world.serve();
    let token = world.ordo(&["token", "add", "busy", "--role", "viewer"]).done().out.trim().to_owned();
    assert!(get(&daemon.place, &token, "/v1/jobs").is_ok() && get(&daemon.place, &token, "/v1/jobs").is_ok());
    assert_eq!(get(&daemon.place, &token, "/v1/jobs"), Err("rate_limited".into()));
    for _ in 0..5 {
        assert!(get(&daemon.place, world.read(".ordo/token").trim(), "/v1/jobs").is_ok());
        world.ordo(&["job", "list"]).done();
    }
}

#[test]
fn the_shell_can_be_switched_off_or_limited() {
    let world = World::new();
    world.write("ordo.toml", "[tools.shell]\nallow = ['true']\n");
    let daemon = world.serve();
    world.ordo(&["job", "add", "fine", "--", "true"]).done();
    world
        .ordo(&["job", "add", "no", "--", "rm", "-rf", "x"])
        .refused(1, &["[invalid_tool_input]", "tools.shell.allow"]);
    daemon.stop();
    world.write("ordo.toml", "[tools.shell]\nenabled = false\n");
    let _daemon = world.serve();
    world.ordo(&["job", "add", "off", "--", "true"]).refused(1, &["[unknown_tool]"]);
}
