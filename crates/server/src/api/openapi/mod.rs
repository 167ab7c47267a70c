//! The description of this API for programs: OpenAPI 3.1, at `/openapi.json`.
//!
//! Invariant: every route is in it with every status and code that it answers; the tests hold every answer they see
//! against it. The codes come from [`Code`] itself, so a problem cannot be described under a wrong status.

#![expect(clippy::needless_pass_by_value, reason = "pieces of the document are made in place and handed on")]

mod access_routes;
mod event_routes;
mod executor_routes;
mod hook_routes;
mod hook_schemas;
mod incident_routes;
mod incident_schemas;
mod job_routes;
mod job_schemas;
mod monitor_routes;
mod operation;
mod policy_schemas;
mod run_routes;
mod run_schemas;
mod schemas;
mod subscription_routes;
mod upkeep_routes;
mod upkeep_schemas;

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use operation::Operation;

static DOCUMENT: LazyLock<Value> = LazyLock::new(assemble);
static TEXT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(DOCUMENT.to_string()));

/// The document, as `/openapi.json` answers it.
pub fn openapi() -> &'static Value {
    &DOCUMENT
}

pub(crate) async fn show() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], TEXT.clone()).into_response()
}

fn assemble() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ordo",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A durable scheduler.",
            "description": "JSON in and out. Times are RFC 3339 in UTC with milliseconds; durations are written `1h30m`, \
                `500ms` or as ISO 8601; ids are UUIDs. A success is answered only after it is durable. Whatever is not \
                a success is a problem (RFC 9457) with a stable `code`; each code has a page in `docs/errors/`. Fields \
                and parameters that are not known are refused by name. Answers may gain fields.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The server that this document came from." }],
        "security": [{ "token": [] }],
        "tags": tags(),
        "paths": paths(),
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The server keeps its token in `.ordo/token`. The Unix socket needs none.",
                },
            },
            "parameters": operation::shared_parameters(),
            "schemas": schemas::all(),
        },
    })
}

fn tags() -> Value {
    json!([
        { "name": "jobs", "description": "What was asked for." },
        { "name": "runs", "description": "What came of it: one firing each, with its log." },
        { "name": "executors", "description": "Processes that run the work, here and elsewhere." },
        { "name": "hooks", "description": "Where others call, and what came of their calls." },
        { "name": "incidents", "description": "What people work on, and what they were told." },
        { "name": "monitors", "description": "What must give a sign of life." },
        { "name": "events", "description": "What happened, event by event." },
        { "name": "subscriptions", "description": "Who hears of what, by signed webhook." },
        { "name": "slack", "description": "What Slack calls." },
        { "name": "access", "description": "Who may do what, and what only the server knows." },
        { "name": "store", "description": "The store as a whole." },
        { "name": "server", "description": "The server itself." },
    ])
}

fn paths() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations() {
        let item = paths.entry(operation.path).or_insert_with(|| json!({}));
        item[operation.method] = operation.to_json();
    }
    Value::Object(paths)
}

fn operations() -> Vec<Operation> {
    [
        job_routes::all(),
        run_routes::all(),
        executor_routes::all(),
        hook_routes::all(),
        incident_routes::all(),
        monitor_routes::all(),
        event_routes::all(),
        subscription_routes::all(),
        access_routes::all(),
        upkeep_routes::all(),
    ]
    .concat()
}
