//! The routes of monitors and their pings.

use ordo_model::monitor::MonitorSettings;

use super::{Delete, Get, OPEN, OPERATE, Post, READ};
use crate::alerting::monitors::{MonitorView, PingHeard};
use crate::code::Code;
use crate::operation::Operation;
use crate::route::{Method, Need, READS, Route, WRITES};

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
        .answers::<PingHeard>(200, "It was heard.")
        .refuses(&[Code::MonitorNotFound, Code::BodyTooLarge, Code::RequestTimeout, Code::InvalidJson])
        .refuses(WRITES);
    match method {
        Method::Post => route.raw_body().saying("The last 64 KiB of the body are kept, whatever they are."),
        Method::Get | Method::Put | Method::Patch | Method::Delete => route,
    }
}

const WENT_WELL: (&str, &str) = ("/ping/{token}", "All went well");
const HAS_BEGUN: (&str, &str) = ("/ping/{token}/start", "It has begun, and must end within the grace");
const HAS_FAILED: (&str, &str) = ("/ping/{token}/fail", "It failed");

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
