//! What somebody does in their first five minutes.

use crate::common::{World, eventually};

#[test]
fn the_first_job_needs_no_quoting_and_answers_in_one_line() {
    let world = World::new();
    let _daemon = world.serve();
    let added = world.ordo(&["job", "add", "hello", "--every", "1s", "--", "echo", "hi"]).done();
    assert_eq!(added.out.lines().count(), 1, "{added:?}");
    assert!(added.out.starts_with("added hello ("), "{added:?}");
    assert!(added.out.contains("every second, next at 20"), "{added:?}");
    assert!(added.out.contains(" UTC (in "), "{added:?}");

    let run = world.over("hello");
    assert_eq!(run["status"]["type"], "completed");
    assert_eq!(run["status"]["result"]["exit_code"], 0);
    assert_eq!(world.ordo(&["run", "logs", "hello"]).done().out, "hi\n");

    let jobs = world.ordo(&["job", "list"]).done().out;
    assert!(jobs.contains("hello") && jobs.contains("every second") && jobs.contains("completed"), "{jobs}");
    let runs = world.ordo(&["run", "list"]).done().out;
    assert!(runs.starts_with("STATUS") && runs.contains("completed"), "{runs}");
    assert!(world.ordo(&["job", "show", "hello"]).done().out.contains("every second"));
    let over = run["id"].as_str().unwrap();
    assert!(world.ordo(&["run", "show", over]).done().out.contains("exit_code"));
    assert!(world.ordo(&["status"]).done().out.contains("ready"));
    let history = world.ordo(&["job", "history", "hello"]).done().out;
    for event in ["JobScheduled", "JobTriggered", "JobStarted", "JobExecuted"] {
        assert!(history.contains(event), "{history}");
    }
}

#[test]
fn without_a_daemon_the_answer_is_how_to_start_one() {
    let world = World::new();
    let nobody = ["job", "list", "--server", "http://127.0.0.1:9"];
    world.ordo(&nobody).refused(3, &["no daemon is running", "ordo serve"]);
    // A socket that a dead daemon left behind.
    world.serve().kill();
    world.ordo(&["job", "list"]).refused(3, &["no daemon is running", "ordo serve"]);
    world.ordo(&["status"]).refused(3, &["ordo serve"]);
}

#[test]
fn the_daemon_is_found_from_a_folder_below() {
    let world = World::new();
    let _daemon = world.serve();
    std::fs::create_dir_all(world.file("a/b")).unwrap();
    let listed = world.command(&["job", "list"]).current_dir(world.file("a/b")).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
}

#[test]
fn the_headless_daemon_has_a_socket_and_no_port() {
    let world = World::new();
    let daemon = crate::common::Daemon::start(world.command(&["orchestrate", "--tick-rate", "60"]));
    assert!(daemon.place.starts_with("unix:") && daemon.place.ends_with("orchestrator.sock"), "{}", daemon.place);
    // Due long before the next tick: it is fired on time all the same.
    world.ordo(&["job", "add", "soon", "--in", "200ms", "--", "true"]).done();
    assert_eq!(world.over("soon")["status"]["type"], "completed");
    assert_eq!(world.json(&["status"])["tick_rate"], "1m");
}

#[test]
fn the_state_folder_is_private_and_stays_out_of_the_repository() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let daemon = world.serve();
    let mode = |name: &str| std::fs::metadata(world.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(".ordo/token"), 0o600);
    assert_eq!(mode(".ordo/orchestrator.sock"), 0o600);
    assert_eq!(mode(".ordo"), 0o700);
    assert_eq!(world.read(".ordo/.gitignore"), "*\n");
    assert!(world.read(".ordo/token").starts_with("ordo_a_"));
    drop(daemon);
}

#[test]
fn over_the_network_a_token_is_needed_and_found() {
    let world = World::new();
    let daemon = world.serve();
    let elsewhere = World::new();
    let list = ["job", "list", "--server", &daemon.place];
    elsewhere.ordo(&list).refused(1, &["token", "[unauthorized]"]);
    // Beside the socket there is the token.
    world.ordo(&list).done();
    let token = world.read(".ordo/token");
    let with_token = elsewhere.command(&list).env("ORDO_TOKEN", token.trim()).output().unwrap();
    assert!(with_token.status.success(), "{with_token:?}");
    let by_variable = elsewhere
        .command(&["job", "list"])
        .env("ORDO_SERVER", &daemon.place)
        .env("ORDO_TOKEN", token.trim())
        .output()
        .unwrap();
    assert!(by_variable.status.success(), "{by_variable:?}");
}

#[test]
fn a_cron_expression_is_explained_without_a_daemon() {
    let world = World::new();
    let output = world.ordo(&["cron", "explain", "30 2 * * *", "--tz", "Europe/Berlin", "--next", "400"]).done().out;
    assert!(output.starts_with("At 02:30 (Europe/Berlin)"), "{output}");
    assert!(
        output.contains("CET") && output.contains("CEST") && output.contains("UTC") && output.contains("in "),
        "{output}"
    );
    assert!(output.contains("its time is skipped on this day"), "{output}");
    assert!(output.contains("its time comes twice on this day"), "{output}");
    let data = world.json(&["cron", "explain", "@daily", "--next", "2"]);
    assert_eq!(data["next"].as_array().unwrap().len(), 2);
    world.ordo(&["cron", "explain", "0 0 31 2 *"]).refused(2, &["never occurs"]);
    world.ordo(&["cron", "explain", "* * *"]).refused(2, &["fields"]);
    world.ordo(&["cron", "explain", "@daily", "--tz", "Mars/Base"]).refused(2, &["Mars/Base", "Europe/Berlin"]);
}

#[test]
fn completions_and_help_exist_for_everything() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(world.ordo(&["completions", shell]).done().out.contains("COMPLETE"), "{shell}");
        // The script asks the program itself.
        let mut asked = world.command(&["--", "ordo", "orch"]);
        let asked = asked.env("COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "1").output().unwrap();
        assert!(String::from_utf8_lossy(&asked.stdout).contains("orchestrate"), "{shell}: {asked:?}");
    }
    for words in [&["--help"][..], &["job", "add", "--help"], &["run", "--help"], &["store", "restore", "--help"]] {
        world.ordo(words).done();
    }
    world.ordo(&["jobb"]).refused(2, &["job"]);
    world.ordo(&[]).refused(2, &[]);
}

#[test]
fn data_comes_as_json_or_line_by_line_when_asked() {
    let world = World::new();
    let _daemon = world.serve();
    for label in ["a", "b", "c"] {
        world.ordo(&["job", "add", label, "--every", "1h", "--", "true"]).done();
    }
    assert_eq!(world.json(&["job", "list"]).as_array().unwrap().len(), 3);
    let lines = world.ordo(&["job", "list", "--output", "ndjson"]).done().out;
    let labels: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(labels.len(), 3);
    let some = world.ordo(&["job", "list", "--limit", "2", "-o", "json"]).done();
    assert_eq!(some.json().as_array().unwrap().len(), 2);
    assert!(some.err.contains("more"), "{some:?}");
    assert_eq!(world.json(&["job", "list", "--label", "b"])[0]["label"], "b");
    assert_eq!(world.json(&["job", "list", "--state", "paused"]), serde_json::json!([]));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "a", "--every", "1h", "--", "true"]).done();
    let script = format!("{} job list -o json | head -1", env!("CARGO_BIN_EXE_ordo"));
    let piped = std::process::Command::new("sh").args(["-c", &script]).current_dir(world.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&piped.stderr), "");
    eventually("the pipe is read", || (!piped.stdout.is_empty()).then_some(()));
}

/// What a list or a command says must be true of what is there, not only of what was asked for.
#[test]
fn an_empty_answer_does_not_say_that_there_is_nothing_at_all() {
    let world = World::new();
    let _daemon = world.serve();
    assert!(world.ordo(&["jobs"]).done().out.starts_with("No jobs. Add one: "));
    assert!(world.ordo(&["incidents"]).done().out.starts_with("No incidents."));
    assert!(world.ordo(&["audit"]).done().out.starts_with("Nobody has changed anything."));
    world.ordo(&["job", "add", "hello", "--every", "1h", "--", "true"]).done();
    world.ordo(&["incident", "start", "checkout is down"]).done();
    assert_eq!(world.ordo(&["jobs", "--state", "paused"]).done().out, "No job matches.\n");
    assert_eq!(world.ordo(&["incidents", "--status", "resolved"]).done().out, "No incident matches.\n");
    assert_eq!(world.ordo(&["audit", "--actor", "nobody"]).done().out, "No change matches.\n");
    let listed: serde_json::Value = serde_json::from_str(&world.ordo(&["-o", "json", "jobs"]).done().out).unwrap();
    assert_eq!(listed[0]["label"], "hello");
}

#[test]
fn a_second_job_of_the_same_name_is_no_surprise_later() {
    let world = World::new();
    let _daemon = world.serve();
    let add = || world.ordo(&["job", "add", "hello", "--every", "1h", "--", "true"]).done();
    assert_eq!(add().err, "");
    assert!(add().err.contains("2 jobs are called hello now"), "whoever adds it hears of it");
    world.ordo(&["job", "show", "hello"]).refused(1, &["several jobs are called \"hello\"", " UTC (", "use the id"]);
    world.ordo(&["run", "show", "nothing"]).refused(1, &["there is no run \"nothing\", and no job is called so"]);
}

#[test]
fn a_pause_is_shown_with_its_reason_and_a_refusal_says_it_once() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "hello", "--", "true"]).done();
    world.ordo(&["job", "pause", "hello", "--reason", "moving house"]).done();
    let shown = world.ordo(&["job", "show", "hello"]).done().out;
    assert!(shown.contains("since 20") && shown.contains("): moving house"), "{shown}");
    world.ordo(&["job", "resume", "hello"]).done();
    world.ordo(&["job", "trigger", "hello", "--wait"]).done();
    let refused = world.ordo(&["run", "cancel", "hello"]);
    refused.refused(1, &["[run_over]"]);
    assert_eq!(refused.err.to_lowercase().matches("the run is over").count(), 1, "{refused:?}");
}

#[test]
fn a_run_that_is_tried_again_says_when_in_the_zone_of_its_reader() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "fails", "--retry", "1", "--backoff", "1h", "--", "false"]).done();
    world.ordo(&["job", "trigger", "fails"]).done();
    let shown = eventually("it waits for its next attempt", || {
        let shown = world.command(&["run", "show", "fails"]).env("TZ", "Europe/Berlin").output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        shown.contains("next attempt in ").then_some(shown)
    });
    let why = shown.lines().find(|line| line.starts_with("why")).unwrap();
    assert!(why.ends_with(" CET") || why.ends_with(" CEST"), "{why}");
}
