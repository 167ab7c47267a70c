//! Runs: list, read, cancel, run again.

pub(crate) mod log_follow;
pub(crate) mod logs;
pub(crate) mod search;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::Page;
use ordo_api::runs::CancelRun;
use ordo_engine::SubmitError;
use ordo_model::RunId;
use ordo_model::job::{Command, Refusal, Run, RunStatus};

use crate::api::jobs::commands::{begin_run, earlier};
use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::idempotency::Once;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::http::trace::request_span::CallerTrace;

const CANCELLED: &str = "cancelled on request";

pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let filter = search::take_filter(&mut params, app.now())?;
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let page = app.engine.queries().runs(&filter, after.as_ref(), limit).await?;
    let items = shown(&app, page.items).await?;
    Ok(Json(Page { items, next_cursor: next_cursor(page.next) }).into_response())
}

/// Runs as they are answered: a pending one says what it waits for.
async fn shown(app: &App, mut runs: Vec<Run>) -> Result<Vec<Run>, Problem> {
    let jobs = app.engine.queries().jobs_of_pending(&runs).await?;
    for run in &mut runs {
        if let RunStatus::Pending { waiting_for, .. } = &mut run.status
            && let Some(job) = jobs.get(&run.job_id)
        {
            *waiting_for = app.engine.waits_for(job, run.id).map(|cause| cause.to_string());
        }
    }
    Ok(runs)
}

pub(crate) async fn show(State(app): State<App>, Named(id): Named<RunId>) -> Result<Response, Problem> {
    let run = app.engine.queries().run_with_result(id).await?.ok_or_else(|| Problem::no_run(id))?;
    Ok(Json(shown(&app, vec![run]).await?.pop()).into_response())
}

pub(crate) async fn find(app: &App, id: RunId) -> Result<Run, Problem> {
    app.engine.queries().run(id).await?.ok_or_else(|| Problem::no_run(id))
}

/// Accepted: a run that executes ends a moment later.
pub(crate) async fn cancel(Signed(app): Signed, Named(id): Named<RunId>, body: Body) -> Result<Response, Problem> {
    let CancelRun { reason } = body.parse_or_default()?;
    let run = find(&app, id).await?;
    let command = Command::CancelRun { run_id: id, reason: reason.unwrap_or_else(|| CANCELLED.to_owned()) };
    app.engine.submit(run.job_id, command).await.map_err(|error| named(id, error))?;
    Ok((StatusCode::ACCEPTED, Json(find(&app, id).await?)).into_response())
}

pub(crate) async fn retry(
    Signed(app): Signed,
    Named(id): Named<RunId>,
    caller: CallerTrace,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let once = Once::read(&headers, &format!("POST /v1/runs/{id}/retry"), &[])?;
    if let Some(run) = earlier(&app, once.as_ref()).await? {
        return Ok(run);
    }
    // Asked for again means asked for by somebody else: it belongs to the new caller's trace, or to none.
    let run = Run { traceparent: caller.0, ..find(&app, id).await? };
    let job = run.job_id;
    let command = Command::RetryRun { run: Box::new(run) };
    begin_run(&app, job, command, once).await?.map_err(|error| named(id, error))
}

/// A run whose job is forgotten is about to be forgotten too.
fn named(id: RunId, error: SubmitError) -> Problem {
    match error {
        SubmitError::Refused(Refusal::NoSuchJob | Refusal::NoSuchRun) => Problem::no_run(id),
        error => error.into(),
    }
}
