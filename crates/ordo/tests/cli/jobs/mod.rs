//! Jobs: when they fire, and what can be done to them.

mod cancelling;
mod chains;
mod confined_tools;
mod import;
mod runs;
mod tags;
mod twins;

use ordo_engine::clock::{Clock, SystemClock};
use ordo_model::Millis;
use serde_json::json;

use crate::common::{World, eventually};

/// The seed's own test.
#[test]
fn two_jobs_100_ms_apart_fire_once_each_at_a_tick_of_500_ms() {
    let world = World::new();
    let _daemon = world.serve();
    let first = SystemClock.now().plus(Millis::from_ms(400));
    let second = first.plus(Millis::from_ms(100));
    for (label, at) in [("one", first), ("two", second)] {
        world.ordo(&["job", "add", label, "--at", &at.to_string(), "--tool", "noop"]).done();
    }
    for (label, at) in [("one", first), ("two", second)] {
        let run = world.over(label);
        assert_eq!(run["status"]["type"], "completed");
        assert_eq!(run["scheduled_for"], json!(at));
        assert_eq!(world.runs(label).len(), 1, "{label} fired once");
        let finished = eventually("the job is finished", || {
            let job = world.json(&["job", "show", label]);
            (job["state"] == "finished").then_some(job)
        });
        assert_eq!(finished["next_tick_at"], json!(null));
    }
}

#[test]
fn times_may_be_written_as_people_write_them() {
    let world = World::new();
    let _daemon = world.serve();
    let add = |label: &str, more: &[&str]| {
        let args: Vec<&str> = ["job", "add", label].into_iter().chain(more.iter().copied()).collect();
        world.ordo(&[args.as_slice(), &["--", "true"]].concat()).done().out
    };
    let xmas = add("xmas", &["--at", "2126-12-24 18:00", "--tz", "Europe/Berlin"]);
    assert!(xmas.contains("once, next at 2126-12-24 18:00:00 CET (in "), "{xmas}");
    assert_eq!(world.json(&["job", "show", "xmas"])["trigger"]["at"], "2126-12-24T17:00:00.000Z");
    let utc = add("utc", &["--at", "2126-12-24T18:00:00Z"]);
    assert!(utc.contains("18:00:00 UTC"), "{utc}");
    let soon = add("soon", &["--in", "1h"]);
    assert!(soon.contains("(in 1h)"), "{soon}");
    let nightly = add("nightly", &["--cron", "0 2 * * *", "--tz", "Europe/Berlin", "--dst-repeated", "both"]);
    assert!(nightly.contains("at 02:00 (Europe/Berlin), next at"), "{nightly}");
    assert!(nightly.contains("02:00:00 CE"), "{nightly}");
    let window =
        add("window", &["--every", "10s", "--start", "2126-01-01 00:00", "--end", "2126-02-01", "--jitter", "1s"]);
    assert!(window.contains("next at 2126-01-01 00:00:0"), "{window}");
    let free = add("free", &["--cron", "0 9 * * *", "--exclude", r#"{"days": ["sat", "sun"]}"#]);
    assert!(free.contains("except"), "{free}");
    let last = add("last", &["--at", "9999-12-31 23:59:59", "--tz", "UTC"]);
    assert!(last.contains("next at 9999-12-31T23:59:59.000Z"), "{last}");
    let hook = add("hook", &["--on-hook", "github"]);
    assert!(hook.contains("hook github"), "{hook}");
}

#[test]
fn a_preview_begins_after_the_time_that_is_asked_for() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "nightly", "--cron", "0 2 * * *", "--tz", "Europe/Berlin", "--", "true"]).done();
    for (from, first) in [
        ("2027-01-01 01:59", "2027-01-01T01:00:00.000Z"),
        ("2027-01-01 02:00", "2027-01-02T01:00:00.000Z"),
        ("1999-12-31T23:00:00Z", "2000-01-01T01:00:00.000Z"),
        ("4321-01-01T01:00:00Z", "4321-01-02T01:00:00.000Z"),
    ] {
        let shown = world.json(&["job", "preview", "nightly", "--next", "1", "--from", from]);
        assert_eq!(shown[0]["nominal"], first, "{from}");
        let said = ["cron", "explain", "0 2 * * *", "--tz", "Europe/Berlin", "--next", "1", "--from", from];
        assert_eq!(world.json(&said)["next"][0]["nominal"], first, "{from}");
    }
    world.ordo(&["job", "preview", "nightly", "--from", "soon"]).refused(2, &["--from", "\"soon\" is not a time"]);
}

#[test]
fn every_policy_arrives() {
    let world = World::new();
    let _daemon = world.serve();
    let policies = [
        "--misfire",
        "fire_all",
        "--concurrent",
        "3",
        "--routing",
        "lru",
        "--group",
        "default",
        "--priority",
        "9",
        "--timeout",
        "5m",
        "--retry",
        "2",
        "--backoff",
        "3s",
        "--idempotent",
        "--retain-runs",
        "7",
        "--retain-age",
        "2d",
        "--description",
        "for people",
        "--env",
        "A=b c",
        "--cwd",
        "/",
    ];
    let args: Vec<&str> = ["job", "add", "full"].into_iter().chain(policies).chain(["--", "echo", "a b"]).collect();
    world.ordo(&args).done();
    let job = world.json(&["job", "show", "full"]);
    assert_eq!(job["tool_input"], json!({"command": "echo", "args": ["a b"], "env": {"A": "b c"}, "cwd": "/"}));
    assert!(job["misfire"]["fire_all"]["cap"].is_u64());
    assert_eq!(job["block"], json!({"concurrent": {"max": 3}}));
    assert_eq!((&job["routing"], &job["priority"], &job["timeout"]), (&json!("lru"), &json!(9), &json!("5m")));
    assert_eq!(job["retry"]["max_attempts"], 3, "two retries are three attempts");
    assert_eq!(job["retry"]["backoff"], "3s");
    assert_eq!(job["retention"], json!({"runs": 7, "age": "2d"}));
    assert_eq!((&job["idempotent"], &job["description"]), (&json!(true), &json!("for people")));
}

#[test]
fn a_held_job_waits_until_it_is_resumed() {
    let world = World::new();
    let _daemon = world.serve();
    let added = world.ordo(&["job", "add", "later", "--every", "100ms", "--held", "--", "true"]).done().out;
    assert!(added.contains("held until: ordo job resume later"), "{added}");
    assert_eq!(world.json(&["job", "show", "later"])["state"], "held");
    assert!(world.runs("later").is_empty());
    world.ordo(&["job", "resume", "later"]).done();
    assert_eq!(world.over("later")["status"]["type"], "completed");
}

#[test]
fn a_paused_job_does_not_fire_and_a_resumed_one_does() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "beat", "--every", "100ms", "--", "true"]).done();
    world.over("beat");
    let paused = world.ordo(&["job", "pause", "beat", "--reason", "too loud"]).done().out;
    assert!(paused.contains("paused beat"), "{paused}");
    let job = world.json(&["job", "show", "beat"]);
    assert_eq!((&job["state"], &job["paused_reason"]), (&json!("paused"), &json!("too loud")));
    let fired = |world: &World| world.runs("beat").iter().filter(|run| run["status"]["type"] != "skipped").count();
    let before = fired(&world);
    // A job that fires after the pause shows that time went on.
    world.ordo(&["job", "add", "witness", "--in", "300ms", "--", "true"]).done();
    world.over("witness");
    assert_eq!(fired(&world), before);
    world.ordo(&["job", "resume", "beat"]).done();
    eventually("it fires again", || (fired(&world) > before).then_some(()));
    let skipped = world.runs("beat").into_iter().find(|run| run["status"]["type"] == "skipped").unwrap();
    assert_eq!(skipped["status"]["reason"], "paused");
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let world = World::new();
    let _daemon = world.serve();
    world
        .ordo(&["job", "add", "j", "--cron", "0 2 * * *", "--tz", "Europe/Berlin", "--timeout", "5m", "--", "true"])
        .done();
    world.ordo(&["job", "update", "j", "--jitter", "1m", "--priority", "7"]).done();
    let job = world.json(&["job", "show", "j"]);
    assert_eq!(job["trigger"]["cron"], "0 2 * * *");
    assert_eq!((&job["trigger"]["jitter"], &job["trigger"]["timezone"]), (&json!("1m"), &json!("Europe/Berlin")));
    assert_eq!((&job["priority"], &job["timeout"], &job["revision"]), (&json!(7), &json!("5m"), &json!(2)));

    let output = world.ordo(&["job", "update", "j", "--every", "10s", "--label", "k", "--", "false"]).done().out;
    assert!(output.contains("updated k") && output.contains("every 10 seconds"), "{output}");
    let job = world.json(&["job", "show", "k"]);
    assert_eq!(job["tool_input"], json!({"command": "false"}));
    world.ordo(&["job", "update", "k", "--if-revision", "1", "--priority", "1"]).refused(1, &["[revision_moved]"]);
    world.ordo(&["job", "update", "k"]).refused(2, &["what should change?"]);
    world.ordo(&["job", "update", "k", "--manual"]).done();
    assert_eq!(world.json(&["job", "show", "k"])["trigger"], json!({"type": "manual"}));
}

#[test]
fn a_trigger_may_bring_its_own_input_and_wait_for_the_outcome() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "say", "--", "echo", "usual"]).done();
    let usual = world.ordo(&["job", "trigger", "say", "--wait"]).done();
    assert_eq!(usual.out, "usual\n");
    assert!(usual.err.contains("completed say"), "{usual:?}");
    let other = r#"{"command": "sh", "args": ["-c", "echo out; echo err >&2; exit 3"]}"#;
    let failed = world.ordo(&["job", "trigger", "say", "--input", other, "--wait"]);
    failed.refused(1, &["err", "failed say", "exit code 3"]);
    assert_eq!(failed.out, "out\n");
    let run = world.json(&["job", "trigger", "say"]);
    assert!(run["run_id"].is_string());
    assert_eq!(world.json(&["run", "show", run["run_id"].as_str().unwrap()])["scheduled_for"], json!(null));
    world.ordo(&["job", "trigger", "say", "--input", "{}"]).refused(1, &["[invalid_tool_input]"]);
}

#[test]
fn a_backfill_runs_what_was_missed_and_shows_it_before() {
    let world = World::new();
    let _daemon = world.serve();
    let start = ["--every", "1h", "--start", "2026-01-01T00:00:00Z"];
    let held = ["--held", "--concurrent", "8", "--tool", "noop"];
    world.ordo(&[&["job", "add", "hourly"][..], &start, &held].concat()).done();
    let range = ["job", "backfill", "hourly", "--from", "2026-01-01 00:00", "--to", "2026-01-01 04:00"];
    let shown = world.ordo(&[&range[..], &["--dry-run"]].concat()).done().out;
    assert!(shown.contains("4 occurrences") && shown.contains("2026-01-01 03:00:00 UTC"), "{shown}");
    assert!(world.runs("hourly").is_empty());
    world.ordo(&["job", "resume", "hourly"]).done();
    world.ordo(&range).done();
    let mut times = eventually("four runs are over", || {
        let runs = world.runs("hourly");
        let done = runs.iter().filter(|run| run["cause"]["type"] == "backfill" && run["status"]["type"] == "completed");
        let times: Vec<String> = done.map(|run| run["scheduled_for"].as_str().unwrap().to_owned()).collect();
        (times.len() == 4).then_some(times)
    });
    times.sort();
    assert_eq!(times[0], "2026-01-01T00:00:00.000Z");
    assert_eq!(times[3], "2026-01-01T03:00:00.000Z");
}

#[test]
fn a_preview_shows_when_a_job_fires_next() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "p", "--cron", "0 2 * * *", "--tz", "Europe/Berlin", "--", "true"]).done();
    let output = world.ordo(&["job", "preview", "p", "--next", "3"]).done().out;
    assert!(output.starts_with("At 02:00 (Europe/Berlin)\n"), "{output}");
    assert_eq!(output.matches(" 02:00:00 CE").count(), 3, "{output}");
    assert_eq!(world.json(&["job", "preview", "p", "--next", "7"]).as_array().unwrap().len(), 7);
}

#[test]
fn a_cancelled_job_never_fires_again_and_ends_what_runs() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "long", "--every", "100ms", "--", "sleep", "60"]).done();
    eventually("it runs", || world.runs("long").iter().any(|run| run["status"]["type"] == "running").then_some(()));
    world.ordo(&["job", "cancel", "long"]).done();
    assert_eq!(world.over("long")["status"]["type"], "cancelled");
    assert_eq!(world.json(&["job", "show", "long"])["state"], "cancelled");
    world.ordo(&["job", "trigger", "long"]).refused(1, &["cancelled"]);
}

#[test]
fn a_label_that_several_jobs_have_is_refused_with_their_ids() {
    let world = World::new();
    let _daemon = world.serve();
    let add = || world.json(&["job", "add", "twin", "--every", "1h", "--", "true"])["id"].as_str().unwrap().to_owned();
    let (first, second) = (add(), add());
    world.ordo(&["job", "show", "twin"]).refused(1, &["several jobs", &first, &second, "use the id"]);
    world.ordo(&["job", "show", &first]).done();
    // The one that is not over is meant.
    world.ordo(&["job", "cancel", &first]).done();
    assert_eq!(world.json(&["job", "show", "twin"])["id"], json!(second));
    world.ordo(&["job", "show", "triplet"]).refused(1, &["no job is called \"triplet\""]);
}

#[test]
fn another_expression_keeps_the_zone_of_the_one_before() {
    let world = World::new();
    let _daemon = world.serve();
    world.ordo(&["job", "add", "report", "--cron", "0 2 * * *", "--tz", "Europe/Berlin", "--", "true"]).done();
    let zone = || world.json(&["job", "show", "report"])["trigger"]["timezone"].clone();
    world.ordo(&["job", "update", "report", "--cron", "0 3 * * *"]).done();
    assert_eq!(zone(), "Europe/Berlin");
    world.ordo(&["job", "update", "report", "--cron", "0 4 * * *", "--tz", "Asia/Tokyo"]).done();
    assert_eq!(zone(), "Asia/Tokyo");
}
