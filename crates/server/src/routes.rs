//! The route table.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, delete, get, post};

use crate::app::App;
use crate::code::Code;
use crate::problem::Problem;
use crate::{
    auth, batch, compression, cron, events, executors, health, job_list, job_orders, jobs, logs, metrics, openapi,
    reports, runs, status, store, streams, trace,
};

const BODY_MAX_BYTES: usize = 1024 * 1024;
const BATCH_BODY_MAX_BYTES: usize = 32 * 1024 * 1024;

/// Every path with what it answers; in `openapi/` each is described.
fn table() -> Vec<(&'static str, MethodRouter<App>)> {
    vec![
        ("/healthz", get(health::alive)),
        ("/readyz", get(health::ready)),
        ("/metrics", get(metrics::show)),
        ("/openapi.json", get(openapi::show)),
        ("/v1/status", get(status::show)),
        ("/v1/jobs", get(job_list::read).post(jobs::create)),
        ("/v1/jobs/batch", post(batch::create).layer(DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES))),
        ("/v1/jobs/{id}", get(jobs::show).patch(jobs::update).delete(jobs::cancel)),
        ("/v1/jobs/{id}/trigger", post(job_orders::trigger)),
        ("/v1/jobs/{id}/pause", post(job_orders::pause)),
        ("/v1/jobs/{id}/resume", post(job_orders::resume)),
        ("/v1/jobs/{id}/backfill", post(job_orders::backfill)),
        ("/v1/jobs/{id}/preview", get(job_orders::preview)),
        ("/v1/runs", get(runs::list)),
        ("/v1/runs/{id}", get(runs::show)),
        ("/v1/runs/{id}/logs", get(logs::read)),
        ("/v1/runs/{id}/cancel", post(runs::cancel)),
        ("/v1/runs/{id}/retry", post(runs::retry)),
        ("/v1/runs/report", post(reports::report).layer(DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES))),
        ("/v1/runs/logs", post(reports::logs).layer(DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES))),
        ("/v1/executors", get(executors::list).post(executors::register)),
        ("/v1/executors/{id}", delete(executors::leave)),
        ("/v1/executors/{id}/heartbeat", post(executors::heartbeat)),
        ("/v1/executors/{id}/poll", post(executors::poll)),
        ("/v1/streams/{stream}", get(streams::read)),
        ("/v1/events", get(events::read)),
        ("/v1/store/stats", get(store::stats)),
        ("/v1/store/backup", post(store::backup)),
        ("/v1/store/check", post(store::check)),
        ("/v1/cron/explain", get(cron::explain)),
    ]
}

pub fn router(app: App) -> Router {
    let routes = table().into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods));
    routes
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
        .layer(from_fn_with_state(app.clone(), auth::guard))
        .layer(compression::layer())
        .layer(from_fn(trace::request))
        .with_state(app)
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
