//! Bad input: a clear message, the right exit code, nothing half-written.

use serde_json::{Value, json};

use crate::common::World;

#[test]
fn what_can_never_work_is_refused_and_leaves_nothing_behind() {
    let world = World::new();
    let _daemon = world.serve();
    let long = "x".repeat(100_000);
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["bad", "--cron", "61 * * * *", "--", "true"], 1, &["trigger.cron", "minute", "[invalid_job]"]),
        (&["bad", "--cron", "* * *", "--", "true"], 1, &["trigger.cron", "fields"]),
        (&["bad", "--cron", "0 0 31 2 *", "--", "true"], 1, &["never occurs"]),
        (&["bad", "--cron", "0 2 * * *", "--tz", "Mars/Base", "--", "true"], 1, &["Mars/Base", "Europe/Berlin"]),
        (&["bad", "--at", "2020-01-01T00:00:00Z", "--", "true"], 1, &["trigger.at", "in the past"]),
        (&["bad", "--at", "soon", "--", "true"], 2, &["--at", "2026-12-24"]),
        (&["bad", "--at", "2126-01-01 00:00", "--tz", "Mars/Base", "--", "true"], 2, &["Mars/Base"]),
        (&["bad", "--every", "0s", "--", "true"], 1, &["trigger.every"]),
        (&["bad", "--every", "10", "--", "true"], 2, &["10s"]),
        (&["bad", "--every", "1s", "--cron", "* * * * *", "--", "true"], 2, &["cannot be used with"]),
        (&["", "--every", "1s", "--", "true"], 1, &["label", "must not be empty"]),
        (&[&long, "--every", "1s", "--", "true"], 1, &["label", "at most 200"]),
        (&["bad", "--tool", "noop", "--input", "{oops"], 2, &["--input", "not JSON"]),
        (&["bad", "--tool", "noop", "--input", "@nowhere.json"], 2, &["nowhere.json"]),
        (&["bad", "--tool", "shel", "--input", "{}"], 1, &["did you mean \"shell\"?", "[unknown_tool]"]),
        (&["bad", "--tool", "shell", "--input", r#"{"comand": "x"}"#], 1, &["did you mean \"command\"?"]),
        (&["bad", "--tool", "http", "--input", "{}"], 1, &["url"]),
        (&["bad", "--every", "1s"], 2, &["what should run?"]),
        (&["bad", "--jitter", "1s", "--", "true"], 2, &["no schedule"]),
        (&["bad", "--every", "1s", "--priority", "10", "--", "true"], 1, &["priority"]),
        (&["bad", "--every", "1s", "--block", "maybe", "--", "true"], 2, &["block", "serial, discard"]),
        (&["bad", "--every", "1s", "--retry", "100", "--", "true"], 1, &["max_attempts"]),
        (&["bad", "--every", "1s", "--exclude", r#"{"days": []}"#, "--", "true"], 1, &["exclude"]),
        (&["bad", "--every", "1s", "--start", "2126-01-01", "--end", "2125-01-01", "--", "true"], 1, &["end"]),
    ];
    for (args, code, said) in cases {
        let args: Vec<&str> = ["job", "add"].into_iter().chain(args.iter().copied()).collect();
        let ran = world.ordo(&args);
        assert!(ran.err.len() < 2_000, "a message, not a book: {} bytes", ran.err.len());
        ran.refused(*code, said);
        assert!(ran.err.starts_with("error: "), "{ran:?}");
    }
    assert_eq!(world.json(&["job", "list"]), json!([]));
    assert!(world.ordo(&["store", "check"]).done().out.starts_with("clean: 1 stream, 1 event,"));
}

/// No command line takes a megabyte in one word; the socket does.
#[test]
fn a_label_of_a_megabyte_is_refused_without_being_repeated() {
    let world = World::new();
    let _daemon = world.serve();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for length in [1_000_000, 1_048_576] {
        let job = json!({ "label": "x".repeat(length), "tool_name": "noop", "trigger": { "type": "manual" } });
        let error = runtime.block_on(world.client().post::<Value, _>("/v1/jobs", &job)).unwrap_err();
        assert!(["invalid_job", "body_too_large"].contains(&error.code().unwrap()), "{error:?}");
        assert!(error.to_string().len() < 500);
    }
    assert_eq!(world.json(&["job", "list"]), json!([]));
}
