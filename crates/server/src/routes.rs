//! The route table. What each route asks of its callers stands in `access.rs`.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, delete, get, post, put};
use tower::Layer;

use crate::api::{
    cron, events, executors, health, hooks, incidents, jobs, metrics, monitors, nodes, notifications, openapi, runs,
    secrets, slack, status, store, subscriptions, tokens,
};
use crate::app::App;
use crate::auth::{self, login};
use crate::http::code::Code;
use crate::http::problem::Problem;
use crate::http::{compression, security_headers, trace};
use crate::pages;

const BODY_MAX_BYTES: usize = 1024 * 1024;
const BATCH_BODY_MAX_BYTES: usize = 32 * 1024 * 1024;

/// Every path with what it answers; in `openapi/` each is described.
fn table() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/healthz", get(health::alive)),
        ("/readyz", get(health::ready)),
        ("/metrics", get(metrics::show)),
        ("/openapi.json", get(openapi::show)),
        ("/login", get(login::by_link).post(login::by_form)),
        ("/logout", post(login::leave)),
        ("/v1/status", get(status::show)),
        ("/v1/jobs", get(jobs::list::read).post(jobs::create)),
        ("/v1/jobs/batch", post(jobs::batch::create).layer(DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES))),
        ("/v1/jobs/{id}", get(jobs::show).patch(jobs::update).delete(jobs::cancel)),
        ("/v1/jobs/{id}/trigger", post(jobs::commands::trigger)),
        ("/v1/jobs/{id}/pause", post(jobs::commands::pause)),
        ("/v1/jobs/{id}/resume", post(jobs::commands::resume)),
        ("/v1/jobs/{id}/backfill", post(jobs::commands::backfill)),
        ("/v1/jobs/{id}/preview", get(jobs::commands::preview)),
        ("/v1/runs", get(runs::list)),
        ("/v1/runs/{id}", get(runs::show)),
        ("/v1/runs/{id}/logs", get(runs::logs::read)),
        ("/v1/runs/{id}/cancel", post(runs::cancel)),
        ("/v1/runs/{id}/retry", post(runs::retry)),
        ("/v1/runs/report", post(executors::reports::report).layer(DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES))),
        ("/v1/runs/logs", post(executors::reports::logs).layer(DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES))),
        ("/v1/executors", get(executors::list).post(executors::register)),
        ("/v1/executors/{id}", delete(executors::leave)),
        ("/v1/executors/{id}/heartbeat", post(executors::heartbeat)),
        ("/v1/executors/{id}/poll", post(executors::poll)),
        ("/v1/executors/{id}/drain", post(executors::drain)),
        ("/hooks/{slug}", post(hooks::receive::receive)),
        ("/v1/hooks", get(hooks::list).post(hooks::create)),
        ("/v1/hooks/{slug}", get(hooks::show).put(hooks::update).delete(hooks::remove)),
        ("/v1/hooks/{slug}/deliveries", get(hooks::deliveries::list)),
        ("/v1/hooks/{slug}/deliveries/{id}/replay", post(hooks::deliveries::replay)),
        ("/v1/subscriptions", get(subscriptions::list).post(subscriptions::create)),
        ("/v1/subscriptions/{id}", get(subscriptions::show).patch(subscriptions::update).delete(subscriptions::remove)),
        ("/v1/subscriptions/{id}/test", post(subscriptions::test)),
        ("/slack/events", post(slack::events)),
        ("/slack/interaction", post(slack::interaction)),
        ("/v1/incidents", get(incidents::list).post(incidents::create)),
        ("/v1/incidents/{id}", get(incidents::show)),
        ("/v1/incidents/{id}/assignee", post(incidents::assignee)),
        ("/v1/incidents/{id}/severity", post(incidents::severity)),
        ("/v1/incidents/{id}/status", post(incidents::status)),
        ("/v1/incidents/{id}/ack", post(incidents::acknowledge)),
        ("/v1/incidents/{id}/notes", post(incidents::note)),
        ("/v1/incidents/{id}/links", post(incidents::link)),
        ("/v1/incidents/{id}/export", get(incidents::export)),
        ("/v1/notifications", get(notifications::list)),
        ("/v1/notifications/{id}", get(notifications::show)),
        ("/v1/notifications/{id}/replay", post(notifications::replay)),
        ("/v1/monitors", get(monitors::list).post(monitors::create)),
        ("/v1/monitors/{name}", get(monitors::show).delete(monitors::remove)),
        ("/ping/{token}", get(monitors::succeeded).post(monitors::succeeded)),
        ("/ping/{token}/start", get(monitors::started).post(monitors::started)),
        ("/ping/{token}/fail", get(monitors::failed).post(monitors::failed)),
        ("/v1/streams/{stream}", get(events::streams::read)),
        ("/v1/events", get(events::read)),
        ("/v1/nodes", get(nodes::list)),
        ("/v1/nodes/{name}/drain", post(nodes::drain)),
        ("/v1/secrets", get(secrets::list)),
        ("/v1/secrets/{name}", put(secrets::put).delete(secrets::remove)),
        ("/v1/tokens", get(tokens::list).post(tokens::create)),
        ("/v1/tokens/{id}", delete(tokens::revoke)),
        ("/v1/store/stats", get(store::stats)),
        ("/v1/store/backup", post(store::backup)),
        ("/v1/store/check", post(store::check)),
        ("/v1/store/reseal", post(secrets::reseal)),
        ("/v1/cron/explain", get(cron::explain)),
    ]
}

pub fn router(app: App) -> Router {
    let prefix = app.base_path.clone();
    let all = table().into_iter().chain(pages::table());
    let routes = all.fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    let routes = routes
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
        .layer(from_fn_with_state(app.clone(), auth::guard))
        .layer(from_fn_with_state(app.clone(), pages::layout::frame::around))
        .layer(from_fn(security_headers::put_on))
        .layer(compression::layer())
        .layer(from_fn_with_state(app.clone(), trace::request))
        .with_state(app);
    match prefix.as_ref() {
        "" => routes,
        // A proxy may take the prefix away or leave it: both are answered.
        _ => {
            let bare = tower::util::MapRequestLayer::new(move |request| without(&prefix, request));
            Router::new().fallback_service(bare.layer(routes))
        }
    }
}

/// The request as if there were no prefix.
fn without(prefix: &str, mut request: Request) -> Request {
    let rest = request.uri().path_and_query().and_then(|place| place.as_str().strip_prefix(prefix));
    let bare = match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('?') => format!("/{rest}"),
        Some(rest) if rest.starts_with('/') => rest.to_owned(),
        Some(_) | None => return request,
    };
    let mut parts = request.uri().clone().into_parts();
    // A part of an address is an address.
    parts.path_and_query = bare.parse().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    request
}

/// The paths of all routes, as they stand in the description.
pub fn paths() -> Vec<&'static str> {
    table().into_iter().map(|(path, _)| path).collect()
}

async fn no_route(uri: Uri) -> Problem {
    Problem::new(Code::RouteNotFound, format!("there is no route {}", uri.path()))
}

async fn no_method(method: axum::http::Method, uri: Uri) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("{} does not take {method}", uri.path()))
}
