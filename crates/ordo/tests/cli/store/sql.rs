//! Jobs, runs, occurrences and incidents, read with SQL as people would.

use std::process::Command;

use ordo_store_postgres::testing::{TestServer, programs};
use serde_json::Value;

use crate::common::{World, eventually};

/// A schema of its own, read with `psql`.
pub(super) struct Psql {
    address: String,
    pub(super) schema: String,
}

impl Psql {
    pub(super) fn of(server: &TestServer, url: &str) -> Psql {
        let schema = url.rsplit_once("schema=").unwrap().1.to_owned();
        Psql { address: format!("127.0.0.1 port={}", server.port()), schema }
    }

    pub(super) fn command(&self, user: &str) -> Command {
        let mut psql = Command::new(programs().join("psql"));
        let target = format!("host={} user={user} dbname=postgres", self.address);
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--dbname"])
            .arg(target);
        psql
    }

    /// What comes of a statement in which `ordo` stands for the schema.
    pub(super) fn ask_as(&self, user: &str, sql: &str) -> Result<String, String> {
        let sql = sql.replace("ordo.", &format!("{}.", self.schema));
        let answer = self.command(user).args(["--command", &sql]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if answer.status.success() { Ok(text(&answer.stdout)) } else { Err(text(&answer.stderr)) }
    }

    pub(super) fn ask(&self, sql: &str) -> String {
        self.ask_as("ordo", sql).unwrap()
    }
}

pub(super) fn file(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_ordo_knows_is_read_with_sql_by_a_role_that_may_do_nothing_else() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    world.ordo(&["job", "add", "good", "--every", "1h", "--", "true"]).done();
    world.ordo(&["job", "add", "bad", "--", "sh", "-c", "exit 3"]).done();
    world.ordo(&["job", "trigger", "good", "--wait"]).done();
    world.ordo(&["job", "trigger", "bad", "--wait"]);
    world.ordo(&["job", "add", "often", "--every", "200ms", "--", "true"]).done();
    world.ordo(&["incident", "start", "The disk is full", "--severity", "sev2"]).done();
    eventually("it fired twice", || (world.runs("often").len() >= 2).then_some(()));
    world.ordo(&["job", "pause", "often"]).done();

    assert_eq!(
        psql.ask("SELECT state, trigger, schedule, tool FROM ordo.jobs WHERE label = 'good'"),
        "active|scheduled|1h|shell"
    );
    assert_eq!(psql.ask("SELECT state FROM ordo.jobs WHERE label = 'often'"), "paused");
    let failed = "SELECT r.label, r.cause, r.attempt FROM ordo.runs r JOIN ordo.jobs j ON j.id = r.job_id WHERE r.status = 'failed'";
    assert_eq!(psql.ask(failed), "bad|manual|1");
    assert!(psql.ask("SELECT reason FROM ordo.runs WHERE status = 'failed'").contains('3'));
    let fired =
        "SELECT count(*) >= 2 FROM ordo.occurrences WHERE label = 'often' AND outcome IN ('fired', 'fired_late')";
    assert_eq!(psql.ask(fired), "t");
    assert_eq!(psql.ask("SELECT title, severity, status FROM ordo.incidents"), "The disk is full|sev2|open");

    let script = psql
        .command("ordo")
        .arg(format!("--variable=schema={}", psql.schema))
        .arg("--file")
        .arg(file("deploy/postgres/read-only.sql"))
        .output()
        .unwrap();
    assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
    assert_eq!(psql.ask_as("ordo_reader", "SELECT count(*) FROM ordo.jobs").unwrap(), "3");
    for refused in ["SELECT * FROM ordo.stored_runs", "SELECT * FROM ordo.events", "DELETE FROM ordo.incidents"] {
        let error = psql.ask_as("ordo_reader", refused).unwrap_err();
        assert!(error.contains("permission denied") || error.contains("read-only"), "{error}");
    }
    for question in questions() {
        psql.ask_as("ordo_reader", &question).unwrap_or_else(|error| panic!("{question}: {error}"));
    }
    assert_eq!(daemon.stop().0, 0);
}

/// All statements of the dashboard and of the document, as they are sent.
fn questions() -> Vec<String> {
    let dashboard: Value =
        serde_json::from_str(&std::fs::read_to_string(file("deploy/grafana/ordo-postgres.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let filled = |sql: &str| {
        sql.replace("$schema.", "ordo.")
            .replace("$__timeGroupAlias(fired_at, $__interval)", "date_bin('1 minute', fired_at, 'epoch') AS time")
            .replace("$__timeFilter(fired_at)", "fired_at BETWEEN now() - interval '6 hours' AND now()")
    };
    let mut questions: Vec<String> =
        panels.map(|panel| filled(panel["targets"][0]["rawSql"].as_str().unwrap())).collect();
    let document = std::fs::read_to_string(file("docs/sql.md")).unwrap();
    questions.extend(document.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()));
    assert!(questions.len() > 12, "{questions:?}");
    questions
}

#[test]
fn a_database_from_before_there_were_tables_is_filled_by_a_reindex() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    world.ordo(&["job", "add", "a", "--every", "1h", "--", "true"]).done();
    world.ordo(&["job", "trigger", "a", "--wait"]).done();
    assert_eq!(daemon.stop().0, 0);
    // As the layout before had it, without what the new one has.
    psql.ask(
        "DROP VIEW ordo.jobs, ordo.runs, ordo.incidents, ordo.occurrences; \
         DROP TABLE ordo.stored_jobs, ordo.stored_runs, ordo.stored_incidents, ordo.submissions, ordo.starts; \
         DROP FUNCTION ordo.notify_of_submissions; \
         ALTER INDEX ordo.entities_by_partition_and_alarm RENAME TO entities_by_alarm; \
         UPDATE ordo.meta SET layout = 3",
    );
    world.ordo(&["serve", "--store", &url]).refused(1, &["ordo store reindex"]);
    assert!(world.ordo(&["store", "reindex", "--store", &url]).done().out.contains("rebuilt"));
    assert!(world.ordo(&["store", "check", "--store", &url]).done().out.starts_with("clean: "));
    assert_eq!(psql.ask("SELECT label, status FROM ordo.runs"), "a|completed");
    let daemon = world.serve_with(&["--store", &url]);
    assert_eq!(world.runs("a").len(), 1);
    assert_eq!(daemon.stop().0, 0);
}
