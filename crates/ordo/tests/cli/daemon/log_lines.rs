//! What the daemon says while it runs, as machines read it.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::common::{Daemon, World};

const TRACE: &str = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// One request over TCP, with the token.
fn get(world: &World, daemon: &Daemon, path: &str, id: &str) -> String {
    let mut stream = TcpStream::connect(daemon.place.trim_start_matches("http://")).unwrap();
    let token = world.read(".ordo/token");
    let head = format!("host: localhost\r\nauthorization: Bearer {}\r\nx-request-id: {id}\r\n{TRACE}", token.trim());
    write!(stream, "GET {path} HTTP/1.1\r\n{head}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// All that was said but the line for people.
fn lines(said: &str) -> Vec<Value> {
    let lines = said.lines().filter(|line| !line.starts_with("ordo is ready at "));
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn of<'a>(lines: &'a [Value], message: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["message"] == message).collect()
}

#[test]
fn json_logs_name_runs_and_requests_by_their_ids() {
    let world = World::new();
    let daemon = world.serve_with(&["--log-format", "json", "--log-level", "debug"]);
    world.ordo(&["job", "add", "hello", "--", "true"]).done();
    world.ordo(&["job", "trigger", "hello"]).done();
    let run = world.over("hello");
    let answer = get(&world, &daemon, "/v1/runs?limit=7", "ask-1");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("x-request-id: ask-1\r\n"), "{answer}");
    let (_, said) = daemon.stop();

    let lines = lines(&said);
    for line in &lines {
        assert!(line["timestamp"].is_string() && line["level"].is_string() && line["target"].is_string(), "{line}");
    }
    for message in ["run started", "run ended"] {
        let [line] = of(&lines, message)[..] else { panic!("not one {message}: {said}") };
        assert_eq!((&line["run_id"], &line["job_id"]), (&run["id"], &run["job_id"]), "{line}");
        assert_eq!((&line["attempt"], &line["level"], &line["label"]), (&1.into(), &"DEBUG".into(), &"hello".into()));
    }
    assert_eq!(of(&lines, "run ended")[0]["outcome"], "completed");
    let answered = of(&lines, "answered");
    let asked = answered.iter().find(|line| line["span"]["request_id"] == "ask-1").unwrap();
    assert_eq!((&asked["method"], &asked["route"]), (&"GET".into(), &"/v1/runs".into()), "{asked}");
    assert_eq!(asked["status"], 200);
    assert_eq!(asked["span"]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736", "the trace of the caller");
    assert!(asked["latency_ms"].is_f64() && asked["level"] == "DEBUG", "{asked}");
}

#[test]
fn at_the_usual_level_only_what_went_wrong_is_logged() {
    let world = World::new();
    let daemon = world.serve_with(&["--log-format", "json"]);
    for (label, command) in [("good", "true"), ("bad", "false")] {
        world.ordo(&["job", "add", label, "--", command]).done();
        world.ordo(&["job", "trigger", label]).done();
        world.over(label);
    }
    for path in ["/healthz", "/readyz", "/metrics", "/v1/jobs"] {
        get(&world, &daemon, path, "x");
    }
    let token = world.read(".ordo/token");
    let (_, said) = daemon.stop();
    let lines = lines(&said);
    assert!(of(&lines, "answered").is_empty(), "{said}");
    let [ended] = of(&lines, "run ended")[..] else { panic!("not one end: {said}") };
    assert_eq!((&ended["label"], &ended["outcome"]), (&"bad".into(), &"failed".into()));
    assert!(!said.contains(token.trim()), "the token is not for the log");
}
