//! What people see who keep a terminal open: questions, tables that fit, a screen that lives, errors for programs.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{World, eventually};

/// A command on a pseudo-terminal of 80 columns, in which this is typed.
fn on_a_terminal(world: &World, args: &[&str], typed: &str) -> String {
    let mut child = start(world, args);
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn start(world: &World, args: &[&str]) -> Child {
    let words: Vec<String> = args.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("stty cols 80 rows 30; '{}' {}", env!("CARGO_BIN_EXE_ordo"), words.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(world.path()).env("TERM", "xterm").env("TZ", "UTC");
    for name in ["ORDO_SERVER", "ORDO_TOKEN", "COLUMNS"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What is left to see.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split('\x1b');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest));
    }
    plain
}

fn add(world: &World, label: &str) -> String {
    let job = world.json(&["job", "add", label, "--every", "1h", "--", "echo", "a command with quite a few arguments"]);
    job["id"].as_str().unwrap().to_owned()
}

#[test]
fn tables_fit_and_what_they_show_is_accepted_again() {
    let world = World::new();
    let _daemon = world.serve();
    let id = add(&world, "a-label-that-is-quite-long-as-labels-of-imported-crontabs-are");
    add(&world, "short");
    world.ordo(&["job", "trigger", "short", "--wait"]).done();
    let beginning = &id[..18];
    assert_eq!(world.json(&["job", "show", beginning])["id"], id.as_str());
    let run = world.runs("short")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.json(&["run", "show", &run[..18]])["id"], run.as_str());
    world.ordo(&["job", "show", "0199ffff-ffff"]).refused(1, &["no job is called"]);
    let table = world.command(&["job", "list"]).env("COLUMNS", "80").output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.lines().all(|line| line.chars().count() <= 80) && table.contains('…'), "{table}");
}

/// A server with something in every list.
fn full(world: &World) {
    add(world, "a-label-that-is-quite-long-as-labels-of-imported-crontabs-are");
    world.ordo(&["job", "add", "short", "--on-hook", "a-hook-with-a-long-name", "--", "echo", "hi"]).done();
    world.ordo(&["job", "trigger", "short", "--wait"]).done();
    world.ordo(&["hook", "add", "a-hook-with-a-long-name", "--filter", "/repository/full_name=ordo/ordo"]).done();
    for number in 0..3 {
        let payload = format!(r#"{{"repository": {{"full_name": "ordo/ordo"}}, "number": {number}}}"#);
        world.ordo(&["hook", "test", "a-hook-with-a-long-name", "--payload", &payload]).done();
    }
    world.ordo(&["monitor", "add", "a-monitor-with-a-long-name", "--cron", "0 2 * * MON-FRI", "--grace", "90m"]).done();
    let title = "the checkout of the shop in Europe answers slowly or not at all since the upgrade";
    world.ordo(&["incident", "start", title, "--severity", "sev1", "--as", "somebody.with.a.long.name"]).done();
    world.ordo(&["silence", "add", "backup-of-the-warehouse-*", "--for", "2h", "--reason", title]).done();
    let url = "https://receiver.example.com/webhooks/of/ordo/production/eu-central-1";
    world.ordo(&["subscription", "add", url, "--event", "incident.*", "--event", "job.failed"]).done();
    let channel = ["channel", "add", "a-channel-with-a-rather-long-name", "--kind", "webhook", "--url", url];
    world.ordo(&[&channel[..], &["--event", "incident.escalated", "--event", "job.failed"]].concat()).done();
    let step = "15m the-head-of-operations@subsidiary.example.com via a-channel-with-a-rather-long-name";
    world.ordo(&["escalation", "add", "a-chain-with-a-rather-long-name", "--step", step]).done();
    world.ordo(&["token", "add", "a-token-with-a-long-name", "--role", "hook-manager", "--expires", "90d"]).done();
}

#[test]
fn every_list_fits_80_columns_and_its_ids_are_accepted_again() {
    let world = World::new();
    world.write("ordo.toml", "[senders.file]\npath = \"messages.log\"\n");
    let _daemon = world.serve();
    full(&world);
    for list in [
        &["job", "list"][..],
        &["run", "list"],
        &["job", "history", "short"],
        &["executors"],
        &["hook", "list"],
        &["hook", "deliveries", "a-hook-with-a-long-name"],
        &["incident", "list"],
        &["notification", "list", "--state", "delivered"],
        &["notification", "list", "--state", "waiting"],
        &["silence", "list"],
        &["channel", "list"],
        &["channel", "escalations"],
        &["escalation", "list"],
        &["monitor", "list"],
        &["subscription", "list"],
        &["secret", "list"],
        &["token", "list"],
        &["node", "list"],
        &["audit"],
    ] {
        let plain = without_colours(&on_a_terminal(&world, list, ""));
        assert!(!plain.contains("error"), "{list:?}: {plain}");
        assert!(plain.lines().all(|line| line.trim_end().chars().count() <= 80), "{list:?}:\n{plain}");
        let ids =
            plain.lines().flat_map(str::split_whitespace).filter(|word| word.starts_with("01") && word.len() > 12);
        assert!(ids.clone().all(|id| !id.ends_with('…')), "{list:?}:\n{plain}");
    }
    let shown = |list: &[&str], column: &str| {
        let table = world.command(list).env("COLUMNS", "80").output().unwrap();
        let table = String::from_utf8(table.stdout).unwrap();
        let begin = table.lines().next().unwrap().find(column).unwrap();
        let row: String = table.lines().nth(1).unwrap().chars().skip(begin).collect();
        row.split_whitespace().next().unwrap().to_owned()
    };
    let delivery = shown(&["hook", "deliveries", "a-hook-with-a-long-name"], "ID");
    assert!(delivery.len() < 36, "{delivery}");
    // All its runs are done with: it is known, but its payload is not kept for longer.
    eventually("the payload is gone", || {
        let replayed = world.ordo(&["hook", "replay", "a-hook-with-a-long-name", &delivery]);
        replayed.err.contains("no longer kept").then_some(())
    });
    world.ordo(&["hook", "replay", "a-hook-with-a-long-name", "0199ffff-ffff"]).refused(1, &["there is no delivery"]);
    let subscription = shown(&["subscription", "list"], "ID");
    world.ordo(&["subscription", "update", &subscription, "--disable"]).done();
    world.ordo(&["subscription", "remove", &subscription]).done();
    world.ordo(&["silence", "end", &shown(&["silence", "list"], "ID")]).done();
    let notification = eventually("a notification is delivered", || {
        let delivered = world.json(&["notification", "list", "--state", "delivered"]);
        (!delivered.as_array().unwrap().is_empty())
            .then(|| shown(&["notification", "list", "--state", "delivered"], "ID"))
    });
    world.ordo(&["notification", "replay", &notification]).done();
    assert!(world.ordo(&["incident", "show", &shown(&["incident", "list"], "ID")]).done().out.contains("checkout"));
}

#[test]
fn names_are_completed_from_what_the_daemon_has() {
    let world = World::new();
    world.write("ordo.toml", "[senders.file]\npath = \"messages.log\"\n");
    let _daemon = world.serve();
    full(&world);
    let incident = world.json(&["incident", "list"])[0]["id"].as_str().unwrap().to_owned();
    let executor = world.json(&["executors"])[0]["name"].as_str().unwrap().to_owned();
    for (words, found) in [
        (&["hook", "show", "a-h"][..], "a-hook-with-a-long-name"),
        (&["hook", "deliveries", "a-h"], "a-hook-with-a-long-name"),
        (&["monitor", "show", "a-m"], "a-monitor-with-a-long-name"),
        (&["incident", "ack", &incident[..4]], &incident),
        (&["executor", "drain", ""], &executor),
        (&["token", "revoke", "a-t"], "a-token-with-a-long-name"),
        (&["channel", "test", "f"], "file"),
        (&["run", "logs", "sh"], "short"),
    ] {
        let line: Vec<&str> = ["--", "ordo"].into_iter().chain(words.iter().copied()).collect();
        let completed = world.command(&line).env("COMPLETE", "fish").output().unwrap();
        let completed = String::from_utf8_lossy(&completed.stdout).into_owned();
        assert!(completed.contains(found), "{words:?}: {completed}");
    }
}

#[test]
fn a_cancel_is_asked_for_on_a_terminal_and_many_are_counted() {
    let world = World::new();
    let _daemon = world.serve();
    for label in ["old/a", "old/b", "old/c", "new"] {
        add(&world, label);
    }
    let state = |label: &str| world.json(&["job", "show", label])["state"].as_str().unwrap().to_owned();
    let asked = on_a_terminal(&world, &["job", "cancel", "new"], "n\n");
    assert!(asked.contains("Cancel new (") && asked.contains("nothing was changed"), "{asked}");
    assert_eq!(state("new"), "active");
    assert!(on_a_terminal(&world, &["job", "cancel", "new"], "y\n").contains("cancelled new"));
    assert_eq!(state("new"), "cancelled");

    world.ordo(&["job", "pause", "--label-prefix", "old/"]).refused(2, &["3 jobs would be paused", "--yes"]);
    let asked = on_a_terminal(&world, &["job", "pause", "--label-prefix", "old/"], "y\n");
    assert!(asked.contains("Pause 3 jobs (old/") && asked.contains("paused 3 jobs"), "{asked}");
    assert_eq!(state("old/b"), "paused");
    assert!(world.ordo(&["job", "resume", "--state", "paused", "--yes"]).done().out.contains("resumed 3 jobs"));
    assert!(world.ordo(&["job", "resume", "--state", "paused", "--yes"]).done().out.contains("No job to resume"));
    assert!(world.ordo(&["job", "cancel", "--search", "OLD/A", "--yes"]).done().out.contains("cancelled 1 job\n"));
    world.ordo(&["job", "pause"]).refused(2, &["JOB"]);
}

#[test]
fn top_shows_what_runs_until_it_is_left() {
    let world = World::new();
    let _daemon = world.serve();
    add(&world, "hourly-report");
    world.ordo(&["job", "trigger", "hourly-report", "--wait"]).done();
    let mut top = start(&world, &["top", "--every", "200ms"]);
    let mut screen = top.stdout.take().unwrap();
    let mut seen = Vec::new();
    eventually("the screen shows the job", || {
        let mut part = [0; 4096];
        let read = screen.read(&mut part).unwrap();
        seen.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(&seen);
        (text.contains("Next to fire") && text.contains("hourly-report") && text.contains("completed")).then_some(())
    });
    top.stdin.take().unwrap().write_all(b"q").unwrap();
    screen.read_to_end(&mut seen).unwrap();
    assert!(top.wait().unwrap().success());
    // The screen that was there before is there again.
    assert!(String::from_utf8_lossy(&seen).contains("\x1b[?1049l"));
    world.ordo(&["top"]).refused(2, &["needs a terminal"]);
}

#[test]
fn the_log_of_a_job_goes_on_with_its_next_run() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "hello", "--every", "1h", "--", "echo", "hello from a run"]).done();
    world.ordo(&["job", "trigger", "hello", "--wait"]).done();
    let mut logs = world.command(&["run", "logs", "-f", "hello"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = logs.stdout.take().unwrap();
    let mut lines = 0;
    while lines < 2 {
        let mut part = [0; 17];
        out.read_exact(&mut part).unwrap();
        assert_eq!(&part, b"hello from a run\n");
        lines += 1;
        if lines == 1 {
            world.ordo(&["job", "trigger", "hello"]).done();
        }
    }
    // With the job its log ends.
    world.ordo(&["job", "cancel", "hello", "--yes"]).done();
    assert!(logs.wait().unwrap().success());
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let world = World::new();
    let error = |args: &[&str]| -> Value {
        let ran = world.ordo(args);
        serde_json::from_str::<Value>(&ran.err).unwrap_or_else(|_| panic!("{ran:?}"))["error"].clone()
    };
    let away = error(&["-o", "json", "--server", "http://127.0.0.1:9", "job", "list"]);
    assert_eq!(away["exit_code"], 3, "{away}");
    assert_eq!(error(&["job", "list", "-o", "json", "--nonsense"])["exit_code"], 2);
    let detail = error(&["-o", "json", "token", "add", "x", "--role", "ping"])["detail"].clone();
    let detail = detail.as_str().unwrap();
    assert!(detail.contains("possible values: admin, operator") && detail.contains("similar value exists: 'pinger'"));
    let _daemon = world.serve();
    let refused = error(&["-o", "json", "job", "add", "x", "--cron", "nonsense", "--", "true"]);
    assert_eq!((&refused["exit_code"], &refused["code"]), (&Value::from(1), &Value::from("invalid_job")), "{refused}");
    assert!(refused["server"].as_str().unwrap().contains("orchestrator.sock"), "{refused}");
    world.ordo(&["job", "add", "x", "--cron", "nonsense", "--", "true"]).refused(1, &["server:", "orchestrator.sock"]);
}

#[test]
fn the_doctor_says_what_is_wrong_and_what_to_do() {
    let world = World::new();
    let before = world.json(&["doctor"]);
    assert!(
        before.as_array().unwrap().iter().any(|finding| finding["check"] == "daemon" && finding["health"] == "warning")
    );
    let _daemon = world.serve();
    let fine = world.ordo(&["doctor"]).done();
    assert!(fine.out.contains("configuration") && !fine.out.contains("problem"), "{fine:?}");
    std::fs::set_permissions(world.file(".ordo/token"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let ran = world.ordo(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("chmod 600"), "{ran:?}");
    world.write("ordo.toml", "[serve]\nlissten = 1\n");
    assert!(world.ordo(&["doctor"]).out.contains("lissten"));
}

#[test]
fn version_manual_pages_completions_and_the_dashboard_are_at_hand() {
    let world = World::new();
    assert!(world.json(&["version"])["daemon"].is_null());
    let _daemon = world.serve();
    assert!(world.json(&["version"])["daemon"]["version"].is_string());
    world.ordo(&["man", "--dir", "man1"]).done();
    assert!(world.read("man1/ordo-job-add.1").contains(".TH"), "{:?}", std::fs::read_dir(world.file("man1")));
    add(&world, "nightly-report");
    let id = world.json(&["job", "show", "nightly-report"])["id"].as_str().unwrap().to_owned();
    let url = world.json(&["open", "nightly-report", "--print"])["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with(&format!("/jobs/{id}")), "{url}");
    assert!(world.ordo(&["completions", "bash"]).done().out.contains("COMPLETE"));
    let completed = world.command(&["--", "ordo", "job", "show", "night"]).env("COMPLETE", "fish").output().unwrap();
    let completed = String::from_utf8_lossy(&completed.stdout).into_owned();
    assert!(completed.contains("nightly-report"), "{completed}");
}

#[test]
fn a_list_is_shown_again_and_again() {
    let world = World::new();
    let _daemon = world.serve();
    add(&world, "watched");
    let mut watch = world.command(&["job", "list", "--watch=100ms"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = watch.stdout.take().unwrap();
    let mut seen = String::new();
    eventually("it was shown twice", || {
        let mut part = [0; 512];
        let read = out.read(&mut part).unwrap();
        seen.push_str(&String::from_utf8_lossy(&part[..read]));
        (seen.matches("watched").count() >= 2).then_some(())
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
}
