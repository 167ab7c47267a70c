//! The protocol of executors that dial in.

use ordo_model::limits::{EXECUTOR_CAPACITY_MAX, EXECUTOR_NAME_MAX_BYTES, EXECUTOR_TOOLS_MAX, POLL_MAX, REPORTS_MAX};
use serde_json::{Value, json};

use super::operation::{Operation, READS, WRITES, component};
use super::schemas::{answer, integer, list, object, or_null, text};
use crate::http::code::Code;

pub(super) fn all() -> Vec<Operation> {
    vec![read_all(), register(), heartbeat(), poll(), leave(), drain(), report(), logs()]
}

fn operation(method: &'static str, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(method, path, id, "executors", summary)
}

fn read_all() -> Operation {
    operation("get", "/v1/executors", "listExecutors", "List executors, by group and name")
        .answers(200, "The server's own one first; lost ones stay for an hour.", &list("Executor"))
        .refuses(READS)
}

fn register() -> Operation {
    let body = object(
        &["name", "tools"],
        json!({
            "name": { "type": "string", "minLength": 1, "maxLength": EXECUTOR_NAME_MAX_BYTES },
            "group": { "type": "string", "minLength": 1, "maxLength": 100, "default": "default" },
            "tools": { "type": "array", "items": text(), "minItems": 1, "maxItems": EXECUTOR_TOOLS_MAX },
            "capacity": { "type": "integer", "minimum": 1, "maximum": EXECUTOR_CAPACITY_MAX, "default": 16 },
            "version": { "type": ["string", "null"] },
        }),
    );
    operation("post", "/v1/executors", "registerExecutor", "Register a new executor, or a new generation of one")
        .saying(
            "Executors dial in; the server never connects to them. One that is not heard of within its lease is \
            lost, and what it ran is settled; it registers again then.",
        )
        .body(body, true)
        .answers(201, "Its id, and how often to let itself be heard.", &component("Registered"))
        .leads_to(201, &["pollExecutor", "leaveExecutor"], "id", "$response.body#/id")
        .refuses(&[Code::IdempotencyKeyUnsupported])
        .refuses(WRITES)
}

fn heartbeat() -> Operation {
    let run = object(&["run_id", "token"], json!({ "run_id": component("Id"), "token": integer() }));
    let body = object(&[], json!({ "runs": { "type": "array", "items": run, "maxItems": REPORTS_MAX } }));
    operation("post", "/v1/executors/{id}/heartbeat", "beatExecutor", "Let itself be heard, with what it runs")
        .body(body, false)
        .answers(200, "What to end, and what is no longer its own.", &component("Beat"))
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

fn poll() -> Operation {
    let body = object(
        &[],
        json!({
            "max": { "type": ["integer", "null"], "minimum": 1, "maximum": POLL_MAX, "default": 1 },
            "wait_ms": { "type": "integer", "minimum": 0, "default": 0, "description": "At most a minute is waited." },
        }),
    );
    operation("post", "/v1/executors/{id}/poll", "pollExecutor", "Fetch work; waits for the first run")
        .saying("Whatever is answered has been started and must be reported, or given back.")
        .body(body, false)
        .answers(200, "The runs, none when none came in time.", &component("HandedRuns"))
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

fn leave() -> Operation {
    let told =
        answer(json!({ "state": { "type": "string", "enum": ["left", "draining"] }, "running": integer() }), &[]);
    operation("delete", "/v1/executors/{id}", "leaveExecutor", "Take nothing new and leave")
        .answers(200, "Whether it has left, or has runs to finish first.", &told)
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

fn drain() -> Operation {
    let told = answer(json!({ "state": { "const": "draining" }, "running": integer() }), &[]);
    operation("post", "/v1/executors/{id}/drain", "drainExecutor", "Ask an executor to finish what it has and leave")
        .saying(
            "It gets nothing more, and hears `drain` with its next heartbeat or poll. An executor of the command line \
            then ends; one that does not listen stays, without work.",
        )
        .answers(202, "How many runs it still has.", &told)
        .refuses(&[Code::ExecutorNotFound])
        .refuses(WRITES)
}

fn report() -> Operation {
    let status = json!({ "oneOf": [
        object(&["type"], json!({ "type": { "const": "completed" }, "result": true })),
        object(&["type", "reason"], json!({ "type": { "const": "failed" }, "reason": text() })),
        object(&["type"], json!({ "type": { "const": "cancelled" } })),
        object(&["type"], json!({ "type": { "const": "nack" }, "delay": component("Duration"),
            "reason": { "type": ["string", "null"] } })),
    ] });
    let one = object(
        &["run_id", "token", "status"],
        json!({ "run_id": component("Id"), "token": integer(),
        "status": status }),
    );
    operation("post", "/v1/runs/report", "reportRuns", "Report how attempts ended")
        .saying(
            "`nack` gives a run back that was not begun. An attempt that is no longer the current one is answered \
            with status 409 in its result, and changes nothing.",
        )
        .body(many("reports", one), true)
        .answers(200, "One result for each report, in order.", &component("ReportResults"))
        .refuses(WRITES)
}

fn logs() -> Operation {
    let line = object(
        &["text"],
        json!({ "at": or_null(component("Time")), "stream": { "type": "string",
        "enum": ["stdout", "stderr", "system"], "default": "stdout" }, "text": text() }),
    );
    let chunk = object(
        &["run_id", "token", "seq", "lines"],
        json!({ "run_id": component("Id"), "token": integer(),
        "seq": { "type": "integer", "minimum": 0, "description": "Counts the chunks of an attempt from 0." },
        "lines": { "type": "array", "items": line, "maxItems": 1_023 } }),
    );
    operation("post", "/v1/runs/logs", "sendLogs", "Send log lines of attempts that run")
        .saying("A chunk that is sent twice is kept once.")
        .body(many("chunks", chunk), true)
        .answers(200, "One result for each chunk, in order.", &component("ReportResults"))
        .refuses(WRITES)
}

fn many(name: &str, item: Value) -> Value {
    object(&[name], json!({ name: { "type": "array", "items": item, "maxItems": REPORTS_MAX } }))
}

pub(super) fn schemas() -> Value {
    let handed = answer(
        json!({
            "run_id": component("Id"),
            "job_id": component("Id"),
            "label": text(),
            "attempt": integer(),
            "token": { "type": "integer", "minimum": 0, "description": "Sent back with every word about the attempt." },
            "scheduled_for": or_null(component("Time")),
            "timeout": component("Duration"),
            "tool_name": text(),
            "tool_input": true,
            "payload": { "type": ["object", "null"], "description": "What a webhook brought: `hook`, `delivery`, `headers`, \
            `body` and its `encoding`, `text` or `base64`; null for other runs." },
            "traceparent": { "type": "string", "description": "The trace context of the attempt (W3C), for what it calls." },
            "shard": { "type": ["object", "null"] },
        }),
        &[],
    );
    let drain = json!({ "const": true, "description": "Said when it shall finish what it has, and leave." });
    let ids = json!({ "type": "array", "items": component("Id") });
    json!({
        "Executor": answer(json!({
            "id": component("Id"),
            "name": text(),
            "group": text(),
            "tools": { "type": "array", "items": text() },
            "capacity": integer(),
            "version": { "type": ["string", "null"] },
            "state": { "type": "string", "enum": ["alive", "draining", "lost"] },
            "running": integer(),
            "registered_at": component("Time"),
            "seen_at": component("Time"),
            "in_process": { "type": "boolean", "description": "Whether it lives in the server." },
        }), &[]),
        "Registered": answer(json!({ "id": component("Id"), "heartbeat_ms": integer(), "lease_ms": integer() }), &[]),
        "Beat": answer(json!({ "cancel": ids, "lost": ids, "drain": drain }), &["drain"]),
        "HandedRuns": answer(json!({ "runs": { "type": "array", "items": handed }, "drain": drain }), &["drain"]),
        "ReportResults": answer(json!({ "results": { "type": "array", "items": answer(json!({
            "run_id": component("Id"),
            "status": { "type": "integer", "description": "200, or the status of the problem." },
            "error": component("Problem"),
        }), &["error"]) } }), &[]),
    })
}
