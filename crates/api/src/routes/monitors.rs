//! The routes of monitors and their pings.

use ordo_model::monitor::MonitorSettings;

use serde_json::json;

use super::{Delete, Get, OPEN, OPERATE, Post, READ, text};
use crate::alerting::monitors::{BadgeJson, MonitorView, PingHeard};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{Media, Method, Need, READS, Route, Shape, WRITES};

fn route(method: Method, path: &'static str, need: Need) -> Route {
    Route::new(method, path, need, "monitors")
}

pub(crate) fn add() -> Route {
    route(Post, "/v1/monitors", OPERATE)
        .summary("Add a monitor, or change the one of that name")
        .body::<MonitorSettings>()
        .answers::<MonitorView>(200, "The monitor of that name, with these settings.")
        .answers::<MonitorView>(201, "The monitor, durable.")
        .leads_to(201, &[Operation::ReadMonitor, Operation::RemoveMonitor], "name", "$response.body#/name")
        .refuses(&[Code::InvalidMonitor])
        .refuses(WRITES)
}

pub(crate) fn list() -> Route {
    route(Get, "/v1/monitors", READ)
        .summary("List monitors by name")
        .paged::<MonitorView>("A page of monitors.")
        .refuses(READS)
}

pub(crate) fn read() -> Route {
    route(Get, "/v1/monitors/{name}", READ)
        .summary("Read a monitor with its last pings")
        .answers::<MonitorView>(200, "The monitor.")
        .refuses(&[Code::MonitorNotFound])
        .refuses(READS)
}

pub(crate) fn remove() -> Route {
    route(Delete, "/v1/monitors/{name}", OPERATE)
        .summary("Forget a monitor and its pings")
        .answers::<MonitorView>(200, "The monitor as it was.")
        .refuses(&[Code::MonitorNotFound])
        .refuses(WRITES)
}

/// A ping by method and path, and what it means.
fn signal(method: Method, path: &'static str, summary: &'static str) -> Route {
    let route = route(method, path, OPEN)
        .summary(summary)
        .query("rid", json!({ "type": "string", "format": "uuid" }), RID)
        .answers::<PingHeard>(200, "It was heard.")
        .header(200, "Ping-Body-Limit", "How many bytes of a body are kept.")
        .refuses(&[Code::MonitorNotFound, Code::BodyTooLarge, Code::RequestTimeout, Code::InvalidJson])
        .refuses(&[Code::InvalidQuery])
        .refuses(WRITES);
    match method {
        Method::Post => route.raw_body().saying("The last 64 KiB of the body are kept, whatever they are."),
        Method::Get | Method::Put | Method::Patch | Method::Delete => route,
    }
}

/// The same for the ways in by a name.
fn named(method: Method, path: &'static str, summary: &'static str) -> Route {
    signal(method, path, summary)
        .query("create", text(), "`1` adds a monitor of this name if there is none: daily, with a grace of an hour.")
        .answers::<PingHeard>(201, "The monitor was added, and the ping heard.")
        .refuses(&[Code::InvalidMonitor, Code::RateLimited])
}

const RID: &str = "Which run of several at once: a start and its end bear the same.";
const WENT_WELL: (&str, &str) = ("/ping/{token}", "All went well");
const HAS_BEGUN: (&str, &str) = ("/ping/{token}/start", "It has begun, and must end within the grace");
const HAS_FAILED: (&str, &str) = ("/ping/{token}/fail", "It failed");
const SAYS: (&str, &str) = ("/ping/{token}/log", "Something to write down, whatever becomes of it");
const ENDED: (&str, &str) =
    ("/ping/{token}/{status}", "It ended with this exit status; after a ping key: the monitor of this name went well");
const BY_NAME: (&str, &str) =
    ("/ping/{token}/{status}/{signal}", "After a ping key and a name: `start`, `fail`, `log` or an exit status");

pub(crate) fn ping() -> Route {
    signal(Get, WENT_WELL.0, WENT_WELL.1)
}

pub(crate) fn ping_with_text() -> Route {
    signal(Post, WENT_WELL.0, WENT_WELL.1)
}

pub(crate) fn start() -> Route {
    signal(Get, HAS_BEGUN.0, HAS_BEGUN.1)
}

pub(crate) fn start_with_text() -> Route {
    signal(Post, HAS_BEGUN.0, HAS_BEGUN.1)
}

pub(crate) fn fail() -> Route {
    signal(Get, HAS_FAILED.0, HAS_FAILED.1)
}

pub(crate) fn fail_with_text() -> Route {
    signal(Post, HAS_FAILED.0, HAS_FAILED.1)
}

pub(crate) fn log() -> Route {
    signal(Get, SAYS.0, SAYS.1)
}

pub(crate) fn log_with_text() -> Route {
    signal(Post, SAYS.0, SAYS.1)
}

pub(crate) fn status_or_name() -> Route {
    named(Get, ENDED.0, ENDED.1)
}

pub(crate) fn status_or_name_with_text() -> Route {
    named(Post, ENDED.0, ENDED.1)
}

pub(crate) fn by_name() -> Route {
    named(Get, BY_NAME.0, BY_NAME.1)
}

pub(crate) fn by_name_with_text() -> Route {
    named(Post, BY_NAME.0, BY_NAME.1)
}

pub(crate) fn badge() -> Route {
    route(Get, "/badge/{name}/{file}", OPEN)
        .summary("How a monitor is, for a page of somebody else")
        .saying(
            "`KEY.svg` is an image, `KEY.json` and `KEY.shields` say the same to programs; `badge_path` has the key.",
        )
        .answers_as(200, "The badge.", vec![Media::Text("image/svg+xml")])
        .also(200, Media::Json(Shape::of::<BadgeJson>()))
        .refuses(&[Code::MonitorNotFound])
        .refuses(READS)
}
