//! A copy to a database that is killed in the middle, and goes on where it was.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};

use ordo_store_postgres::testing::{TestServer, programs};
use serde_json::{Value, json};

use crate::common::{World, eventually};

const JOBS: usize = 300;
/// With so many jobs more than one batch, and less than what a job may have.
const INPUT_BYTES: usize = 12_000;

/// What a statement answers, in the schema of the URL.
fn asked(url: &str, sql: &str) -> String {
    let answer = psql(url).args(["-c", sql]).output().unwrap();
    assert!(answer.status.success(), "{answer:?}");
    String::from_utf8_lossy(&answer.stdout).trim().to_owned()
}

fn psql(url: &str) -> Command {
    let (place, schema) = url.rsplit_once("&schema=").unwrap();
    let mut command = Command::new(programs().join("psql"));
    command.arg(place).args(["--quiet", "--no-align", "--tuples-only"]);
    command.env("PGOPTIONS", format!("-c search_path={schema}"));
    command
}

/// A transaction of somebody else that is about to write the same event: whoever comes second waits for its end.
struct InTheWay {
    session: Child,
    statements: Option<ChildStdin>,
}

impl InTheWay {
    fn of(url: &str, job: &str) -> InTheWay {
        let mut session = psql(url).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut statements = session.stdin.take().unwrap();
        let kind = ordo_model::Kind::Job.code();
        writeln!(statements, "BEGIN;").unwrap();
        writeln!(statements, "INSERT INTO events VALUES (0, 1000000, {kind}, '{job}', 1, 0, 'x', '');").unwrap();
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'";
        eventually("it is in the way", || {
            (asked(url, &format!("{waits} AND query LIKE '%{job}%'")) == "1").then_some(())
        });
        InTheWay { session, statements: Some(statements) }
    }

    fn go(mut self) {
        drop(self.statements.take());
        self.session.wait().unwrap();
    }
}

/// The id of the last job in order.
fn fill(world: &World) -> String {
    let daemon = world.serve();
    world.ordo(&["job", "add", "talks", "--every", "1h", "--", "echo", "hi"]).done();
    world.ordo(&["job", "trigger", "talks", "--wait"]).done();
    let job = json!({ "label": "large", "tool_name": "noop", "tool_input": { "text": "x".repeat(INPUT_BYTES) },
        "trigger": { "type": "manual" } });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let added =
        runtime.block_on(world.client().post::<Value, _>("/v1/jobs/batch", &json!({ "jobs": vec![job; JOBS] })));
    let answer = added.unwrap();
    let ids = answer["results"].as_array().unwrap().iter().map(|result| result["id"].as_str().unwrap().to_owned());
    let last = ids.max().unwrap();
    assert_eq!(daemon.stop().0, 0);
    last
}

#[test]
fn a_copy_that_was_killed_goes_on_where_it_was_and_is_compared_at_the_end() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let last = fill(&world);
    world.ordo(&["store", "stats", "--store", &url]).done();
    let in_the_way = InTheWay::of(&url, &last);
    let copying = ["store", "copy", ".ordo/orchestrator.db", &url];
    let mut copy = world.command(&copying).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let moved = || asked(&url, "SELECT count(*) FROM events").parse::<usize>().unwrap();
    let before = eventually("some of it is there", || Some(moved()).filter(|count| *count > 0));
    assert!(before < JOBS, "there is something left to do: {before}");
    assert!(copy.try_wait().unwrap().is_none(), "it is in the middle of it");
    copy.kill().unwrap();
    copy.wait().unwrap();
    in_the_way.go();

    // Half a deployment is nothing to work on.
    let check = world.ordo(&["store", "check", "--store", &url]);
    assert_ne!(check.code, 0, "{check:?}");
    let output = world.ordo(&copying).done().out;
    assert!(output.contains("both say the same"), "{output}");
    let checked = world.ordo(&["store", "check", "--store", &url]).done().out;
    assert!(checked.starts_with(&format!("clean: {} streams,", JOBS + 2)), "{checked}");
    let daemon = world.serve_with(&["--store", &url]);
    assert_eq!(world.json(&["job", "list", "--all"]).as_array().unwrap().len(), JOBS + 1);
    assert_eq!(world.ordo(&["run", "logs", "talks"]).done().out, "hi\n");
    assert_eq!(daemon.stop().0, 0);
}
