//! Submissions as programs make them: rows inserted in transactions of their own, with any driver.

use std::time::Duration;

use ordo_store_postgres::testing::TestServer;

use super::sql::{Psql, file};
use crate::common::{World, eventually, within};

const LONG: Duration = Duration::from_secs(300);

fn outcome(psql: &Psql, id: &str) -> Option<(String, String)> {
    let row = psql.ask(&format!("SELECT state || '|' || coalesce(reason, '') FROM ordo.submissions WHERE id = '{id}'"));
    let (state, reason) = row.split_once('|')?;
    (state != "waiting").then(|| (state.to_owned(), reason.to_owned()))
}

fn waiting(psql: &Psql) -> usize {
    psql.ask("SELECT count(*) FROM ordo.submissions WHERE state = 'waiting'").parse().unwrap()
}

fn id(n: u32) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

#[test]
fn what_a_transaction_submits_happens_after_its_commit_and_what_is_rolled_back_never() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    world.ordo(&["job", "add", "greet", "--", "sh", "-c", "echo hello $1", "sh"]).done();
    let insert = |n: u32, columns: &str, values: &str| {
        format!("INSERT INTO ordo.submissions (id, {columns}) VALUES ('{}', {values});", id(n))
    };
    // A job that is there, one with another input, a tool once, a whole job; all or nothing with what is the host's own.
    let all = [
        insert(1, "label", "'greet'"),
        insert(2, "label, input", r#"'greet', '{"script": "echo from SQL"}'"#),
        insert(3, "label, tool, input", r#"'once', 'shell', '{"script": "echo once"}'"#),
        insert(
            4,
            "job",
            r#"'{"label": "whole", "tool_name": "noop", "trigger": {"type": "scheduled", "every": "1h"}}'"#,
        ),
        // The job that it runs is added by the same transaction.
        insert(5, "label", "'whole'"),
    ]
    .concat();
    psql.ask(&format!("BEGIN; CREATE TABLE ordo.mine (n int); {all} ROLLBACK"));
    psql.ask(&format!("BEGIN; CREATE TABLE ordo.mine (n int); {all} COMMIT"));
    for n in 1..=5 {
        let (state, reason) = eventually("it is settled", || outcome(&psql, &id(n)));
        assert_eq!((state.as_str(), reason.as_str()), ("accepted", ""), "{n}");
    }
    eventually("they ran", || {
        (psql.ask("SELECT count(*) FROM ordo.runs WHERE status = 'completed'") == "4").then_some(())
    });
    let by_label = "SELECT string_agg(label || ' ' || cause, ', ' ORDER BY label, cause) FROM ordo.runs";
    assert_eq!(
        psql.ask(by_label),
        "greet manual, greet manual, once schedule, whole manual",
        "none of what was rolled back"
    );
    let joined = "SELECT r.status FROM ordo.submissions s JOIN ordo.runs r ON r.id = s.run_id WHERE s.id =";
    assert_eq!(psql.ask(&format!("{joined} '{}'", id(2))), "completed");
    assert!(
        world
            .ordo(&["run", "logs", &psql.ask(&format!("SELECT run_id FROM ordo.submissions WHERE id = '{}'", id(2)))])
            .done()
            .out
            .contains("from SQL")
    );
    // Who did it is the role that inserted it.
    let history = world.ordo(&["job", "history", "whole"]).done().out;
    assert!(history.contains("ordo (sql)"), "{history}");
    assert!(psql.ask_as("ordo", &insert(1, "label", "'greet'")).unwrap_err().contains("duplicate key"));
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn what_cannot_be_done_is_refused_where_people_see_it() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    for _ in 0..2 {
        world.ordo(&["job", "add", "twin", "--", "true"]).done();
    }
    let refused = [
        ("label", "'nobody'", "no job is called \"nobody\""),
        ("label", "'twin'", "several jobs are called \"twin\""),
        ("label, tool, input", "'a', 'shell', '{\"comand\": 1}'", "comand"),
        ("label, tool, run_at", "'a', 'noop', 'infinity'", "run_at"),
        ("label, tool, run_at", "'a', 'noop', '-infinity'", "run_at"),
        ("label, tool, run_at", "'a', 'noop', '294276-12-31'", "run_at"),
        ("label, submitted_at", "'twin', 'infinity'", "submitted_at"),
        ("label, taken_at", "'twin', '-infinity'", "taken_at"),
        ("job", "'{\"label\": \"a\"}'", "tool_name"),
        ("job", "'[]'", "must be an object"),
        (
            "job",
            "'{\"label\": \"a\", \"tool_name\": \"noop\", \"trigger\": {\"type\": \"scheduled\", \"cron\": \"nonsense\"}}'",
            "trigger.cron",
        ),
        (
            "label, tool, input",
            "'a', 'shell', '{\"command\": \"x\", \"env\": {\"A\": {\"secret\": \"none\"}}}'",
            "no secret",
        ),
    ];
    for (n, (columns, values, _)) in (1..).zip(refused) {
        psql.ask(&format!("INSERT INTO ordo.submissions (id, {columns}) VALUES ('{}', {values})", id(n)));
    }
    for (n, (_, values, words)) in (1..).zip(refused) {
        let (state, reason) = eventually("it is settled", || outcome(&psql, &id(n)));
        assert!(state == "refused" && reason.contains(words), "{values}: {state} {reason}");
    }
    // What can never be right fails the statement itself.
    let wrong = [
        ("id", "gen_random_uuid()", "submissions_give_a_label_or_a_job"),
        ("label, job", "'a', '{}'", "submissions_give_a_label_or_a_job"),
        ("label, run_at", "'a', now()", "submissions_run_at_goes_with_a_tool"),
        ("job, tool", "'{}', 'noop'", "submissions_a_job_says_everything_itself"),
        ("label", "''", "submissions_label_has_1_to_200_bytes"),
        ("label, input", "'a', to_jsonb(repeat('x', 524288))", "submissions_input_has_at_most_524288_bytes"),
    ];
    for (columns, values, constraint) in wrong {
        let error =
            psql.ask_as("ordo", &format!("INSERT INTO ordo.submissions ({columns}) VALUES ({values})")).unwrap_err();
        assert!(error.contains(constraint), "{error}");
    }
    // A tool that nobody offers may come back: it waits, and says for what.
    psql.ask(&format!("INSERT INTO ordo.submissions (id, label, tool) VALUES ('{}', 'later', 'elsewhere')", id(50)));
    let reason =
        format!("SELECT coalesce(reason, '') FROM ordo.submissions WHERE id = '{}' AND state = 'waiting'", id(50));
    eventually("it says for what it waits", || psql.ask(&reason).contains("unknown tool").then_some(()));
    let said = daemon.said();
    assert!(said.contains("a submission was refused") && said.contains("no job is called"), "{said}");
    let metrics =
        std::process::Command::new("curl").args(["-s", &format!("{}/metrics", daemon.place)]).output().unwrap();
    let metrics = String::from_utf8_lossy(&metrics.stdout);
    assert!(metrics.contains(r#"ordo_submissions_total{outcome="refused"} 12"#), "{metrics}");
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn a_node_that_is_killed_between_the_commit_and_its_note_does_nothing_twice() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    world.ordo(&["job", "add", "there", "--", "true"]).done();
    // No outcome can be written down.
    psql.ask(
        "CREATE FUNCTION ordo.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$; \
         CREATE TRIGGER fail BEFORE UPDATE OF state ON ordo.submissions FOR EACH ROW EXECUTE FUNCTION ordo.fail()",
    );
    psql.ask(&format!(
        "INSERT INTO ordo.submissions (id, label, tool) VALUES ('{}', 'new', 'noop'); \
         INSERT INTO ordo.submissions (id, label) VALUES ('{}', 'there')",
        id(1),
        id(2)
    ));
    eventually("the new job is there", || {
        (psql.ask("SELECT count(*) FROM ordo.jobs WHERE label = 'new'") == "1").then_some(())
    });
    // What fails to note the first half comes to the second when it is taken again.
    psql.ask("UPDATE ordo.submissions SET next_try_at = now() WHERE label = 'there'");
    eventually("the run is there", || {
        (psql.ask("SELECT count(*) FROM ordo.runs WHERE label = 'there'") == "1").then_some(())
    });
    assert_eq!(waiting(&psql), 2);
    daemon.kill();
    psql.ask("DROP TRIGGER fail ON ordo.submissions; UPDATE ordo.submissions SET next_try_at = now()");
    let daemon = world.serve_with(&["--store", &url]);
    for n in [1, 2] {
        assert_eq!(eventually("it is settled", || outcome(&psql, &id(n))).0, "accepted");
    }
    assert_eq!(psql.ask("SELECT string_agg(label, ' ' ORDER BY label) FROM ordo.jobs"), "new there");
    assert_eq!(psql.ask("SELECT count(*) FROM ordo.runs WHERE label = 'there'"), "1");
    let named = "SELECT count(*) FROM ordo.submissions s JOIN ordo.jobs j ON j.id = s.job_id";
    assert_eq!(psql.ask(named), "2", "each row names the job it led to");
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn ten_thousand_submissions_become_ten_thousand_jobs_by_two_nodes_at_once() {
    let (server, world, other) = (TestServer::join(), World::new(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let nodes =
        [world.serve_with(&["--store", &url, "--node", "a"]), other.serve_with(&["--store", &url, "--node", "b"])];
    psql.ask(
        "INSERT INTO ordo.submissions (label, tool, run_at) \
         SELECT 'job ' || n, 'noop', now() + interval '1 day' FROM generate_series(1, 10000) AS n",
    );
    within(LONG, "all are settled", || (waiting(&psql) == 0).then_some(()));
    let counted = "SELECT count(*), count(DISTINCT job_id), count(DISTINCT s.label) FROM ordo.submissions s \
         JOIN ordo.jobs j ON j.id = s.job_id AND j.label = s.label WHERE s.state = 'accepted'";
    assert_eq!(psql.ask(counted), "10000|10000|10000");
    assert_eq!(psql.ask("SELECT count(*) FROM ordo.jobs"), "10000");
    for node in nodes {
        let (code, said) = node.stop();
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
fn more_runs_than_a_job_lets_wait_wait_in_the_table_and_none_is_lost() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    world.ordo(&["job", "add", "one-by-one", "--tool", "noop"]).done();
    psql.ask("INSERT INTO ordo.submissions (label) SELECT 'one-by-one' FROM generate_series(1, 300)");
    within(LONG, "all are settled", || (waiting(&psql) == 0).then_some(()));
    within(LONG, "all ran", || {
        (psql.ask("SELECT count(*) FROM ordo.runs WHERE status = 'completed'") == "300").then_some(())
    });
    assert_eq!(
        psql.ask("SELECT count(*), count(DISTINCT run_id) FROM ordo.submissions WHERE state = 'accepted'"),
        "300|300"
    );
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn a_unique_key_holds_for_submissions_too() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    let job = |on_conflict: &str| {
        format!(
            r#"'{{"label": "u-{on_conflict}", "tool_name": "noop", "trigger": {{"type": "manual"}}, "unique_key": {{"key": "label", "window": "1h", "on_conflict": "{on_conflict}"}}}}'"#
        )
    };
    for (n, on_conflict) in [(1, "merge"), (2, "merge"), (3, "refuse"), (4, "refuse")] {
        psql.ask(&format!("INSERT INTO ordo.submissions (id, job) VALUES ('{}', {})", id(n), job(on_conflict)));
        let (state, reason) = eventually("it is settled", || outcome(&psql, &id(n)));
        assert_eq!(state, if n == 4 { "refused" } else { "accepted" }, "{reason}");
    }
    assert_eq!(psql.ask("SELECT count(DISTINCT job_id) FROM ordo.submissions"), "2");
    assert_eq!(psql.ask("SELECT count(*) FROM ordo.jobs"), "2");
    assert_eq!(daemon.stop().0, 0);
}

#[test]
fn a_role_that_may_submit_may_do_nothing_else() {
    let (server, world) = (TestServer::join(), World::new());
    let url = server.fresh_url();
    let psql = Psql::of(&server, &url);
    let daemon = world.serve_with(&["--store", &url]);
    world.ordo(&["job", "add", "there", "--", "true"]).done();
    let script = psql
        .command("ordo")
        .arg(format!("--variable=schema={}", psql.schema))
        .arg("--file")
        .arg(file("deploy/postgres/submit-only.sql"))
        .output()
        .unwrap();
    assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
    psql.ask_as("ordo_submitter", &format!("INSERT INTO ordo.submissions (id, label) VALUES ('{}', 'there')", id(1)))
        .unwrap();
    assert_eq!(eventually("it is settled", || outcome(&psql, &id(1))).0, "accepted");
    assert_eq!(psql.ask("SELECT submitted_by FROM ordo.submissions"), "ordo_submitter");
    let own = psql.ask_as("ordo_submitter", "INSERT INTO ordo.submissions (label) VALUES ('there') RETURNING id");
    assert_eq!(own.unwrap().len(), 36);
    for refused in [
        "SELECT * FROM ordo.submissions",
        "SELECT * FROM ordo.jobs",
        "SELECT * FROM ordo.events",
        "INSERT INTO ordo.submissions (label, submitted_by) VALUES ('there', 'somebody')",
        "INSERT INTO ordo.submissions (label, state) VALUES ('there', 'accepted')",
        "UPDATE ordo.submissions SET label = 'x'",
        "DELETE FROM ordo.submissions",
    ] {
        let error = psql.ask_as("ordo_submitter", refused).unwrap_err();
        assert!(error.contains("permission denied"), "{refused}: {error}");
    }
    assert_eq!(daemon.stop().0, 0);
}
