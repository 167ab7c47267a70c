//! Transfer in from another scheduler: nothing runs twice, nothing is lost silently, and doing it again changes nothing.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::World;

const CRONTAB: &str = r#"
SHELL=/bin/sh
GREETING="hello there"
MAILTO=ops@example.org
# Says hello
# every night
0 2 * * * cat; echo "$GREETING" \%%line one%line two
CRON_TZ=Asia/Tokyo
*/5 * * * * poll
@reboot echo started
"#;

/// What became of each entry, by action.
fn actions(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["action"].as_str().unwrap()).collect()
}

fn labelled(items: &Value, part: &str) -> String {
    let labels = items.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap());
    labels.into_iter().find(|label| label.contains(part)).unwrap().to_owned()
}

#[test]
fn a_crontab_moves_in_held_and_runs_as_it_did() {
    let world = World::new();
    let _daemon = world.serve();
    world.write("jobs", CRONTAB);

    let tried = world.ordo(&["import", "crontab", "jobs", "--dry-run", "--tz", "Europe/Berlin"]).done();
    assert!(
        tried.out.contains("At 02:00 (Europe/Berlin)") && tried.out.contains("3 new; nothing was done"),
        "{tried:?}"
    );
    assert!(tried.err.contains("MAILTO") && tried.err.contains("@reboot"), "{tried:?}");
    assert_eq!(world.json(&["job", "list"]), json!([]));

    let import = ["import", "crontab", "jobs", "--held", "--tz", "Europe/Berlin", "--cwd", "/"];
    let made = world.json(&import);
    assert_eq!(actions(&made), ["new", "new", "new"]);
    let hello = world.json(&["job", "show", &labelled(&made, "jobs/cat-")]);
    assert_eq!(hello["state"], "held");
    assert_eq!(hello["description"], "Says hello\nevery night\nMAILTO=ops@example.org");
    assert_eq!(hello["trigger"]["timezone"], "Europe/Berlin");
    let poll = world.json(&["job", "show", &labelled(&made, "poll")]);
    assert_eq!(
        (&poll["trigger"]["timezone"], &poll["block"]),
        (&json!("Asia/Tokyo"), &json!({"concurrent": {"max": 16}}))
    );
    assert!(world.ordo(&["job", "show", hello["id"].as_str().unwrap()]).done().out.contains("Says hello"));

    // A second time nothing is new; what people made of a job stays.
    world.ordo(&["job", "resume", hello["id"].as_str().unwrap()]).done();
    world.ordo(&["job", "update", poll["id"].as_str().unwrap(), "--timeout", "5m"]).done();
    assert_eq!(actions(&world.json(&import)), ["same", "same", "same"]);
    assert_eq!(world.json(&["job", "show", hello["id"].as_str().unwrap()])["state"], "active");

    world.ordo(&["job", "trigger", hello["id"].as_str().unwrap()]).done();
    let run = world.over(hello["id"].as_str().unwrap());
    assert_eq!(run["status"]["type"], "completed", "{run}");
    let logs = world.ordo(&["run", "logs", hello["id"].as_str().unwrap()]).done().out;
    assert_eq!(logs, "line one\nline two\nhello there %\n");
}

#[test]
fn a_crontab_that_changed_changes_its_jobs() {
    let world = World::new();
    let _daemon = world.serve();
    world.write("jobs", CRONTAB);
    let import = ["import", "crontab", "jobs", "--tz", "UTC"];
    let made = world.json(&import);
    let later = CRONTAB.replace("0 2 * * *", "30 4 * * *").replace("poll", "poll --all").replace("# every night\n", "");
    world.write("jobs", &later);

    let difference = world.ordo(&[import.as_slice(), &["--dry-run"]].concat()).done().out;
    assert!(difference.contains("At 02:00 (UTC) → At 04:30 (UTC)"), "{difference}");
    assert!(difference.contains("1 new, 1 changed, 1 same, 1 gone"), "{difference}");
    let changed = world.json(&import);
    assert_eq!(actions(&changed), ["changed", "new", "same", "gone"]);
    let hello = world.json(&["job", "show", &labelled(&made, "cat-")]);
    assert_eq!((&hello["trigger"]["cron"], &hello["revision"]), (&json!("30 4 * * *"), &json!(2)));
    assert_eq!(hello["description"], "Says hello\nMAILTO=ops@example.org");
    // What is gone from the file is reported, not removed.
    assert_eq!(actions(&world.json(&import)), ["same", "same", "same", "gone"]);
    world.ordo(&["job", "cancel", &labelled(&made, "poll")]).done();
    assert_eq!(actions(&world.json(&import)), ["same", "same", "same"]);
}

#[test]
fn what_is_refused_is_reported_and_the_rest_is_imported() {
    let world = World::new();
    let _daemon = world.serve();
    world.write("jobs", "0 25 * * * too late\nhello\nCRON_TZ=Mars/Base\n@daily x\nCRON_TZ=UTC\n@daily fine\n");
    let import = ["-o", "json", "import", "crontab", "jobs"];
    let ran = world.ordo(&import);
    assert_eq!(ran.code, 1, "{ran:?}");
    let items = ran.json();
    assert_eq!(actions(&items), ["refused", "refused", "new", "refused"], "{items}");
    assert!(items[0]["reason"].as_str().unwrap().contains("hour"), "{items}");
    assert!(items[1]["reason"].as_str().unwrap().contains("Mars/Base"), "{items}");
    assert_eq!(items[3]["place"], "line 2");
    assert_eq!(world.json(&["job", "list"]).as_array().unwrap().len(), 1);

    world.write("empty", "# nothing\n");
    world.ordo(&["import", "crontab", "empty"]).refused(1, &["no job in empty"]);
    world.ordo(&["import", "crontab", "nowhere"]).refused(1, &["cannot read nowhere"]);
    world.ordo(&["import", "crontab", "jobs", "--server", "http://127.0.0.1:9"]).refused(3, &["ordo serve"]);
    world.ordo(&["import", "crontab", "jobs", "--system", "--user"]).refused(2, &["--user"]);
}

#[test]
fn a_system_crontab_is_known_and_many_lines_go_in_batches() {
    let world = World::new();
    let _daemon = world.serve();
    let lines: String = (0..1_203).map(|n| format!("{} 3 * * * root job-{n}\n", n % 60)).collect();
    let mut child = world
        .command(&["import", "crontab", "-", "--name", "many", "--held", "-o", "ndjson", "--tz", "UTC"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(out.lines().count(), 1_203);
    let first: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert!(first["id"].is_string() && first["label"].as_str().unwrap().starts_with("many/job-0-"), "{first}");
    assert!(first["warnings"][0].as_str().unwrap().contains("not as root"), "{first}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("read as a system crontab"));
    let job = world.json(&["job", "show", first["id"].as_str().unwrap()]);
    assert_eq!(job["tool_input"], json!({"script": "job-0"}));
    assert_eq!(world.json(&["job", "list", "--all", "--state", "held"]).as_array().unwrap().len(), 1_203);
}

#[test]
fn cronjobs_move_in_with_what_could_not_come_along() {
    let world = World::new();
    let _daemon = world.serve();
    world.write(
        "jobs.yaml",
        r#"
kind: CronJob
metadata: { name: report, namespace: shop }
spec:
  schedule: "0 2 * * *"
  concurrencyPolicy: Replace
  suspend: true
  jobTemplate:
    spec:
      backoffLimit: 1
      template:
        spec:
          restartPolicy: OnFailure
          serviceAccountName: reporter
          containers:
            - name: report
              image: "busybox"
              command: ["echo"]
              args: ["to", "$(WHERE)"]
              env: [{ name: WHERE, value: people }]
---
kind: CronJob
metadata: { name: nothing }
spec: { schedule: "@daily", jobTemplate: { spec: { template: { spec: { containers: [{ image: x }] } } } } }
---
kind: ConfigMap
metadata: { name: settings }
"#,
    );
    let import = ["-o", "json", "import", "cronjob", "jobs.yaml"];
    let ran = world.ordo(&import);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("ConfigMap settings is left out"), "{ran:?}");
    let items = ran.json();
    assert_eq!(actions(&items), ["new", "refused"]);
    assert!(items[0]["warnings"].to_string().contains("serviceAccountName"), "{items}");
    let job = world.json(&["job", "show", "shop/report"]);
    assert_eq!((&job["state"], &job["block"]), (&json!("held"), &json!("cover")));
    assert_eq!(job["retry"]["max_attempts"], 2);
    assert_eq!(actions(&world.ordo(&import).json()), ["same", "refused"]);

    world.ordo(&["job", "resume", "shop/report"]).done();
    world.ordo(&["job", "trigger", "shop/report"]).done();
    world.over("shop/report");
    assert_eq!(world.ordo(&["run", "logs", "shop/report"]).done().out, "to people\n");
    assert!(world.ordo(&["import", "cronjob", "jobs.yaml"]).err.contains("suspended in the file"));
    world.write("bad.yaml", "a: [");
    world.ordo(&["import", "cronjob", "bad.yaml"]).refused(1, &["not valid YAML"]);
}

#[test]
fn actions_become_jobs_or_a_line_that_says_why_not() {
    let world = World::new();
    let _daemon = world.serve();
    let action = |label: &str, status: &str, recurrence: &str| {
        format!(
            r#"{{"id": "6f0c9c9e-6d3b-4c0e-9a52-0f7d0a7d3c11", "label": "{label}", "tool_name": "noop", "tool_input": {{}},
            "trigger": {{"type": "scheduled", "next_tick_at": "2035-01-01T00:00:00Z"}}, "status": {status},
            "recurrence": {recurrence}, "created_at": "2026-11-01T00:00:00Z", "updated_at": "2026-11-01T00:00:00Z"}}"#
        )
    };
    let pending = r#"{"type": "pending"}"#;
    let done = r#"{"type": "completed", "result": 1}"#;
    let list = [action("once", pending, "null"), action("often", pending, "90"), action("done", done, "null")];
    world.write("actions.json", &format!("[{}]", list.join(",")));
    let ran = world.ordo(&["import", "actions", "actions.json"]).done();
    assert!(ran.out.contains("2 new") && ran.err.contains("has completed"), "{}{}", ran.out, ran.err);
    assert_eq!(world.json(&["job", "show", "often"])["trigger"]["every"], "1m30s");
    assert!(world.ordo(&["import", "actions", "actions.json"]).done().out.contains("2 same"));
}

#[test]
fn a_system_crontab_with_a_user_unknown_here_is_recognised() {
    let world = World::new();
    let _daemon = world.serve();
    world.write("freebsd", "*/11 * * * * operator /usr/libexec/save-entropy\n0 * * * * toor /usr/sbin/newsyslog\n");
    let ran = world.ordo(&["import", "crontab", "freebsd", "--tz", "UTC"]).done();
    assert!(ran.err.contains("read as a system crontab") && ran.err.contains("operator (line 1)"), "{ran:?}");
    assert!(ran.err.contains("not as operator"), "{ran:?}");
    let jobs = world.json(&["job", "list"]);
    let first = jobs[0]["id"].as_str().unwrap();
    let script = world.json(&["job", "show", first])["tool_input"]["script"].clone();
    assert!(!script.as_str().unwrap().contains("operator"), "{script}");
}

#[test]
fn timers_move_in_with_the_services_beside_them() {
    let world = World::new();
    let _daemon = world.serve();
    world.write("greet.timer", "[Timer]\nOnCalendar=Mon..Fri *-*-* 09:00:00 Europe/Berlin\nPersistent=true\n");
    world.write(
        "greet.service",
        "[Service]\nType=oneshot\nUser=nobody\nEnvironment=\"WHOM=dear reader\"\nExecStart=/bin/echo hello ${WHOM}\n",
    );
    let tried = world.ordo(&["import", "systemd", "greet.timer", "--dry-run"]).done();
    assert!(tried.out.contains("At 09:00") && tried.out.contains("1 new"), "{tried:?}");
    assert!(tried.err.contains("greet.service was read from the same folder"), "{tried:?}");
    assert!(tried.err.contains("not as nobody"), "{tried:?}");
    world.ordo(&["import", "systemd", "greet.timer", "greet.service"]).done();
    assert!(world.ordo(&["import", "systemd", "greet.timer", "greet.service"]).done().out.contains("1 same"));
    let job = world.json(&["job", "show", "greet"]);
    assert_eq!((&job["misfire"], &job["block"]), (&json!("fire_once_now"), &json!("discard")));
    world.ordo(&["job", "trigger", "greet"]).done();
    assert_eq!(world.over("greet")["status"]["type"], "completed");
    assert_eq!(world.ordo(&["run", "logs", "greet"]).done().out, "hello dear reader\n");
    world.write("lone.timer", "[Timer]\nOnCalendar=daily\n");
    let alone = world.ordo(&["import", "systemd", "lone.timer"]);
    assert_eq!(alone.code, 1, "{alone:?}");
    assert!(alone.out.contains("lone.service"), "{alone:?}");
}

#[test]
fn quartz_workflows_and_dkron_move_in() {
    let world = World::new();
    let _daemon = world.serve();
    world.write(
        "quartz.xml",
        "<job-scheduling-data><schedule><job><name>settle</name><job-class>com.acme.Settle</job-class></job>\
         <trigger><cron><name>t</name><job-name>settle</job-name><cron-expression>0 0/15 * ? * 2-6</cron-expression>\
         </cron></trigger></schedule></job-scheduling-data>",
    );
    let ran = world.ordo(&["import", "quartz", "quartz.xml", "--group", "billing", "--tz", "UTC"]).done();
    assert!(ran.err.contains("@DisallowConcurrentExecution"), "{ran:?}");
    let settle = world.json(&["job", "show", "settle"]);
    assert_eq!((&settle["group"], &settle["tool_name"]), (&json!("billing"), &json!("com.acme.Settle")));
    assert_eq!(settle["trigger"]["cron"], "0 0/15 * ? * MON,TUE,WED,THU,FRI");

    world.write("nightly.yml", "on:\n  schedule: [{cron: '30 5 * * 1-5'}]\n  workflow_dispatch:\n");
    let import = ["import", "github-actions", "nightly.yml", "--repo", "acme/shop"];
    let refused = world.ordo(&import);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.out.contains("github-token"), "{refused:?}");
    world.write("token", "ghp_x");
    world.ordo(&["secret", "set", "github-token", "--value-file", "token"]).done();
    assert!(world.ordo(&import).done().err.contains("runs twice"));
    assert!(world.ordo(&import).done().out.contains("1 same"));
    world.ordo(&["import", "github-actions", "nightly.yml", "--repo", "shop"]).refused(2, &["OWNER/NAME"]);

    let job = r#"[{"name": "hello", "schedule": "@every 1h", "executor": "shell",
                   "executor_config": {"command": "echo from dkron", "shell": "true"}}]"#;
    world.write("dkron.json", job);
    world.ordo(&["import", "dkron", "dkron.json"]).done();
    world.ordo(&["job", "trigger", "hello"]).done();
    world.over("hello");
    assert_eq!(world.ordo(&["run", "logs", "hello"]).done().out, "from dkron\n");
    world.ordo(&["import", "dkron", "quartz.xml"]).refused(1, &["not valid JSON"]);
}
