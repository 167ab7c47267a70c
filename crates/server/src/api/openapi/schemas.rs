//! The schemas that others are made of, and all of them together.
//!
//! Invariant: what is asked for is closed (an unknown field is refused), what is answered is open (it may gain fields).

use serde_json::{Map, Value, json};

use super::access_routes;
use super::executor_routes;
use super::hook_schemas;
use super::incident_schemas;
use super::job_schemas;
use super::operation::component;
use super::policy_schemas;
use super::run_schemas;
use super::subscription_routes;
use super::upkeep_schemas;
use crate::http::code::Code;

pub(super) fn all() -> Map<String, Value> {
    let groups = [
        common(),
        job_schemas::all(),
        policy_schemas::all(),
        run_schemas::all(),
        executor_routes::schemas(),
        hook_schemas::all(),
        access_routes::schemas(),
        incident_schemas::all(),
        subscription_routes::schemas(),
        upkeep_schemas::all(),
    ];
    groups.into_iter().filter_map(fields).flatten().collect()
}

/// The fields of an object.
pub(super) fn fields(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// An object in a request.
pub(super) fn object(required: &[&str], properties: Value) -> Value {
    let mut form = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        form["required"] = json!(required);
    }
    form
}

/// An object in an answer; all fields but the optional ones are always there.
pub(super) fn answer(properties: Value, optional: &[&str]) -> Value {
    let names = properties.as_object().into_iter().flat_map(Map::keys);
    let required: Vec<&String> = names.filter(|name| !optional.contains(&name.as_str())).collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

/// A page of these.
pub(super) fn list(item: &str) -> Value {
    json!({
        "type": "object",
        "required": ["items", "next_cursor"],
        "properties": {
            "items": { "type": "array", "items": component(item) },
            "next_cursor": { "type": ["string", "null"], "description": "Where the next page begins; null: no more." },
        },
    })
}

/// One event of a stream: `text/event-stream` is described by its events.
pub(super) fn sent_event(names: &[&str], description: &str) -> Value {
    let properties = json!({
        "id": { "type": "string", "description": "Where to go on: a `Last-Event-ID`." },
        "event": { "type": "string", "enum": names },
        "data": { "type": "string", "contentMediaType": "application/json" },
    });
    json!({ "type": "object", "required": ["data"], "properties": properties, "description": description })
}

pub(super) fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

pub(super) fn integer() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

fn common() -> Value {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.text()).collect();
    let field_error = answer(json!({ "field": text(), "message": text() }), &[]);
    json!({
        "Id": { "type": "string", "format": "uuid" },
        "Time": { "type": "string", "format": "date-time", "examples": ["2026-11-15T19:20:00.000Z"],
            "description": "RFC 3339; answered in UTC with milliseconds. From 1970 to 9999." },
        "Duration": { "type": "string", "pattern": "^(([0-9]{1,9}(d|h|m|s|ms))+|P[0-9.DTHMS]+)$", "examples": ["1h30m", "500ms", "PT5M"],
            "description": "Answered in the shortest form: `1h30m`, `500ms`, `2d`. ISO 8601 is read too." },
        "Problem": answer(json!({
            "type": { "type": "string", "description": "`urn:ordo:error:<code>`" },
            "title": text(),
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What was wrong this time, and what to do." },
            "code": { "type": "string", "enum": codes, "description": "Stable; branch on it." },
            "errors": { "type": "array", "items": field_error, "description": "The fields that were refused." },
        }), &["errors"]),
        "Event": answer(json!({
            "stream": text(),
            "version": { "type": "integer", "minimum": 1, "description": "Its number in its stream." },
            "position": { "type": "string", "description": "Its place in the log of all events. Opaque." },
            "at": component("Time"),
            "type": { "type": "string", "examples": ["JobScheduled", "JobTriggered", "JobExecuted"] },
            "data": { "type": "object" },
        }), &[]),
    })
}
