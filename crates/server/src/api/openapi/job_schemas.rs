//! Jobs: as they are asked for, changed and answered.

use ordo_model::job::JobState;
use ordo_model::limits::{
    BATCH_JOBS_MAX, GROUP_MAX_BYTES, LABEL_MAX_BYTES, NOTE_MAX_BYTES, PRIORITY_DEFAULT, PRIORITY_MAX,
    TOOL_NAME_MAX_BYTES,
};
use serde_json::{Map, Value, json};

use super::operation::component;
use super::schemas::{answer, fields, integer, object, or_null, text};

pub(super) fn all() -> Value {
    json!({
        "NewJob": new_job(),
        "NewJobs": object(&["jobs"], json!({ "jobs": { "type": "array", "maxItems": BATCH_JOBS_MAX,
            "items": component("NewJob") } })),
        "JobPatch": patch(),
        "Job": job(),
        "JobState": { "type": "string", "enum": JobState::ALL.map(JobState::name) },
        "LastRun": answer(json!({ "run_id": component("Id"), "status": text(), "at": component("Time") }), &[]),
        "BatchResults": answer(json!({ "results": { "type": "array", "items": { "oneOf": [
            answer(json!({ "id": component("Id") }), &[]),
            answer(json!({ "error": component("Problem") }), &[]),
        ] } } }), &[]),
        "RunBegun": answer(json!({ "run_id": component("Id") }), &[]),
        "Occurrence": occurrence(),
        "PreviewedOccurrence": previewed(),
        "JobPreview": answer(json!({
            "schedule": { "type": "string", "description": "The trigger as a sentence." },
            "items": { "type": "array", "items": component("PreviewedOccurrence") },
            "next_cursor": { "type": "null" },
        }), &[]),
        "Backfill": answer(json!({
            "from": component("Time"),
            "to": component("Time"),
            "dry_run": { "type": "boolean" },
            "count": integer(),
            "items": { "type": "array", "items": component("Occurrence"), "description": "At most the first 100." },
        }), &[]),
    })
}

/// The definition of a job: what its author decides.
fn definition() -> Map<String, Value> {
    let line = |max: usize| json!({ "type": "string", "minLength": 1, "maxLength": max });
    let whole = json!({
        "label": line(LABEL_MAX_BYTES),
        "description": line(NOTE_MAX_BYTES),
        "tool_name": line(TOOL_NAME_MAX_BYTES),
        "tool_input": { "default": {}, "description": "What the tool takes; usually an object. At most 256 KiB." },
        "trigger": component("Trigger"),
        "misfire": component("Misfire"),
        "block": component("Block"),
        "routing": component("Routing"),
        "group": { "type": "string", "minLength": 1, "maxLength": GROUP_MAX_BYTES, "default": "default" },
        "priority": { "type": "integer", "minimum": 0, "maximum": PRIORITY_MAX, "default": PRIORITY_DEFAULT },
        "timeout": component("Duration"),
        "retry": component("Retry"),
        "idempotent": { "type": "boolean", "default": false, "description": "Whether running it twice does no harm: \
            only then is an attempt of unknown effect tried again." },
        "retention": component("Retention"),
        "on_failure": component("Reaction"),
        "on_missed": component("Reaction"),
        "expire_after": component("Duration"),
        "concurrency_key": component("ConcurrencyKey"),
        "rate_limit": component("RateLimit"),
        "unique_key": component("UniqueKey"),
        "after": component("After"),
    });
    fields(whole).unwrap_or_default()
}

fn new_job() -> Value {
    let mut properties = definition();
    properties.insert(
        "held".into(),
        json!({ "type": "boolean", "default": false,
        "description": "The job does not run before it is resumed." }),
    );
    let mut form = object(&["label", "tool_name", "trigger"], Value::Object(properties));
    form["examples"] = json!([
        { "label": "nightly-report", "tool_name": "shell", "tool_input": { "command": "make", "args": ["report"] },
            "trigger": { "type": "scheduled", "cron": "0 2 * * *", "timezone": "Europe/Berlin" } },
        { "label": "on demand", "tool_name": "noop", "trigger": { "type": "manual" } },
    ]);
    form
}

/// Null means the default, where there is one.
fn patch() -> Value {
    let loosened = definition().into_iter().map(|(name, schema)| match name.as_str() {
        "label" | "tool_name" | "trigger" | "tool_input" => (name, schema),
        _ => (name, or_null(schema)),
    });
    object(&[], Value::Object(loosened.collect()))
}

fn job() -> Value {
    let standing = json!({
        "id": component("Id"),
        "state": component("JobState"),
        "next_tick_at": or_null(component("Time")),
        "schedule": { "type": "string", "description": "The trigger as a sentence." },
        "revision": { "type": "integer", "minimum": 1, "description": "Moves with the definition; the ETag." },
        "version": { "type": "integer", "minimum": 1, "description": "Of its stream." },
        "created_at": component("Time"),
        "updated_at": component("Time"),
        "last": or_null(component("LastRun")),
        "failures_in_row": integer(),
        "active": { "type": "integer", "minimum": 0, "description": "How many runs are not over." },
        "backfills": { "type": "integer", "minimum": 0, "description": "How many are under way." },
        "pool": { "type": "string", "enum": ["fast", "slow"], "description": "Of the server's own executor." },
        "pool_reason": text(),
        "paused_since": component("Time"),
        "paused_reason": text(),
    });
    let properties = definition().into_iter().chain(fields(standing).unwrap_or_default());
    answer(
        Value::Object(properties.collect()),
        &[
            "description",
            "on_failure",
            "on_missed",
            "expire_after",
            "concurrency_key",
            "rate_limit",
            "unique_key",
            "after",
            "paused_since",
            "paused_reason",
        ],
    )
}

fn occurrence() -> Value {
    answer(json!({ "nominal": component("Time"), "due": component("Time") }), &[])
}

fn previewed() -> Value {
    let notes = ["shifted", "repeated_first", "repeated_last", "clock_changes"];
    let properties = json!({
        "nominal": component("Time"),
        "due": component("Time"),
        "local": { "type": "string", "description": "In the schedule's zone." },
        "note": { "type": "string", "enum": notes, "description": "What a change of the clock does to it." },
    });
    answer(properties, &["note"])
}
