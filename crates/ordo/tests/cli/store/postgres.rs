//! A node on PostgreSQL, and moving there and back.

use ordo_engine::clock::{Clock, SystemClock};
use ordo_model::Millis;
use ordo_store_postgres::testing::TestServer;
use serde_json::{Value, json};

use crate::common::{World, eventually};

fn labels(world: &World) -> Vec<String> {
    let jobs = world.json(&["job", "list"]);
    let mut labels: Vec<String> =
        jobs.as_array().unwrap().iter().map(|job| job["label"].as_str().unwrap().to_owned()).collect();
    labels.sort();
    labels
}

#[test]
fn a_node_runs_on_a_database_and_finds_everything_again() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let daemon = world.serve_with(&["--store", &url]);
    world.ordo(&["job", "add", "a", "--every", "1h", "--", "echo", "hi"]).done();
    world.ordo(&["job", "trigger", "a", "--wait"]).done();
    assert_eq!(world.ordo(&["run", "logs", "a"]).done().out, "hi\n");
    world.ordo(&["job", "add", "often", "--every", "300ms", "--", "true"]).done();
    eventually("it fired three times", || (world.runs("often").len() >= 3).then_some(()));
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean: 3 streams,"));
    assert_eq!(world.json(&["store", "stats"])["driver"], "postgres");
    world.ordo(&["store", "backup", "copy.db"]).refused(1, &["pg_dump"]);
    assert_eq!(daemon.stop().0, 0);
    assert!(!world.file(".ordo/orchestrator.db").exists(), "nothing is kept beside the database");
    let daemon = world.serve_with(&["--store", &url]);
    assert_eq!(labels(&world), ["a", "often"]);
    assert_eq!(daemon.stop().0, 0);
    assert!(world.ordo(&["store", "check", "--store", &url]).done().out.starts_with("clean: 3 streams,"));
    assert!(world.ordo(&["store", "reindex", "--store", &url]).done().out.contains("rebuilt"));
    assert!(world.ordo(&["store", "check", "--store", &url]).done().out.starts_with("clean: 3 streams,"));
    world.ordo(&["store", "compact", "--store", &url]).refused(2, &["VACUUM"]);
}

/// Places for two and memory for four: the rest waits in the database until it is asked for.
#[test]
fn more_runs_than_memory_holds_wait_in_the_database_and_all_get_their_turn() {
    const JOBS: usize = 30;
    let (server, world) = (TestServer::join(), World::new());
    world.write("ordo.toml", "[pools.fast]\nslots = 2\nqueue = 4\n");
    let daemon = world.serve_with(&["--store", &server.fresh_url()]);
    let at = SystemClock.now().plus(Millis::from_secs(2));
    let trigger = json!({ "type": "scheduled", "at": at });
    let job = json!({ "label": "many", "tool_name": "noop", "tool_input": {}, "trigger": trigger });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let adding = world.client();
    runtime.block_on(adding.post::<Value, _>("/v1/jobs/batch", &json!({ "jobs": vec![job; JOBS] }))).unwrap();
    eventually("all are over", || {
        let completed = world.json(&["run", "list", "--status", "completed", "--all"]);
        (completed.as_array().unwrap().len() >= JOBS).then_some(())
    });
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn a_deployment_moves_to_a_database_and_back() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let daemon = world.serve();
    world.ordo(&["job", "add", "a", "--every", "1h", "--", "echo", "hi"]).done();
    world.ordo(&["job", "trigger", "a", "--wait"]).done();
    world.ordo(&["job", "add", "b", "--every", "1h", "--", "true"]).done();
    world.ordo(&["store", "copy", ".ordo/orchestrator.db", &url]).refused(1, &["is held by process"]);
    assert_eq!(daemon.stop().0, 0);
    let output = world.ordo(&["store", "copy", ".ordo/orchestrator.db", &url]).done().out;
    assert!(output.starts_with("copied 3 streams"), "{output}");
    world.ordo(&["store", "copy", ".ordo/orchestrator.db", &url]).refused(1, &["already"]);
    world.ordo(&["store", "copy", "nowhere.db", &url]).refused(1, &["there is no store at"]);
    let daemon = world.serve_with(&["--store", &url]);
    assert_eq!(labels(&world), ["a", "b"]);
    assert_eq!(world.ordo(&["run", "logs", "a"]).done().out, "hi\n");
    world.ordo(&["job", "trigger", "b", "--wait"]).done();
    assert_eq!(daemon.stop().0, 0);
    world.ordo(&["store", "copy", &url, "back.db"]).done();
    assert!(world.ordo(&["store", "check", "--store", "back.db"]).done().out.starts_with("clean: 3 streams,"));
    let daemon = world.serve_with(&["--store", "back.db"]);
    assert_eq!((labels(&world).len(), world.runs("b").len()), (2, 1));
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn a_database_that_cannot_be_used_is_refused_with_what_to_do() {
    let (server, world) = (TestServer::join(), World::new());
    let serve = |url: &str| world.ordo(&["serve", "--listen", "127.0.0.1:0", "--store", url]);
    let nowhere = format!("postgres://ordo:s3cret@127.0.0.1:{}/nowhere?sslmode=disable", server.port());
    let refused = serve(&nowhere);
    refused.refused(1, &["unavailable", "does not exist", "see whether the database runs"]);
    assert!(!refused.err.contains("s3cret"), "{refused:?}");
    serve("postgres://127.0.0.1:1/x?sslmode=maybe").refused(2, &["verify-full"]);
    world.write("ordo.toml", "[store]\npath = 'postgres://me:s3cret@h/x'\n");
    let shown = world.ordo(&["config"]).done().out;
    assert!(shown.contains("postgres://me@h/x") && !shown.contains("s3cret"), "{shown}");
}
