//! The dashboard shows each job as a command line and as a request: both make the same job.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::World;

/// A page of the dashboard, as a browser gets it.
fn page(place: &str, token: &str, path: &str) -> String {
    let host = place.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// What a page shows in one of its blocks of code.
fn shown(page: &str, begin: &str) -> String {
    let start = page.find(begin).unwrap_or_else(|| panic!("no {begin} in {page}"));
    let text = page[start..].split_once("</pre>").unwrap().0.split("</code>").next().unwrap();
    let pairs = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The body of the request that the page shows, as a shell would hand it to curl.
fn body_of(curl: &str) -> Value {
    let script = format!("curl() {{ for last; do :; done; printf %s \"$last\"; }}\n{curl}");
    let out = Command::new("sh").args(["-c", &script]).output().unwrap();
    serde_json::from_slice(&out.stdout).unwrap_or_else(|error| panic!("{error}: {out:?}\n{curl}"))
}

fn definition(job: &Value) -> Value {
    let own = ["id", "state", "revision", "created_at", "updated_at", "next_tick_at", "last", "next_fires", "counts"];
    let mut job = job.clone();
    job.as_object_mut().unwrap().retain(|name, _| !own.contains(&name.as_str()));
    job
}

fn jobs(before: &str) -> [Value; 5] {
    [
        json!({
            "label": "it's a job", "description": "--nightly & \"quoted\"", "description_url": "https://wiki.example.com/a",
            "tags": ["nightly", "team:billing"],
            "tool_name": "shell", "tool_input": { "script": "echo 'hi'\necho \"$HOME\"\n" },
            "trigger": {
                "type": "scheduled", "cron": "0 2 * * *", "timezone": "Europe/Berlin",
                "start": "2026-10-25T00:30:00.250Z", "end": "2031-01-01T00:00:00.000Z", "jitter": "1m",
                "exclude": [{ "days": ["sat", "sun"] }, { "dates": ["2030-12-24"] }],
                "dst": { "skipped": "skip", "repeated": "both" },
            },
            "misfire": { "fire_all": { "cap": 7, "window": "6h" } }, "block": { "concurrent": { "max": 3 } },
            "retry": { "max_attempts": 4, "backoff": "5s", "max_backoff": "1m" },
            "on_failure": { "incident": { "severity": "sev1", "after": 3, "resolve_on_recovery": true } },
            "on_missed": { "incident": { "severity": "sev4", "after": 2, "resolve_on_recovery": false } },
            "expire_after": "5m", "concurrency_key": { "key": "/tenant", "max": 2 },
            "rate_limit": { "key": "label", "limit": 5, "per": "1m" },
            "unique_key": { "key": "/tenant", "window": "1s", "on_conflict": "merge" },
            "priority": 7, "group": "gpu", "routing": "lru",
            "retention": { "runs": 50, "age": "3d" }, "timeout": "10m", "idempotent": true,
        }),
        json!({
            "label": "chained", "tool_name": "noop", "trigger": { "type": "manual" },
            "after": { "jobs": [before], "mode": "any", "on": "either" },
            "on_failure": { "incident": { "severity": "sev2", "after": 2, "resolve_on_recovery": true } },
            "on_missed": { "incident": { "severity": "sev3", "after": 4, "resolve_on_recovery": true } },
        }),
        json!({
            "label": "interval", "tool_name": "shell", "tool_input": { "command": "echo", "args": ["-n", "a b"] },
            "trigger": { "type": "scheduled", "every": "10m" }, "misfire": "do_nothing", "block": "cover",
            "retry": { "max_attempts": 1, "backoff": "9s" },
        }),
        json!({
            "label": "hooked", "tool_name": "shell", "tool_input": { "command": "env", "env": { "A": "b" }, "cwd": "/tmp" },
            "trigger": { "type": "webhook", "hook": "gh" }, "block": "discard",
        }),
        json!({
            "label": "once", "tool_name": "http", "tool_input": { "url": "https://example.com/?a=1&b='2'", "method": "POST" },
            "trigger": { "type": "scheduled", "at": "2031-05-01T09:00:00.000Z" },
        }),
    ]
}

#[tokio::test]
async fn the_command_and_the_request_that_a_page_shows_make_the_same_job() {
    let world = World::new();
    let daemon = world.serve();
    let client = world.client();
    let before = world.json(&["job", "add", "before", "--tool", "noop"])["id"].as_str().unwrap().to_owned();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_ordo")).parent().unwrap();
    for job in jobs(&before) {
        let made: Value = client.post("/v1/jobs", &job).await.unwrap();
        let id = made["id"].as_str().unwrap();
        let page = page(&daemon.place, world.read(".ordo/token").trim(), &format!("/jobs/{id}"));

        let body = body_of(&shown(&page, "curl -X POST"));
        let again: Value = client.post("/v1/jobs", &body).await.unwrap();
        assert_eq!(definition(&again), definition(&made));

        let line = shown(&page, "ordo job add").replacen("ordo job add", "ordo --output json job add", 1);
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let out = Command::new("sh").args(["-c", &line]).current_dir(world.path()).env("PATH", path).output().unwrap();
        let again: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{out:?}\n{line}"));
        assert_eq!(definition(&again), definition(&made), "{line}");
    }
}
