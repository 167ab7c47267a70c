//! Jobs: create, list, read, change, cancel.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_engine::SubmitError;
use ordo_engine::clock::new_id;
use ordo_engine::queries::JobFilter;
use ordo_model::JobId;
use ordo_model::job::{Command, Job, JobState, Refusal};
use serde_json::{Map, Value};

use crate::app::App;
use crate::body::Body;
use crate::code::Code;
use crate::idempotency::{Once, REPLAYED};
use crate::if_match::IfMatch;
use crate::job_form::{JobForm, check_patch, concerns_tool};
use crate::job_json::{JobJson, answer, created};
use crate::params::{Cursor, List, Params, next_cursor};
use crate::path::Named;
use crate::problem::Problem;
use crate::tool_check;

/// How often a change without a condition is laid on what somebody else wrote meanwhile.
const UPDATE_TRIES: u32 = 8;

pub(crate) async fn create(State(app): State<App>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let fields: Map<String, Value> = body.parse()?;
    match Once::read(&headers, "POST /v1/jobs", &body.bytes)? {
        None => {
            let command = JobForm::read(fields)?.into_command(&app.engine)?;
            Ok(created(&app.engine.submit(JobId(new_id()), command).await?.job))
        }
        Some(once) => create_once(&app, fields, &once).await,
    }
}

/// An earlier answer comes before all checks: what was right then may be refused by now.
async fn create_once(app: &App, fields: Map<String, Value>, once: &Once) -> Result<Response, Problem> {
    if let Some(earlier) = once.earlier(app).await? {
        return replayed(app, earlier).await;
    }
    let command = JobForm::read(fields)?.into_command(&app.engine)?;
    let id = JobId(new_id());
    match app.engine.submit_once(id, command, once.claim(id, app.now())).await {
        Ok(accepted) => Ok(created(&accepted.job)),
        Err(SubmitError::Duplicate(value)) => replayed(app, once.resolve(&value)?).await,
        Err(error) => Err(error.into()),
    }
}

async fn replayed(app: &App, id: JobId) -> Result<Response, Problem> {
    let mut answer = created(&find(app, id).await?);
    answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(answer)
}

pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let filter = JobFilter { label: params.take_text("label"), state: take_state(&mut params)? };
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?.map(|cursor| cursor.0);
    params.finish()?;
    let page = app.engine.queries().jobs(&filter, after, limit).await?;
    let items: Vec<JobJson<'_>> = page.items.iter().map(JobJson::of).collect();
    Ok(Json(List { items, next_cursor: next_cursor(page.next) }).into_response())
}

/// `state` by its name in the job, or `status` as people say.
fn take_state(params: &mut Params) -> Result<Option<JobState>, Problem> {
    for name in ["state", "status"] {
        let Some(given) = params.take_text(name) else { continue };
        let unknown = || {
            let known = JobState::ALL.map(JobState::name).join(", ");
            Problem::field(Code::InvalidQuery, name, format!("must be one of {known}"))
        };
        return JobState::named(&given).map(Some).ok_or_else(unknown);
    }
    Ok(None)
}

pub(crate) async fn show(State(app): State<App>, Named(id): Named<JobId>) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, &find(&app, id).await?))
}

pub(crate) async fn find(app: &App, id: JobId) -> Result<Job, Problem> {
    app.engine.job(id).await?.ok_or_else(|| Problem::no_job(id))
}

pub(crate) async fn update(
    State(app): State<App>,
    Named(id): Named<JobId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let patch: Map<String, Value> = body.parse()?;
    check_patch(&patch)?;
    let condition = IfMatch::read(&headers)?;
    for _ in 0..UPDATE_TRIES {
        let job = find(&app, id).await?;
        condition.check(job.revision)?;
        check_change(&app, &job, &patch)?;
        // The tool judged this revision; should the job move on meanwhile, it is asked again.
        let command = Command::Update { patch: patch.clone(), if_revision: Some(job.revision) };
        match app.engine.submit(id, command).await {
            Ok(accepted) => return Ok(answer(StatusCode::OK, &accepted.job)),
            Err(SubmitError::Refused(Refusal::RevisionMoved { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(SubmitError::Contended.into())
}

fn check_change(app: &App, job: &Job, patch: &Map<String, Value>) -> Result<(), Problem> {
    if !concerns_tool(patch) {
        return Ok(());
    }
    let definition = job.definition.patched(patch)?;
    tool_check::check(&app.engine, &definition, &definition.tool_input)
}

pub(crate) async fn cancel(
    State(app): State<App>,
    Named(id): Named<JobId>,
    mut params: Params,
) -> Result<Response, Problem> {
    let reason = params.take_text("reason");
    params.finish()?;
    let accepted = app.engine.submit(id, Command::Cancel { reason }).await.map_err(|error| named(id, error))?;
    Ok(answer(StatusCode::OK, &accepted.job))
}

/// The engine's error, with the job's id where it is about the job not being there.
pub(crate) fn named(id: JobId, error: SubmitError) -> Problem {
    match error {
        SubmitError::Refused(Refusal::NoSuchJob) => Problem::no_job(id),
        error => error.into(),
    }
}
