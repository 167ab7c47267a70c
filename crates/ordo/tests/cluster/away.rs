//! The database goes away and comes back: the node says so, refuses what it cannot keep, and recovers by itself.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::common::{Daemon, World, eventually};
use crate::database::Database;

/// An answer as it stands on the wire.
pub(crate) fn ask(daemon: &Daemon, method: &str, path: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(daemon.place.trim_start_matches("http://")).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn has_retry_after(answer: &str) -> bool {
    let head = answer.split("\r\n\r\n").next().unwrap_or_default().to_lowercase();
    head.lines().any(|line| line.strip_prefix("retry-after: ").is_some_and(|secs| secs.parse::<u32>().is_ok()))
}

#[test]
fn while_the_database_is_away_the_node_says_so_and_goes_on_when_it_is_back() {
    let (mut database, world) = (Database::start(), World::new());
    let daemon = world.serve_with(&["--store", &Database::url_on(database.port())]);
    world.ordo(&["job", "add", "often", "--every", "300ms", "--", "true"]).done();
    eventually("it fires", || (!world.runs("often").is_empty()).then_some(()));
    let token = world.read(".ordo/token").trim().to_owned();
    let ready = || ask(&daemon, "GET", "/readyz", "", "");
    let job = r#"{"label": "new", "tool_name": "noop", "tool_input": {}, "trigger": {"type": "manual"}}"#;
    let add = || ask(&daemon, "POST", "/v1/jobs", &token, job);
    assert_eq!((status(&ready()), status(&add())), ("200", "201"));

    database.quit();
    let answer = eventually("it says that it is not ready", || Some(ready()).filter(|answer| status(answer) == "503"));
    assert!(answer.contains("not_ready") && has_retry_after(&answer), "{answer}");
    assert!(answer.contains("database"), "the reason is shown: {answer}");
    let refused = add();
    assert_eq!(status(&refused), "503", "{refused}");
    assert!(refused.contains("store_unavailable") && has_retry_after(&refused), "{refused}");
    assert_eq!(status(&ask(&daemon, "GET", "/healthz", "", "")), "200", "the process itself is well");

    database.up();
    eventually("it is ready again", || (status(&ready()) == "200").then_some(()));
    eventually("it accepts work again", || (status(&add()) == "201").then_some(()));
    let fired = world.runs("often").len();
    eventually("it fires again", || (world.runs("often").len() > fired).then_some(()));
    let (code, said) = daemon.stop();
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_node_that_starts_before_its_database_waits_for_it() {
    let (mut database, world) = (Database::start(), World::new());
    database.quit();
    let url = Database::url_on(database.port()).replace("ordo@", "ordo:s3cret@");
    let begin = |said: &str| {
        let mut command = world.command(&["serve", "--listen", "127.0.0.1:0", "--store", &url]);
        command.stderr(std::fs::File::create(world.file(said)).unwrap()).spawn().unwrap()
    };
    let stop = |mut node: std::process::Child| {
        rustix::process::kill_process(rustix::process::Pid::from_child(&node), rustix::process::Signal::TERM).unwrap();
        eventually("the node has ended", || node.try_wait().unwrap()).code()
    };
    let waits = |said: &str| eventually("it waits", || world.read(said).contains("waiting for it").then_some(()));

    let given_up = begin("first");
    waits("first");
    assert_eq!(stop(given_up), Some(0), "whoever waits can be stopped");

    let node = begin("second");
    waits("second");
    database.up();
    eventually("it is ready", || world.read("second").contains("ordo is ready at").then_some(()));
    assert!(!world.read("second").contains("s3cret"), "{}", world.read("second"));
    assert_eq!(stop(node), Some(0));
}
