//! Runs and their logs.

use serde_json::{Value, json};

use super::operation::component;
use super::schemas::{answer, integer, or_null, text};

pub(super) fn all() -> Value {
    json!({
        "Run": run(),
        "RunStatus": status(),
        "Cause": cause(),
        "Gap": answer(json!({
            "from": component("Time"),
            "to": component("Time"),
            "count": integer(),
            "exact": { "type": "boolean", "default": true, "description": "False: `count` is a lower bound." },
        }), &["exact"]),
        "AttemptError": answer(json!({ "attempt": integer(), "at": component("Time"), "reason": text() }), &[]),
        "LogLine": answer(json!({
            "id": { "type": "string", "description": "Where to go on behind it: a cursor and a `Last-Event-ID`." },
            "at": component("Time"),
            "stream": { "type": "string", "enum": ["stdout", "stderr", "system"] },
            "text": text(),
            "attempt": integer(),
        }), &[]),
    })
}

fn run() -> Value {
    let properties = json!({
        "id": component("Id"),
        "job_id": component("Id"),
        "label": text(),
        "scheduled_for": or_null(component("Time")),
        "due_at": component("Time"),
        "fired_at": component("Time"),
        "started_at": or_null(component("Time")),
        "finished_at": or_null(component("Time")),
        "lateness_ms": { "type": ["integer", "null"], "description": "Start of the first attempt minus when due." },
        "attempt": integer(),
        "executor": { "type": ["string", "null"] },
        "parent_id": or_null(component("Id")),
        "shard": { "type": ["object", "null"] },
        "cause": component("Cause"),
        "timeliness": { "type": "string", "enum": ["on_time", "late", "misfire"], "default": "on_time" },
        "tool_input": { "description": "The input given with the trigger, where it differs from the job's." },
        "traceparent": { "type": "string", "description": "The W3C trace context of whoever asked for the run." },
        "errors": { "type": "array", "items": component("AttemptError") },
        "status": component("RunStatus"),
        "version": integer(),
    });
    answer(properties, &["due_at", "timeliness", "tool_input", "traceparent", "errors"])
}

/// One of several answers, told apart by `type`.
fn kind(name: &str, properties: Value, optional: &[&str]) -> Value {
    let mut form = answer(properties, optional);
    form["properties"]["type"] = json!({ "const": name });
    if let Some(required) = form["required"].as_array_mut() {
        required.push(json!("type"));
    }
    form
}

fn status() -> Value {
    let reasons = ["misfire", "catch_up_limit", "paused", "overlap", "queue_full", "changed", "held", "expired"];
    json!({
        "oneOf": [
            kind("pending", json!({ "retry_at": component("Time"), "waiting_for": text() }), &["retry_at", "waiting_for"]),
            kind("running", json!({ "cancelling": text() }), &["cancelling"]),
            kind("completed", json!({ "result": true, "result_bytes": integer() }), &["result_bytes"]),
            kind("failed", json!({ "reason": text() }), &[]),
            kind("cancelled", json!({ "reason": text() }), &[]),
            kind("skipped", json!({ "reason": { "type": "string", "enum": reasons }, "gap": component("Gap") }), &["gap"]),
        ],
    })
}

fn cause() -> Value {
    let occurrences = json!({ "occurrence": component("Occurrence"), "next": component("Occurrence") });
    json!({
        "oneOf": [
            kind("schedule", occurrences.clone(), &["next"]),
            kind("manual", json!({}), &[]),
            kind("backfill", occurrences, &["next"]),
            kind("retry", json!({ "of": component("Id"), "delivery": component("Id") }), &["delivery"]),
            kind("after", json!({ "of": component("Id"), "depth": integer() }), &[]),
            kind("webhook", json!({ "delivery": component("Id"), "replay": integer() }), &["replay"]),
        ],
    })
}
