//! The right that each route requires: the rows of the API, and the pages.
//!
//! Invariant: a route that is not here is for admins only. The tests hold every route against this table.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::http::Method;
use ordo_api::{Need, Operation};
use ordo_model::Right;

const OPEN: Need = Need::Open;
const READ: Need = Need::Right(Right::Read);
const OPERATE: Need = Need::Right(Right::Operate);
const HOOKS: Need = Need::Right(Right::ManageHooks);
const ADMIN: Need = Need::Right(Right::Administer);

type PageRights = (&'static str, &'static [(&'static str, Need)]);

/// The pages: those of the API say it themselves.
#[rustfmt::skip]
const PAGES: &[PageRights] = &[
    ("/", &[("GET", READ)]),
    ("/live", &[("GET", READ)]),
    ("/preferences", &[("POST", READ)]),
    ("/assets/{mark}/{name}", &[("GET", OPEN)]),
    ("/jobs", &[("GET", READ)]),
    ("/jobs/new", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/jobs/preview", &[("POST", OPERATE)]),
    ("/jobs/bulk", &[("POST", OPERATE)]),
    ("/jobs/import", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/jobs/{id}", &[("GET", READ)]),
    ("/chains", &[("GET", READ)]),
    ("/jobs/{id}/definition", &[("GET", READ)]),
    ("/jobs/{id}/chain", &[("GET", READ)]),
    ("/jobs/{id}/history", &[("GET", READ)]),
    ("/jobs/{id}/incidents", &[("GET", READ)]),
    ("/jobs/{id}/revert", &[("POST", OPERATE)]),
    ("/jobs/{id}/edit", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/jobs/{id}/trigger", &[("POST", OPERATE)]),
    ("/jobs/{id}/pause", &[("POST", OPERATE)]),
    ("/jobs/{id}/resume", &[("POST", OPERATE)]),
    ("/jobs/{id}/cancel", &[("POST", OPERATE)]),
    ("/jobs/{id}/backfill", &[("POST", OPERATE)]),
    ("/calendar", &[("GET", READ)]),
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
    ("/incidents/{id}/roles", &[("POST", OPERATE)]),
    ("/incidents/{id}/impact", &[("POST", OPERATE)]),
    ("/incidents/{id}/actions", &[("POST", OPERATE)]),
    ("/incidents/{id}/actions/{number}", &[("POST", OPERATE)]),
    ("/incidents/{id}/snooze", &[("POST", OPERATE)]),
    ("/incidents/{id}/postmortem", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/silences", &[("GET", READ), ("POST", OPERATE)]),
    ("/silences/{id}/end", &[("POST", OPERATE)]),
    ("/deliveries/{slug}/{id}/replay", &[("POST", HOOKS)]),
    ("/notifications/{id}/replay", &[("POST", OPERATE)]),
    ("/notifications/replay", &[("POST", OPERATE)]),
    ("/monitors", &[("GET", READ)]),
    ("/monitors/new", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/monitors/{name}", &[("GET", READ)]),
    ("/monitors/{name}/edit", &[("GET", OPERATE), ("POST", OPERATE)]),
    ("/monitors/{name}/remove", &[("POST", OPERATE)]),
    ("/hooks", &[("GET", READ)]),
    ("/hook", &[("GET", HOOKS), ("POST", HOOKS)]),
    ("/hook/{slug}", &[("GET", READ)]),
    ("/hook/{slug}/edit", &[("GET", HOOKS), ("POST", HOOKS)]),
    ("/hook/{slug}/test", &[("POST", HOOKS)]),
    ("/hook/{slug}/remove", &[("POST", HOOKS)]),
    ("/executors", &[("GET", READ)]),
    ("/executors/{id}", &[("GET", READ)]),
    ("/executors/{id}/drain", &[("POST", OPERATE)]),
    ("/channels", &[("GET", READ)]),
    ("/channels/new", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/channels/{name}", &[("GET", READ)]),
    ("/channels/{name}/edit", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/channels/{name}/remove", &[("POST", ADMIN)]),
    ("/channels/{name}/test", &[("POST", ADMIN)]),
    ("/escalations/new", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/escalations/{name}", &[("GET", READ)]),
    ("/escalations/{name}/edit", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/escalations/{name}/remove", &[("POST", ADMIN)]),
    ("/nodes", &[("GET", READ)]),
    ("/nodes/{name}/drain", &[("POST", ADMIN)]),
    ("/docs", &[("GET", READ)]),
    ("/docs/{*page}", &[("GET", READ)]),
    ("/notifications", &[("GET", READ)]),
    ("/subscriptions", &[("GET", READ)]),
    ("/subscriptions/new", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/subscriptions/{id}", &[("GET", READ)]),
    ("/subscriptions/{id}/edit", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/subscriptions/{id}/test", &[("POST", ADMIN)]),
    ("/subscriptions/{id}/enable", &[("POST", ADMIN)]),
    ("/subscriptions/{id}/disable", &[("POST", ADMIN)]),
    ("/subscriptions/{id}/remove", &[("POST", ADMIN)]),
    ("/secrets", &[("GET", ADMIN)]),
    ("/secrets/new", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/secrets/{name}/remove", &[("POST", ADMIN)]),
    ("/audit", &[("GET", ADMIN)]),
    ("/tokens", &[("GET", ADMIN)]),
    ("/tokens/new", &[("GET", ADMIN), ("POST", ADMIN)]),
    ("/tokens/{id}/revoke", &[("POST", ADMIN)]),
];

static LINES: LazyLock<HashMap<(&str, &str), Need>> = LazyLock::new(|| {
    let pages = PAGES.iter().flat_map(|(path, methods)| methods.iter().map(|(method, need)| ((*path, *method), *need)));
    let api = Operation::routes().iter().map(|route| ((route.path, route.method.name()), route.need));
    pages.chain(api).collect()
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
        assert_eq!(LINES.len(), PAGES.iter().map(|(_, methods)| methods.len()).sum::<usize>() + Operation::ALL.len());
    }
}
