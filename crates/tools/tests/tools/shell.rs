//! What a command does ends up in the log, the result or the reason.

use bytes::Bytes;
use ordo_engine::tool::{DeliveryPayload, Failure, Tool};
use ordo_model::LogStream;
use ordo_model::limits::{LOG_LINE_MAX_BYTES, LOG_MAX_BYTES, OUTPUT_TAIL_BYTES};
use ordo_tools::Shell;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::{Bench, attempt, in_time, run, texts, variables};

async fn reason(input: Value) -> String {
    Bench::new().run(input).await.0.expect_err("fails").reason
}

#[tokio::test]
async fn a_command_that_succeeds_gives_its_exit_code_and_output() {
    let bench = Bench::new();
    let (outcome, log) = bench.run(json!({"command": "echo", "args": ["hi  there", "$HOME"]})).await;
    assert_eq!(outcome, Ok(json!({"exit_code": 0, "output": "hi  there $HOME"})));
    assert_eq!(texts(&log, LogStream::Stdout), ["hi  there $HOME"]);
    assert!(bench.records().is_empty());
}

#[tokio::test]
async fn a_script_runs_in_a_shell_with_its_arguments() {
    let script = json!({"script": "echo \"$1-$2\" | tr a-z A-Z; echo err >&2", "args": ["a b", "c"]});
    let (outcome, log) = Bench::new().run(script).await;
    assert!(outcome.unwrap()["output"].as_str().unwrap().contains("A B-C"));
    assert_eq!(texts(&log, LogStream::Stdout), ["A B-C"]);
    assert_eq!(texts(&log, LogStream::Stderr), ["err"]);
}

/// Without a pause between them, and also through the names that shells have for the streams.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_both_streams_keep_the_order_in_which_they_were_written() {
    let script = "i=0; while [ $i -lt 300 ]; do echo out $i; echo err $i >&2; echo more $i >&2; i=$((i+1)); done; \
                  echo last >/dev/stdout; echo end >&2";
    let (outcome, log) = Bench::new().run(json!({"script": script})).await;
    outcome.unwrap();
    let expected = (0..300).flat_map(|n| [format!("out {n}"), format!("err {n}"), format!("more {n}")]);
    let expected: Vec<String> = expected.chain(["last".into(), "end".into()]).collect();
    let lines: Vec<&str> = log.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_failure_has_the_code_and_the_end_of_stderr() {
    assert_eq!(reason(json!({"script": "exit 3"})).await, "exit code 3");
    let script = "echo out; for i in 1 2 3 4; do echo line $i >&2; done; exit 3";
    assert_eq!(reason(json!({"script": script})).await, "exit code 3: line 2 | line 3 | line 4");
    assert_eq!(reason(json!({"script": "kill -9 $$"})).await, "killed by signal 9 (KILL)");
    let long = reason(json!({"script": "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1"})).await;
    assert!(long.starts_with("exit code 1: xxx") && long.len() < 500, "{}", long.len());
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    assert_eq!(reason(json!({"command": "ordo-no-such"})).await, r#"command not found "ordo-no-such""#);
    assert_eq!(reason(json!({"command": "/no/such"})).await, r#"command not found "/no/such""#);
    assert_eq!(
        reason(json!({"command": "echo hi"})).await,
        r#"command not found "echo hi": did you forget "args"? Write {"command": "echo", "args": ["hi"]} or use "script""#
    );
    assert_eq!(reason(json!({"command": "true", "cwd": "/no/such"})).await, r#"working folder not found: "/no/such""#);
    assert!(reason(json!({"command": "/etc/passwd"})).await.contains("is it executable?"));
    assert!(reason(json!({"command": "true", "args": ["x".repeat(200_000)]})).await.contains("use stdin"));
}

#[tokio::test]
async fn a_script_whose_interpreter_is_missing_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let script = bench.folder.path().join("job");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (outcome, _) = bench.run(json!({"command": "./job", "cwd": bench.folder.path()})).await;
    assert!(outcome.unwrap_err().reason.contains("the interpreter named in its first line is missing"));
}

#[tokio::test]
async fn what_was_not_started_leaves_no_record() {
    let bench = Bench::new();
    bench.run(json!({"command": "ordo-no-such"})).await.0.unwrap_err();
    assert!(bench.records().is_empty());
}

#[tokio::test]
async fn the_working_folder_is_the_one_asked_for() {
    let bench = Bench::new();
    let folder = bench.folder.path().canonicalize().unwrap();
    let (outcome, _) = bench.run(json!({"command": "pwd", "cwd": folder})).await;
    assert_eq!(outcome.unwrap()["output"], json!(folder));
}

#[tokio::test]
async fn input_text_arrives_whole_while_output_is_read() {
    let text = "0123456789abcde\n".repeat(64 * 1024);
    let (outcome, log) = Bench::new().run(json!({"command": "cat", "stdin": text})).await;
    outcome.unwrap();
    let lines = texts(&log, LogStream::Stdout);
    assert_eq!((lines.len(), lines[0]), (64 * 1024, "0123456789abcde"));
}

#[tokio::test]
async fn a_command_need_not_read_its_input_and_has_none_by_default() {
    let bench = Bench::new();
    bench.run(json!({"command": "true", "stdin": "x".repeat(1_000_000)})).await.0.unwrap();
    let (outcome, _) = bench.run(json!({"command": "wc", "args": ["-c"]})).await;
    assert_eq!(outcome.unwrap()["output"], "0");
    let (outcome, _) = bench.run(json!({"command": "cat", "stdin": ""})).await;
    assert_eq!(outcome.unwrap()["output"], "");
}

#[tokio::test]
async fn ten_megabytes_of_output_are_cut_and_said_to_be() {
    let script = "yes 0123456789abcdef0123456789abcdef | head -c 10000000; echo; echo the end";
    let (outcome, log) = Bench::new().run(json!({"script": script})).await;
    let output = outcome.unwrap()["output"].as_str().unwrap().to_owned();
    assert!(
        output.ends_with("the end") && output.len() <= OUTPUT_TAIL_BYTES,
        "the tail is of all, not of what was kept"
    );
    let kept: usize = texts(&log, LogStream::Stdout).iter().map(|line| line.len() + 1).sum();
    assert!(kept <= LOG_MAX_BYTES && kept > LOG_MAX_BYTES - 100);
    assert!(texts(&log, LogStream::System)[0].starts_with("output cut: "));
}

#[tokio::test]
async fn lines_that_are_long_unfinished_or_not_text_are_kept() {
    let script = "printf 'a\\r\\n\\377\\376\\nb'; printf 'no newline' >&2; head -c 40000 /dev/zero | tr '\\0' x";
    let (outcome, log) = Bench::new().run(json!({"script": script})).await;
    outcome.unwrap();
    let lines = texts(&log, LogStream::Stdout);
    assert_eq!(lines[..2], ["a", "\u{fffd}\u{fffd}"]);
    assert_eq!(lines[2..].concat(), format!("b{}", "x".repeat(40_000)));
    assert!(lines.iter().all(|line| line.len() <= LOG_LINE_MAX_BYTES));
    assert_eq!(texts(&log, LogStream::Stderr), ["no newline"]);
}

#[tokio::test]
async fn lines_are_seen_while_the_command_runs() {
    let bench = Bench::new();
    let (work, mut log) = attempt(json!({"script": "echo started; sleep 100"}));
    let (cancel, shell) = (work.cancel.clone(), bench.shell());
    let running = tokio::spawn(async move { shell.run(work).await });
    assert_eq!(log.next().await, "started");
    cancel.cancel();
    assert_eq!(in_time(running).await.unwrap(), Err(Failure::new("stopped")));
}

#[tokio::test]
async fn the_environment_is_the_servers_without_its_own_and_with_the_attempts() {
    let server =
        [("ORDO_TOKEN", "secret"), ("ORDO_RUN_ID", "an outer run"), ("ORDO_X", "y"), ("HOME", "/h"), ("A", "1")];
    let path = ("PATH".into(), std::env::var_os("PATH").unwrap());
    let bench =
        Bench::with_environment(server.map(|(name, value)| (name.into(), value.into())).into_iter().chain([path]));
    let (mut work, log) = attempt(json!({"command": "env", "env": {"A": "2", "B": "3"}}));
    work.scheduled_for = Some("2026-11-15T19:30:00Z".parse().unwrap());
    work.shard = Some(ordo_model::job::ShardPosition { index: 1, total: 4 });
    bench.shell().run(work.clone()).await.unwrap();
    let lines = log.lines();
    let mut seen = variables(&texts(&lines, LogStream::Stdout));
    seen.remove("PATH");
    let trace = seen.remove("TRACEPARENT").unwrap();
    assert!(trace.starts_with(&format!("00-{}-", work.run_id.0.simple())) && trace.len() == 55, "{trace}");
    let expected = [
        ("HOME", "/h".to_owned()),
        ("A", "2".to_owned()),
        ("B", "3".to_owned()),
        ("ORDO_JOB_ID", work.job_id.to_string()),
        ("ORDO_RUN_ID", work.run_id.to_string()),
        ("ORDO_ATTEMPT", "1".to_owned()),
        ("ORDO_FENCE", work.token.0.to_string()),
        ("ORDO_LABEL", "a label".to_owned()),
        ("ORDO_SCHEDULED_FOR", "2026-11-15T19:30:00.000Z".to_owned()),
        ("ORDO_SHARD_INDEX", "1".to_owned()),
        ("ORDO_SHARD_TOTAL", "4".to_owned()),
    ];
    assert_eq!(seen, expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
}

#[tokio::test]
async fn every_attempt_is_a_span_of_its_own_unless_the_input_names_another() {
    let bench = Bench::with_environment([
        ("PATH".into(), std::env::var_os("PATH").unwrap()),
        ("TRACEPARENT".into(), "00-the-servers-01".into()),
    ]);
    let (mut work, mut log) = attempt(json!({"script": "echo $TRACEPARENT"}));
    bench.shell().run(work.clone()).await.unwrap();
    let first = log.next().await;
    work.attempt = 2;
    bench.shell().run(work.clone()).await.unwrap();
    let second = log.next().await;
    assert_eq!(first[..35], second[..35], "the trace is the run's");
    assert_ne!(first, second);
    work.input = json!({"script": "echo $TRACEPARENT", "env": {"TRACEPARENT": "mine"}});
    bench.shell().run(work).await.unwrap();
    assert_eq!(log.next().await, "mine");
}

#[tokio::test]
async fn a_manual_run_has_no_scheduled_time_and_no_shard() {
    let (_, log) = Bench::new().run(json!({"command": "env"})).await;
    let seen = variables(&texts(&log, LogStream::Stdout));
    assert!(seen.contains_key("ORDO_RUN_ID"));
    assert!(!seen.contains_key("ORDO_SCHEDULED_FOR") && !seen.contains_key("ORDO_SHARD_INDEX"));
}

#[tokio::test]
async fn a_list_of_allowed_commands_leaves_no_way_around_it() {
    let bench = Bench::new();
    let shell = Shell::new(bench.runner.clone(), Some(vec!["echo".to_owned()]));
    assert_eq!(run(&shell, json!({"command": "echo", "args": ["hi"]})).await.0.unwrap()["output"], "hi");
    for input in [
        json!({"command": "ls"}),
        json!({"command": "/bin/echo"}),
        json!({"command": "./echo", "cwd": "/tmp"}),
        json!({"script": "echo hi"}),
        json!({"command": "echo", "env": {"PATH": "/tmp"}}),
        json!({"command": "echo", "env": {"LD_PRELOAD": "/tmp/x.so"}}),
        json!({"command": "echo", "cwd": "/tmp"}),
        json!({"command": "echo", "stdin": "echo hi"}),
    ] {
        assert!(shell.check(&input).unwrap_err().contains("tools.shell.allow"), "{input}");
        let refused = shell.run(attempt(input.clone()).0).await;
        assert!(refused.unwrap_err().reason.contains("tools.shell.allow"), "{input}");
    }
}

#[tokio::test]
async fn what_came_with_a_webhook_is_the_input_of_the_command() {
    let bench = Bench::new();
    let shell = bench.shell();
    let script = r#"printf '%s|%s|%s|%s|' "$ORDO_HOOK_SLUG" "$ORDO_HOOK_CONTENT_TYPE" "$ORDO_HOOK_HEADER_X_EVENT" "$ORDO_HOOK_DELIVERY"; od -An -tx1"#;
    let payload = DeliveryPayload {
        hook: "push".into(),
        delivery: Uuid::nil(),
        headers: vec![
            ("Content-Type".into(), "x/y".into()),
            ("X-Event".into(), "a".into()),
            ("x-event".into(), "b".into()),
        ],
        body: Bytes::from_static(&[0, 255, 10]),
    };
    let (mut work, _log) = attempt(json!({"script": script}));
    work.payload = Some(payload);
    let answer = in_time(shell.run(work.clone())).await.unwrap();
    let expected = "push|x/y|a, b|00000000-0000-0000-0000-000000000000| 00 ff 0a";
    assert_eq!(answer["output"], expected);
    work.input = json!({"script": "cat", "stdin": "own"});
    assert_eq!(in_time(shell.run(work)).await.unwrap()["output"], "own");
}
