//! The route table.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};

use crate::app::App;
use crate::code::Code;
use crate::problem::Problem;
use crate::{auth, batch, cron, health, job_orders, jobs, logs, metrics, runs, status, store, streams, trace};

const BODY_MAX_BYTES: usize = 1024 * 1024;
const BATCH_BODY_MAX_BYTES: usize = 32 * 1024 * 1024;

pub fn router(app: App) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::show))
        .route("/v1/status", get(status::show))
        .route("/v1/jobs", get(jobs::list).post(jobs::create))
        .route("/v1/jobs/batch", post(batch::create).layer(DefaultBodyLimit::max(BATCH_BODY_MAX_BYTES)))
        .route("/v1/jobs/{id}", get(jobs::show).patch(jobs::update).delete(jobs::cancel))
        .route("/v1/jobs/{id}/trigger", post(job_orders::trigger))
        .route("/v1/jobs/{id}/pause", post(job_orders::pause))
        .route("/v1/jobs/{id}/resume", post(job_orders::resume))
        .route("/v1/jobs/{id}/backfill", post(job_orders::backfill))
        .route("/v1/jobs/{id}/preview", get(job_orders::preview))
        .route("/v1/runs", get(runs::list))
        .route("/v1/runs/{id}", get(runs::show))
        .route("/v1/runs/{id}/logs", get(logs::read))
        .route("/v1/runs/{id}/cancel", post(runs::cancel))
        .route("/v1/runs/{id}/retry", post(runs::retry))
        .route("/v1/streams/{stream}", get(streams::read))
        .route("/v1/store/stats", get(store::stats))
        .route("/v1/store/backup", post(store::backup))
        .route("/v1/store/check", post(store::check))
        .route("/v1/cron/explain", get(cron::explain))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
        .layer(from_fn_with_state(app.clone(), auth::guard))
        .layer(from_fn(trace::request))
        .with_state(app)
}

async fn no_route(uri: Uri) -> Problem {
    Problem::new(Code::RouteNotFound, format!("there is no route {}", uri.path()))
}

async fn no_method(method: axum::http::Method, uri: Uri) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("{} does not take {method}", uri.path()))
}
