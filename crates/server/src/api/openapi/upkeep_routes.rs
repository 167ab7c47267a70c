//! The routes of the store as a whole and of the server itself.

use ordo_model::limits::PREVIEW_MAX;
use serde_json::json;

use super::operation::{Operation, READS, component};
use super::schemas::{answer, object, text};
use crate::http::code::Code;

pub(super) fn all() -> Vec<Operation> {
    vec![alive(), ready(), metrics(), description(), status(), explain(), stats(), backup(), check(), nodes(), drain()]
}

fn server(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new("get", path, id, "server", summary)
}

fn alive() -> Operation {
    server("/healthz", "isAlive", "Whether the process is alive").open().answers(200, "It does.", &component("Health"))
}

fn ready() -> Operation {
    server("/readyz", "isReady", "Whether the server takes work")
        .open()
        .answers(200, "It does.", &component("Health"))
        .refuses(&[Code::NotReady])
}

fn metrics() -> Operation {
    let text = json!({ "text/plain": { "schema": { "type": "string" } } });
    server("/metrics", "readMetrics", "Counters and gauges for Prometheus").open().answers_as(
        200,
        "The Prometheus text format.",
        text,
    )
}

fn description() -> Operation {
    server("/openapi.json", "readDescription", "This document").open().answers(
        200,
        "OpenAPI 3.1.",
        &json!({ "type": "object" }),
    )
}

fn status() -> Operation {
    server("/v1/status", "readStatus", "How the server is doing").answers(200, "How it is doing.", &component("Status"))
}

fn explain() -> Operation {
    let count = json!({ "type": "integer", "minimum": 1, "maximum": PREVIEW_MAX, "default": 5 });
    let expr = json!({ "name": "expr", "in": "query", "required": true, "schema": { "type": "string" },
        "description": "The cron expression: `0 2 * * *`." });
    server("/v1/cron/explain", "explainCron", "What a cron expression means")
        .parameter(expr)
        .query("tz", json!({ "type": "string", "default": "UTC" }), "An IANA time zone.")
        .query("n", count, "How many occurrences.")
        .query("from", component("Time"), "Those after this moment; now when left out.")
        .answers(200, "Its meaning and its next occurrences.", &component("CronExplained"))
        .refuses(&[Code::InvalidQuery])
}

fn stats() -> Operation {
    Operation::new("get", "/v1/store/stats", "readStoreStats", "store", "How much is stored")
        .answers(200, "How much.", &component("StoreStats"))
        .refuses(&[Code::MaintenanceFailed, Code::MaintenanceRefused])
        .refuses(READS)
}

fn backup() -> Operation {
    let to = json!({ "type": "string", "pattern": "^/", "description": "An absolute path on the server's machine, of a \
        file that does not exist yet." });
    Operation::new("post", "/v1/store/backup", "backupStore", "store", "Copy the store while it is used")
        .body(object(&["to"], json!({ "to": to })), true)
        .answers(200, "The copy.", &component("StoreCopy"))
        .refuses(&[Code::MaintenanceFailed, Code::MaintenanceRefused])
        .refuses(READS)
}

fn check() -> Operation {
    Operation::new("post", "/v1/store/check", "checkStore", "store", "Prove that the store is sound")
        .saying("Compares everything derived with the events, on a copy.")
        .answers(200, "What was found.", &component("StoreCheck"))
        .refuses(&[Code::MaintenanceFailed, Code::MaintenanceRefused])
        .refuses(READS)
}

fn nodes() -> Operation {
    let items = json!({ "items": { "type": "array", "items": component("Node") }, "next_cursor": { "type": "null" } });
    server("/v1/nodes", "listNodes", "The nodes that share the store")
        .answers(200, "All of them; one, where the store is a file.", &answer(items, &[]))
        .refuses(READS)
}

fn drain() -> Operation {
    let draining = json!({ "type": "boolean", "default": true });
    let name = json!({ "name": "name", "in": "path", "required": true, "schema": { "type": "string" } });
    Operation::new("post", "/v1/nodes/{name}/drain", "drainNode", "server", "Have a node leave its work to the others")
        .saying("What runs there goes on; nothing new begins. `{\"draining\": false}` takes it back.")
        .parameter(name)
        .body(object(&[], json!({ "draining": draining })), false)
        .answers(200, "It was told.", &answer(json!({ "name": text(), "draining": { "type": "boolean" } }), &[]))
        .refuses(&[Code::NodeNotFound, Code::MaintenanceRefused])
        .refuses(READS)
}
