//! Commands to a job: trigger, pause, resume, backfill; and what it will do next.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_api::jobs::{BackfillJob, BackfillView, JobPreview, PauseJob, RunBegun, TriggerJob, sentence};
use ordo_engine::SubmitError;
use ordo_model::job::{Command, Job, SlottedCommand, decide};
use ordo_model::limits::{BACKFILL_MAX, PREVIEW_MAX};
use ordo_model::schedule::Occurrence;
use ordo_model::{JobId, RunId, Timestamp};

use crate::api::jobs::tool_check;
use crate::api::jobs::unique;
use crate::api::jobs::{answer, find, named};
use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::idempotency::{self, Once};
use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::http::trace::request_span::CallerTrace;

/// How many occurrences a preview shows by default.
const PREVIEW_DEFAULT: usize = 10;
/// How many occurrences the answer to a backfill lists.
const LISTED_MAX: usize = 100;

pub(crate) async fn trigger(
    Signed(app): Signed,
    Named(id): Named<JobId>,
    caller: CallerTrace,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let once = Once::read(&headers, &format!("POST /v1/jobs/{id}/trigger"), &body.bytes)?;
    let TriggerJob { tool_input } = body.parse_or_default()?;
    if let Some(run) = earlier(&app, once.as_ref()).await? {
        return Ok(run);
    }
    let job = find(&app, id).await?;
    if let Some(input) = &tool_input {
        tool_check::check(&app.engine, &job.definition, input).await?;
    }
    if let Some(unique) = &job.definition.unique_key {
        return unique::trigger(&app, &headers, &job, unique, tool_input, caller.0).await;
    }
    let command = Command::Trigger { tool_input, traceparent: caller.0 };
    begin_run(&app, id, command, once).await?.map_err(|error| named(id, error))
}

/// The answer to an earlier request with the same key.
pub(crate) async fn earlier(app: &App, once: Option<&Once>) -> Result<Option<Response>, Problem> {
    let Some(once) = once else { return Ok(None) };
    Ok(once.earlier_run(app).await?.map(|run| idempotency::replayed(begun(run))))
}

/// Has a run begun; once only, if there is a key.
pub(crate) async fn begin_run(
    app: &App,
    id: JobId,
    command: Command,
    once: Option<Once>,
) -> Result<Result<Response, SubmitError>, Problem> {
    let answer = match &once {
        None => app.engine.submit(id, command).await,
        Some(once) => app.engine.submit_once(id, command, once.claim_run(app.now())).await,
    };
    match (answer, once) {
        (Ok(accepted), _) => match accepted.run_begun() {
            Some(run) => Ok(Ok(begun(run.id))),
            None => Err(Problem::new(Code::Internal, "the order was carried out but led to no run")),
        },
        (Err(SubmitError::Duplicate(value)), Some(once)) => {
            Ok(Ok(idempotency::replayed(begun(once.resolve_run(&value)?))))
        }
        (Err(error), _) => Ok(Err(error)),
    }
}

pub(crate) fn begun(run: RunId) -> Response {
    (StatusCode::ACCEPTED, Json(RunBegun { run_id: run })).into_response()
}

pub(crate) async fn pause(Signed(app): Signed, Named(id): Named<JobId>, body: Body) -> Result<Response, Problem> {
    let PauseJob { reason } = body.parse_or_default()?;
    order(&app, id, Command::Pause { reason }).await
}

pub(crate) async fn resume(Signed(app): Signed, Named(id): Named<JobId>) -> Result<Response, Problem> {
    order(&app, id, Command::Resume).await
}

async fn order(app: &App, id: JobId, command: Command) -> Result<Response, Problem> {
    let accepted = app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    Ok(answer(app, StatusCode::OK, &accepted.job))
}

pub(crate) async fn backfill(
    Signed(app): Signed,
    Named(id): Named<JobId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let once = Once::read(&headers, &format!("POST /v1/jobs/{id}/backfill"), &body.bytes)?;
    let form: BackfillJob = body.parse()?;
    let now = app.now();
    if let Some(once) = &once
        && let Some(backfill) = once.earlier::<BackfillView>(&app).await?
    {
        return Ok(idempotency::replayed((StatusCode::ACCEPTED, Json(backfill)).into_response()));
    }
    let to = form.to.unwrap_or(now).min(now);
    let command = Command::Backfill { from: form.from, to };
    let job = find(&app, id).await?;
    let found = occurrences(&job, form.from, to);
    let backfill = BackfillView {
        from: form.from,
        to,
        dry_run: form.dry_run,
        count: found.len(),
        items: found.into_iter().take(LISTED_MAX).collect(),
    };
    if form.dry_run {
        // What would be refused is refused here too, by the same rule.
        decide(id, Some(job), SlottedCommand { command, reservation: None }, now)?;
        return Ok(Json(backfill).into_response());
    }
    let answer = match &once {
        None => app.engine.submit(id, command).await,
        Some(once) => app.engine.submit_once(id, command, once.claim(&backfill, now)).await,
    };
    match (answer, once) {
        (Ok(_), _) => Ok((StatusCode::ACCEPTED, Json(backfill)).into_response()),
        (Err(SubmitError::Duplicate(value)), Some(once)) => {
            let backfill: BackfillView = once.resolve(&value)?;
            Ok(idempotency::replayed((StatusCode::ACCEPTED, Json(backfill)).into_response()))
        }
        (Err(error), _) => Err(named(id, error)),
    }
}

fn occurrences(job: &Job, from: Timestamp, to: Timestamp) -> Vec<Occurrence> {
    let schedule = job.definition.trigger.schedule();
    schedule.map_or_else(Vec::new, |schedule| schedule.between(from, to, BACKFILL_MAX, job.id.0))
}

pub(crate) async fn preview(
    State(app): State<App>,
    Named(id): Named<JobId>,
    mut params: Params,
) -> Result<Response, Problem> {
    let n = params.take_count("n", PREVIEW_DEFAULT, PREVIEW_MAX)?;
    let from = params.take::<Timestamp>("from")?.unwrap_or_else(|| app.now());
    params.finish()?;
    let job = find(&app, id).await?;
    let schedule = job.definition.trigger.schedule();
    let items = schedule.map_or_else(Vec::new, |schedule| schedule.preview(from, n, id.0));
    Ok(Json(JobPreview { schedule: sentence(&job.definition), items, next_cursor: None }).into_response())
}
