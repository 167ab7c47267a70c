//! `/xxl-job-admin/api/…`: what executors of XXL-JOB say to their admin.
//!
//! Invariant: whoever speaks has the token of a group that the configuration names; the bridge looks at it before anything
//! else. What ended is durable before it is answered.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_xxl::Bridge;

use crate::app::App;
use crate::http::body::Body;
use crate::http::problem::Problem;

const ACCESS_TOKEN: &str = "xxl-job-access-token";

fn bridge(app: &App) -> Result<&Bridge, Problem> {
    app.adapters.xxl.as_ref().ok_or_else(|| {
        let detail = "executors of XXL-JOB are not served here: set xxl.groups.NAME (docs/migration/xxl-job.md)";
        Problem::new(Code::XxlNotConfigured, detail)
    })
}

fn token(headers: &HeaderMap) -> Option<&str> {
    headers.get(ACCESS_TOKEN).and_then(|value| value.to_str().ok())
}

pub(crate) async fn registry(State(app): State<App>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    Ok(Json(bridge(&app)?.registry(token(&headers), &body.bytes).await).into_response())
}

pub(crate) async fn remove(State(app): State<App>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    Ok(Json(bridge(&app)?.registry_remove(token(&headers), &body.bytes).await).into_response())
}

pub(crate) async fn callback(State(app): State<App>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    Ok(Json(bridge(&app)?.callback(token(&headers), &body.bytes).await).into_response())
}
