//! Incidents from the command line, and from jobs and monitors, on the real binary.

use serde_json::Value;

use crate::common::{World, eventually};

const CONFIGURATION: &str = "\
[senders.file]
path = 'news.ndjson'
[escalation.default]
steps = [
  { after = '200ms', notify = 'ana' },
  { after = '200ms', notify = 'ben' },
  { after = '1h', notify = 'cleo' },
]
";

/// What was sent about the streams of one kind, in order.
fn sent(world: &World, kind: &str) -> Vec<String> {
    let news = world.read("news.ndjson");
    let lines = news.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_kind = lines.filter(|line| line["stream"].as_str().unwrap().contains(kind));
    of_kind.map(|line| line["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_incident_is_started_worked_on_and_exported() {
    let world = World::new();
    let _daemon = world.serve();
    let made = world.json(&["incident", "start", "checkout is down", "--severity", "high", "--as", "ana"]);
    let id = made["id"].as_str().unwrap();
    world.ordo(&["incident", "assign", id, "ben", "--as", "ana"]).done();
    world.ordo(&["incident", "severity", id, "sev1"]).done();
    world.ordo(&["incident", "ack", id, "--as", "ben"]).done();
    world.ordo(&["incident", "note", id, "Action: add a test", "--as", "ben"]).done();
    let said = world.ordo(&["incident", "status", id, "resolved", "-m", "rolled back", "--as", "ben"]).done().out;
    assert!(said.contains("resolved, sev1, ben"), "{said}");
    world.ordo(&["incident", "status", id, "mitigating"]).refused(1, &["only open", "[wrong_state]"]);
    let list = world.ordo(&["incident", "list", "--status", "resolved"]).done().out;
    assert!(list.contains("checkout is down") && list.contains(&id[..13]), "{list}");
    let shown = world.ordo(&["incident", "show", id]).done().out;
    assert!(shown.contains("Acknowledged  local for ben (cli)"), "{shown}");
    world.ordo(&["incident", "export", id, "--tz", "Europe/Berlin", "--to", "postmortem.md"]).done();
    let document = world.read("postmortem.md");
    for wanted in [
        "# checkout is down",
        "## Summary",
        "## Impact",
        "**local for ben** (cli): acknowledged it",
        "- [ ] add a test",
    ] {
        assert!(document.contains(wanted), "{wanted:?} is not in\n{document}");
    }
}

#[test]
fn a_failing_job_opens_one_incident_that_escalates_until_acknowledged_and_success_resolves_it() {
    let world = World::new();
    world.write("ordo.toml", CONFIGURATION);
    let _daemon = world.serve();
    let reaction = ["--on-failure-incident", "sev2", "--on-failure-after", "2", "--resolve-on-recovery"];
    world.ordo(&[&["job", "add", "report"], &reaction[..], &["--", "test", "-e", "good"]].concat()).done();
    for number in 1..=2 {
        world.ordo(&["job", "trigger", "report"]).done();
        eventually("it failed", || {
            let failed = world.runs("report").iter().filter(|run| run["status"]["type"] == "failed").count();
            (failed == number).then_some(())
        });
    }
    eventually("both were sent", || {
        (sent(&world, "ordo-incident-") == ["IncidentStarted", "Escalated", "Escalated"]).then_some(())
    });
    let open = world.json(&["incident", "list", "--status", "open"]);
    let incident = &open[0];
    assert_eq!((open.as_array().unwrap().len(), incident["severity"].as_str()), (1, Some("sev2")));
    let id = incident["id"].as_str().unwrap();
    world.ordo(&["incident", "ack", id, "--as", "ben"]).done();
    let shown = world.json(&["incident", "show", id]);
    assert_eq!(shown["escalation"]["due_at"], Value::Null, "nobody else is notified");
    world.write("good", "");
    world.ordo(&["job", "trigger", "report"]).done();
    let last = eventually("it is resolved", || {
        let shown = world.json(&["incident", "show", id]);
        (shown["status"] == "resolved").then_some(shown)
    });
    assert_eq!(last["timeline"].as_array().unwrap().last().unwrap()["data"]["by"]["source"], "job");
    eventually("the job's news were sent", || {
        (sent(&world, "ordo-job-") == ["JobFailed", "JobFailed", "JobRecovered"]).then_some(())
    });
}

#[test]
fn a_watched_command_keeps_its_exit_code_and_pings_its_monitor() {
    let world = World::new();
    let daemon = world.serve();
    world.ordo(&["monitor", "add", "backup", "--every", "1h"]).done();
    let ran = world.ordo(&["watch", "--monitor", "backup", "--", "sh", "-c", "echo copied; echo oops >&2"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "copied\n", "oops\n"));
    let shown = world.json(&["monitor", "show", "backup"]);
    let signals: Vec<&str> = shown["pings"].as_array().unwrap().iter().map(|p| p["signal"].as_str().unwrap()).collect();
    assert_eq!((shown["status"].as_str(), signals), (Some("up"), vec!["start", "success"]));
    assert!(shown["last_said"].as_str().unwrap().contains("copied"));
    assert_eq!(world.ordo(&["watch", "--monitor", "backup", "--", "sh", "-c", "exit 7"]).code, 7);
    eventually("the failure is an incident", || {
        let open = world.json(&["incident", "list", "--status", "open"]);
        (open[0]["identifier"] == "monitor:backup").then_some(())
    });
    assert!(world.ordo(&["monitor", "list"]).done().out.contains("failing"));
    daemon.kill();
    let ran = world.ordo(&["watch", "--monitor", "backup", "--", "sh", "-c", "echo still; exit 5"]);
    assert_eq!((ran.code, ran.out.as_str()), (5, "still\n"), "a server that is down keeps nothing from running");
    assert!(ran.err.contains("cannot be pinged"), "{ran:?}");
    assert_eq!(world.ordo(&["watch", "--monitor", "backup", "--", "/none/such"]).code, 127);
}
