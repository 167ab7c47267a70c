//! Orders to a job: trigger, pause, resume, backfill; and what it will do next.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_model::job::{Cause, Command, Job, Order, Run, decide};
use ordo_model::limits::{BACKFILL_MAX, PREVIEW_MAX};
use ordo_model::schedule::Occurrence;
use ordo_model::{JobId, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::body::Body;
use crate::code::Code;
use crate::idempotency;
use crate::job_json::{answer, sentence};
use crate::jobs::{find, named};
use crate::params::Params;
use crate::path::Named;
use crate::problem::Problem;
use crate::{tool_check, unique};

/// How many occurrences a preview shows unless told.
const PREVIEW_DEFAULT: usize = 10;
/// How many occurrences the answer to a backfill lists.
const LISTED_MAX: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TriggerForm {
    tool_input: Option<Value>,
}

pub(crate) async fn trigger(
    State(app): State<App>,
    Named(id): Named<JobId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    idempotency::refuse(&headers)?;
    let TriggerForm { tool_input } = body.parse_or_default()?;
    let job = find(&app, id).await?;
    if let Some(input) = &tool_input {
        tool_check::check(&app.engine, &job.definition, input)?;
    }
    if let Some(unique) = &job.definition.unique_key {
        return unique::trigger(&app, &job, unique, tool_input).await;
    }
    let accepted = app.engine.submit(id, Command::Trigger { tool_input }).await.map_err(|error| named(id, error))?;
    Ok(run_begun(&accepted.runs, |cause| matches!(cause, Cause::Manual)))
}

/// The run that an order brought about, fired or skipped: the newest of its cause. Older ones may have moved with it.
pub(crate) fn run_begun(touched: &[Run], is_mine: impl Fn(&Cause) -> bool) -> Response {
    let mine = touched.iter().filter(|run| is_mine(&run.cause)).max_by_key(|run| run.version);
    match mine {
        Some(run) => (StatusCode::ACCEPTED, Json(json!({ "run_id": run.id }))).into_response(),
        None => Problem::new(Code::Internal, "the order was carried out but led to no run").into_response(),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PauseForm {
    reason: Option<String>,
}

pub(crate) async fn pause(State(app): State<App>, Named(id): Named<JobId>, body: Body) -> Result<Response, Problem> {
    let PauseForm { reason } = body.parse_or_default()?;
    order(&app, id, Command::Pause { reason }).await
}

pub(crate) async fn resume(State(app): State<App>, Named(id): Named<JobId>) -> Result<Response, Problem> {
    order(&app, id, Command::Resume).await
}

async fn order(app: &App, id: JobId, command: Command) -> Result<Response, Problem> {
    let accepted = app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
    Ok(answer(StatusCode::OK, &accepted.job))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackfillForm {
    from: Timestamp,
    /// Not included; the present moment when left out.
    to: Option<Timestamp>,
    #[serde(default)]
    dry_run: bool,
}

pub(crate) async fn backfill(
    State(app): State<App>,
    Named(id): Named<JobId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    idempotency::refuse(&headers)?;
    let form: BackfillForm = body.parse()?;
    let now = app.now();
    let to = form.to.unwrap_or(now).min(now);
    let command = Command::Backfill { from: form.from, to };
    let job = find(&app, id).await?;
    let found = occurrences(&job, form.from, to);
    let status = if form.dry_run {
        // What would be refused is refused here too, by the same rule.
        decide(id, Some(job), Order { command, seat: None }, now)?;
        StatusCode::OK
    } else {
        app.engine.submit(id, command).await.map_err(|error| named(id, error))?;
        StatusCode::ACCEPTED
    };
    let listed = &found[..found.len().min(LISTED_MAX)];
    let told = json!({ "from": form.from, "to": to, "dry_run": form.dry_run, "count": found.len(), "items": listed });
    Ok((status, Json(told)).into_response())
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
    let trigger = &job.definition.trigger;
    let items = trigger.schedule().map_or_else(Vec::new, |schedule| schedule.preview(from, n, id.0));
    Ok(Json(json!({ "schedule": sentence(trigger), "items": items, "next_cursor": null })).into_response())
}
