//! What each route asks of whoever calls it: one table, beside the table of routes.
//!
//! Invariant: a route that is not here is for admins only. The tests hold every route against this table.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::http::Method;
use ordo_model::{Kind, Right};

/// What a route asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it is for everybody, or it checks signatures of its own.
    Open,
    Right(Right),
}

const OPEN: Need = Need::Open;
const READ: Need = Need::Right(Right::Read);
const OPERATE: Need = Need::Right(Right::Operate);
const HOOKS: Need = Need::Right(Right::ManageHooks);
const EXECUTE: Need = Need::Right(Right::Execute);
const ADMIN: Need = Need::Right(Right::Administer);

type Line = (&'static str, &'static [(&'static str, Need)]);

#[rustfmt::skip]
const TABLE: &[Line] = &[
    // Whether it lives, and how one gets in.
    ("/healthz", &[("GET", OPEN)]),
    ("/readyz", &[("GET", OPEN)]),
    ("/metrics", &[("GET", OPEN)]),
    ("/openapi.json", &[("GET", OPEN)]),
    ("/login", &[("GET", OPEN), ("POST", OPEN)]),
    ("/logout", &[("POST", OPEN)]),
    // Jobs and runs.
    ("/v1/status", &[("GET", READ)]),
    ("/v1/cron/explain", &[("GET", READ)]),
    ("/v1/jobs", &[("GET", READ), ("POST", OPERATE)]),
    ("/v1/jobs/batch", &[("POST", OPERATE)]),
    ("/v1/jobs/{id}", &[("GET", READ), ("PATCH", OPERATE), ("DELETE", OPERATE)]),
    ("/v1/jobs/{id}/trigger", &[("POST", OPERATE)]),
    ("/v1/jobs/{id}/pause", &[("POST", OPERATE)]),
    ("/v1/jobs/{id}/resume", &[("POST", OPERATE)]),
    ("/v1/jobs/{id}/backfill", &[("POST", OPERATE)]),
    ("/v1/jobs/{id}/preview", &[("GET", READ)]),
    ("/v1/runs", &[("GET", READ)]),
    ("/v1/runs/{id}", &[("GET", READ)]),
    ("/v1/runs/{id}/logs", &[("GET", READ)]),
    ("/v1/runs/{id}/cancel", &[("POST", OPERATE)]),
    ("/v1/runs/{id}/retry", &[("POST", OPERATE)]),
    // Of an event log, the streams of secrets and tokens are for admins: see `to_see`.
    ("/v1/streams/{stream}", &[("GET", READ)]),
    ("/v1/events", &[("GET", READ)]),
    // Access and upkeep.
    ("/v1/secrets", &[("GET", ADMIN)]),
    ("/v1/secrets/{name}", &[("PUT", ADMIN), ("DELETE", ADMIN)]),
    ("/v1/tokens", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/v1/tokens/{id}", &[("DELETE", ADMIN)]),
    ("/v1/store/stats", &[("GET", READ)]),
    ("/v1/store/backup", &[("POST", ADMIN)]),
    ("/v1/store/check", &[("POST", ADMIN)]),
    ("/v1/store/reseal", &[("POST", ADMIN)]),
    // Hooks. What they send is checked by their own secrets.
    ("/hooks/{slug}", &[("POST", OPEN)]),
    ("/slack/events", &[("POST", OPEN)]),
    ("/slack/interaction", &[("POST", OPEN)]),
    ("/ping/{token}", &[("GET", OPEN), ("POST", OPEN)]),
    ("/ping/{token}/start", &[("GET", OPEN), ("POST", OPEN)]),
    ("/ping/{token}/fail", &[("GET", OPEN), ("POST", OPEN)]),
    ("/v1/hooks", &[("GET", READ), ("POST", HOOKS)]),
    ("/v1/hooks/{slug}", &[("GET", READ), ("PUT", HOOKS), ("DELETE", HOOKS)]),
    ("/v1/hooks/{slug}/deliveries", &[("GET", READ)]),
    ("/v1/hooks/{slug}/deliveries/{id}/replay", &[("POST", HOOKS)]),
    ("/v1/monitors", &[("GET", READ), ("POST", OPERATE)]),
    ("/v1/monitors/{name}", &[("GET", READ), ("DELETE", OPERATE)]),
    // Incidents.
    ("/v1/incidents", &[("GET", READ), ("POST", OPERATE)]),
    ("/v1/incidents/{id}", &[("GET", READ)]),
    ("/v1/incidents/{id}/assignee", &[("POST", OPERATE)]),
    ("/v1/incidents/{id}/severity", &[("POST", OPERATE)]),
    ("/v1/incidents/{id}/status", &[("POST", OPERATE)]),
    ("/v1/incidents/{id}/ack", &[("POST", OPERATE)]),
    ("/v1/incidents/{id}/notes", &[("POST", OPERATE)]),
    ("/v1/incidents/{id}/links", &[("POST", OPERATE)]),
    ("/v1/incidents/{id}/export", &[("GET", READ)]),
    ("/v1/notifications", &[("GET", READ)]),
    ("/v1/notifications/{id}", &[("GET", READ)]),
    ("/v1/notifications/{id}/replay", &[("POST", OPERATE)]),
    ("/v1/subscriptions", &[("GET", READ), ("POST", ADMIN)]),
    ("/v1/subscriptions/{id}", &[("GET", READ), ("PATCH", ADMIN), ("DELETE", ADMIN)]),
    ("/v1/subscriptions/{id}/test", &[("POST", ADMIN)]),
    // Executors and nodes.
    ("/v1/executors", &[("GET", READ), ("POST", EXECUTE)]),
    ("/v1/executors/{id}", &[("GET", READ), ("DELETE", EXECUTE)]),
    ("/v1/executors/{id}/heartbeat", &[("POST", EXECUTE)]),
    ("/v1/executors/{id}/poll", &[("POST", EXECUTE)]),
    ("/v1/executors/{id}/drain", &[("POST", OPERATE)]),
    ("/v1/runs/report", &[("POST", EXECUTE)]),
    ("/v1/runs/logs", &[("POST", EXECUTE)]),
    ("/v1/nodes", &[("GET", READ)]),
    ("/v1/nodes/{name}/drain", &[("POST", ADMIN)]),
    // Pages.
    ("/", &[("GET", READ)]),
    ("/live", &[("GET", READ)]),
    ("/preferences", &[("POST", READ)]),
    ("/assets/{mark}/{name}", &[("GET", OPEN)]),
    ("/jobs", &[("GET", READ)]),
    ("/jobs/new", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/jobs/preview", &[("POST", OPERATE)]),
    ("/jobs/bulk", &[("POST", OPERATE)]),
    ("/jobs/{id}", &[("GET", READ)]),
    ("/jobs/{id}/edit", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/jobs/{id}/trigger", &[("POST", OPERATE)]),
    ("/jobs/{id}/pause", &[("POST", OPERATE)]),
    ("/jobs/{id}/resume", &[("POST", OPERATE)]),
    ("/jobs/{id}/cancel", &[("POST", OPERATE)]),
    ("/jobs/{id}/backfill", &[("POST", OPERATE)]),
    ("/runs", &[("GET", READ)]),
    ("/runs/{id}", &[("GET", READ)]),
    ("/runs/{id}/log.txt", &[("GET", READ)]),
    ("/runs/{id}/cancel", &[("POST", OPERATE)]),
    ("/runs/{id}/retry", &[("POST", OPERATE)]),
    ("/incidents", &[("GET", READ), ("POST", OPERATE)]),
    ("/incidents/{id}", &[("GET", READ)]),
    ("/incidents/{id}/ack", &[("POST", OPERATE)]),
    ("/incidents/{id}/status", &[("POST", OPERATE)]),
    ("/incidents/{id}/severity", &[("POST", OPERATE)]),
    ("/incidents/{id}/assignee", &[("POST", OPERATE)]),
    ("/incidents/{id}/notes", &[("POST", OPERATE)]),
    ("/deliveries/{slug}/{id}/replay", &[("POST", HOOKS)]),
    ("/notifications/{id}/replay", &[("POST", OPERATE)]),
    ("/monitors", &[("GET", READ)]),
    ("/hooks", &[("GET", READ)]),
    ("/executors", &[("GET", READ)]),
    ("/executors/{id}/drain", &[("POST", OPERATE)]),
    ("/nodes", &[("GET", READ)]),
    ("/notifications", &[("GET", READ)]),
    ("/tokens", &[("GET", ADMIN)]),
];

static LINES: LazyLock<HashMap<(&str, &str), Need>> = LazyLock::new(|| {
    let lines = TABLE.iter().flat_map(|(path, methods)| methods.iter().map(|(method, need)| ((*path, *method), *need)));
    lines.collect()
});

/// What this method of this route asks for.
pub fn need(method: &Method, route: &str) -> Need {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    LINES.get(&(route, method)).copied().unwrap_or(ADMIN)
}

/// Whether the table has a line of its own for it.
pub fn is_listed(method: &Method, route: &str) -> bool {
    LINES.contains_key(&(route, method.as_str()))
}

/// Whether the log of all events tells about an entity. Of secrets and tokens only their own streams do.
pub(crate) const fn is_told(kind: Kind) -> bool {
    match to_see(kind) {
        Right::Read => true,
        Right::Operate | Right::ManageHooks | Right::Execute | Right::Administer => false,
    }
}

/// What it takes to see the stream of an entity.
pub(crate) const fn to_see(kind: Kind) -> Right {
    match kind {
        Kind::Job
        | Kind::Incident
        | Kind::Hook
        | Kind::Delivery
        | Kind::Executor
        | Kind::Monitor
        | Kind::Subscription
        | Kind::Notification => Right::Read,
        Kind::ApiToken | Kind::Secret => Right::Administer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_for_admins() {
        assert_eq!(need(&Method::GET, "/v1/nothing"), ADMIN);
        assert_eq!(need(&Method::DELETE, "/v1/runs"), ADMIN);
        assert_eq!(need(&Method::HEAD, "/v1/runs"), READ);
        assert_eq!(need(&Method::POST, "/healthz"), ADMIN);
    }

    #[test]
    fn no_line_is_written_twice() {
        assert_eq!(LINES.len(), TABLE.iter().map(|(_, methods)| methods.len()).sum::<usize>());
    }
}
