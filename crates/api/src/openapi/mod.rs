//! The description of the API for programs: OpenAPI 3.1, at `/openapi.json`, derived from the route table.
//!
//! Invariant: every route is in it with every status and code that it answers, every component is used, and every
//! reference leads somewhere.

mod defaults;
mod limits;
mod parameters;
mod paths;
mod schemas;
#[cfg(test)]
mod tests;
mod variants;

use std::sync::LazyLock;

use serde_json::{Value, json};

static DOCUMENT: LazyLock<Value> = LazyLock::new(assemble);

/// The document, as `/openapi.json` answers it.
pub fn openapi() -> &'static Value {
    &DOCUMENT
}

const ABOUT: &str = "JSON in and out. Times are RFC 3339 in UTC with milliseconds; durations are written `1h30m`, `500ms` \
    or as ISO 8601; ids are UUIDs. A success is answered only after it is durable. Whatever is not a success is a problem \
    (RFC 9457) with a stable `code`; each code has a page in `docs/errors/`. Fields and parameters that are not known are \
    refused by name. Answers may gain fields.";

fn assemble() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ordo",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A durable scheduler.",
            "description": ABOUT,
            "contact": { "name": "Ordo" },
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The server that this document came from." }],
        "security": [{ "token": [] }],
        "tags": tags(),
        "paths": paths::all(),
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The server keeps its token in `.ordo/token`. The Unix socket needs none.",
                },
            },
            "parameters": parameters::shared(),
            "schemas": schemas::all(),
        },
    })
}

fn tags() -> Value {
    let tags = [
        ("jobs", "What was asked for."),
        ("runs", "What came of it: one firing each, with its log."),
        ("executors", "Processes that run the work, here and elsewhere."),
        ("hooks", "Where others call, and what came of their calls."),
        ("incidents", "What people work on, and the notifications about it."),
        ("monitors", "Heartbeat checks for work that runs elsewhere."),
        ("events", "What happened, event by event."),
        ("subscriptions", "Who hears of what, by signed webhook."),
        ("channels", "Where notifications go, and who is called when nobody answers."),
        ("slack", "What Slack calls."),
        ("xxl", "What executors of XXL-JOB call."),
        ("access", "Who may do what, and what only the server knows."),
        ("store", "The store as a whole."),
        ("server", "The server itself."),
    ];
    tags.into_iter().map(|(name, description)| json!({ "name": name, "description": description })).collect()
}

fn component(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}
