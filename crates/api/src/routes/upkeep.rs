//! The routes of the server itself, its nodes, and the store as a whole.

use ordo_model::limits::PREVIEW_MAX;
use serde_json::json;

use super::{ADMIN, Get, OPEN, Post, READ, reference, text};
use crate::code::Code;
use crate::route::{Media, Need, READS, Route};
use crate::upkeep::{
    BackupStore, CronExplained, DrainNode, Health, NodeDescription, NodeDraining, StatusView, StoreCheck, StoreCopy,
    StoreStats, TimekeeperView,
};

fn server(path: &'static str, need: Need) -> Route {
    Route::new(Get, path, need, "server")
}

pub(crate) fn alive() -> Route {
    server("/healthz", OPEN).summary("Whether the process is alive").answers::<Health>(200, "It is.")
}

pub(crate) fn ready() -> Route {
    server("/readyz", OPEN)
        .summary("Whether the server is ready")
        .answers::<Health>(200, "It does.")
        .refuses(&[Code::NotReady])
}

pub(crate) fn metrics() -> Route {
    server("/metrics", OPEN).summary("Counters and gauges for Prometheus").answers_as(
        200,
        "The Prometheus text format.",
        vec![Media::Text("text/plain")],
    )
}

pub(crate) fn description() -> Route {
    server("/openapi.json", OPEN).summary("This document").answers_as(200, "OpenAPI 3.1.", vec![Media::AnyObject])
}

pub(crate) fn status() -> Route {
    server("/v1/status", READ).summary("How the server is doing").answers::<StatusView>(200, "How it is doing.")
}

pub(crate) fn timekeeper() -> Route {
    server("/v1/timekeeper", READ)
        .summary("What the timekeeper has in mind: ring, horizon, lag")
        .saying(
            "Of the node that answers. A projection: the alarms in the store are the truth, and it is made of them.",
        )
        .answers::<TimekeeperView>(200, "Its projection.")
        .refuses(&[Code::NotReady])
}

pub(crate) fn explain() -> Route {
    let count = json!({ "type": "integer", "minimum": 1, "maximum": PREVIEW_MAX, "default": 5 });
    server("/v1/cron/explain", READ)
        .summary("What a cron expression means")
        .query_required("expr", text(), "The cron expression: `0 2 * * *`.")
        .query("tz", json!({ "type": "string", "default": "UTC" }), "An IANA time zone.")
        .query("n", count, "How many occurrences.")
        .query("from", reference("Time"), "Those after this moment; now when left out.")
        .answers::<CronExplained>(200, "Its meaning and its next occurrences.")
        .refuses(&[Code::InvalidQuery])
}

pub(crate) fn nodes() -> Route {
    server("/v1/nodes", READ)
        .summary("The nodes that share the store")
        .answers_page::<NodeDescription>("All of them; one, where the store is a file.")
        .refuses(READS)
}

pub(crate) fn drain() -> Route {
    Route::new(Post, "/v1/nodes/{name}/drain", ADMIN, "server")
        .summary("Have a node leave its work to the others")
        .saying("What runs there goes on; nothing new begins. `{\"draining\": false}` takes it back.")
        .body_or_none::<DrainNode>()
        .answers::<NodeDraining>(200, "The node was asked to drain, or to stop draining.")
        .refuses(&[Code::NodeNotFound, Code::MaintenanceRefused])
        .refuses(READS)
}

const MAINTENANCE: &[Code] = &[Code::MaintenanceFailed, Code::MaintenanceRefused];

pub(crate) fn stats() -> Route {
    Route::new(Get, "/v1/store/stats", READ, "store")
        .summary("How much is stored")
        .answers::<StoreStats>(200, "How much.")
        .refuses(MAINTENANCE)
        .refuses(READS)
}

pub(crate) fn backup() -> Route {
    Route::new(Post, "/v1/store/backup", ADMIN, "store")
        .summary("Copy the store while it is used")
        .body::<BackupStore>()
        .answers::<StoreCopy>(200, "The copy.")
        .refuses(MAINTENANCE)
        .refuses(READS)
}

pub(crate) fn check() -> Route {
    Route::new(Post, "/v1/store/check", ADMIN, "store")
        .summary("Prove that the store is sound")
        .saying("Compares everything derived with the events, on a copy.")
        .answers::<StoreCheck>(200, "What was found.")
        .refuses(MAINTENANCE)
        .refuses(READS)
}
