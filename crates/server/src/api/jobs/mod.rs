//! Jobs: create, read, change, cancel.

pub(crate) mod as_action;
pub(crate) mod batch;
pub(crate) mod commands;
pub(crate) mod list;
pub(crate) mod revisions;
pub(crate) mod tool_check;
pub(crate) mod unique;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_api::jobs::{JobPatch, JobView, NewJob};
use ordo_engine::Engine;
use ordo_engine::SubmitError;
use ordo_engine::clock::new_id;
use ordo_model::JobId;
use ordo_model::job::{Command, Job, Refusal, action};
use ordo_model::strict;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::jobs::as_action::JobShape;
use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::idempotency::{self, Once};
use crate::http::if_match::IfMatch;
use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::problem::Problem;

/// How often a change without a condition is laid on what somebody else wrote meanwhile.
const UPDATE_TRIES: u32 = 8;

pub(crate) async fn create(Signed(app): Signed, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let fields = body.fields()?;
    if fields.get("unique_key").is_some_and(|key| !key.is_null()) {
        let job: NewJob = read_new(fields)?;
        let definition = job.definition.clone();
        let command = command(&app.engine, job).await?;
        if let Some(unique) = &definition.unique_key {
            return unique::create(&app, &headers, &definition, unique, command).await;
        }
        return Ok(created(&app, &app.engine.submit(JobId(new_id()), command).await?.job));
    }
    match Once::read(&headers, "POST /v1/jobs", &body.bytes)? {
        None => {
            let command = command(&app.engine, read_new(fields)?).await?;
            Ok(created(&app, &app.engine.submit(JobId(new_id()), command).await?.job))
        }
        Some(once) => create_once(&app, fields, &once).await,
    }
}

/// A job, or a change of one, as a client wrote it down.
pub(crate) fn read<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, Problem> {
    strict::from_value(Value::Object(fields)).map_err(|misread| Problem::misread(Code::InvalidJob, misread))
}

/// A new job, in our words or in those of the seed's action.
pub(crate) fn read_new(fields: Map<String, Value>) -> Result<NewJob, Problem> {
    let fields =
        action::as_job(fields).map_err(|invalid| Problem::field(Code::InvalidJob, invalid.field, invalid.message))?;
    read(fields)
}

/// The order to schedule it, if its tool will have it.
pub(crate) async fn command(engine: &Engine, job: NewJob) -> Result<Command, Problem> {
    tool_check::check(engine, &job.definition, &job.definition.tool_input).await?;
    // Here, where many do so side by side; commands are decided one after the other.
    job.definition.write_ahead();
    Ok(Command::Schedule { definition: Box::new(job.definition), held: job.held })
}

/// An earlier answer comes before all checks: what was right then may be refused by now.
async fn create_once(app: &App, fields: Map<String, Value>, once: &Once) -> Result<Response, Problem> {
    if let Some(earlier) = once.earlier(app).await? {
        return replayed(app, earlier).await;
    }
    let command = command(&app.engine, read_new(fields)?).await?;
    let id = JobId(new_id());
    match app.engine.submit_once(id, command, once.claim(id, app.now())).await {
        Ok(accepted) => Ok(created(app, &accepted.job)),
        Err(SubmitError::Duplicate(value)) => replayed(app, once.resolve(&value)?).await,
        Err(error) => Err(error.into()),
    }
}

async fn replayed(app: &App, id: JobId) -> Result<Response, Problem> {
    Ok(idempotency::replayed(created(app, &find(app, id).await?)))
}

pub(crate) async fn show(
    State(app): State<App>,
    Named(id): Named<JobId>,
    mut params: Params,
) -> Result<Response, Problem> {
    let shape = JobShape::take(&mut params)?;
    params.finish()?;
    let job = find(&app, id).await?;
    match shape {
        JobShape::Job => Ok(answer(&app, StatusCode::OK, &job)),
        JobShape::Action => Ok(tagged(as_action::answer(as_action::view(&app, &job).await?), &job)),
    }
}

pub(crate) async fn find(app: &App, id: JobId) -> Result<Job, Problem> {
    app.engine.job(id).await?.ok_or_else(|| Problem::no_job(id))
}

pub(crate) async fn update(
    Signed(app): Signed,
    Named(id): Named<JobId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let JobPatch(patch) = read(body.fields()?)?;
    let condition = IfMatch::read(&headers)?;
    for _ in 0..UPDATE_TRIES {
        let job = find(&app, id).await?;
        condition.check(job.revision)?;
        check_change(&app, &job, &patch).await?;
        // The tool judged this revision; should the job move on meanwhile, it is asked again.
        let command = Command::Update { patch: patch.clone(), if_revision: Some(job.revision), if_followed: None };
        match app.engine.submit(id, command).await {
            Ok(accepted) => return Ok(answer(&app, StatusCode::OK, &accepted.job)),
            Err(SubmitError::Refused(Refusal::RevisionMoved { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(SubmitError::<Refusal>::Contended.into())
}

/// Whether the patch changes what its tool has to say about.
fn concerns_tool(patch: &Map<String, Value>) -> bool {
    ["tool_name", "tool_input", "group"].iter().any(|name| patch.contains_key(*name))
}

async fn check_change(app: &App, job: &Job, patch: &Map<String, Value>) -> Result<(), Problem> {
    if !concerns_tool(patch) {
        return Ok(());
    }
    let definition = job.definition.patched(patch)?;
    tool_check::check(&app.engine, &definition, &definition.tool_input).await
}

pub(crate) async fn cancel(
    Signed(app): Signed,
    Named(id): Named<JobId>,
    mut params: Params,
) -> Result<Response, Problem> {
    let reason = params.take_text("reason");
    params.finish()?;
    let accepted = app.engine.submit(id, Command::Cancel { reason }).await.map_err(|error| named(id, error))?;
    Ok(answer(&app, StatusCode::OK, &accepted.job))
}

/// The engine's error, with the job's id where it is about the job not being there.
pub(crate) fn named(id: JobId, error: SubmitError) -> Problem {
    match error {
        SubmitError::Refused(Refusal::NoSuchJob) => Problem::no_job(id),
        error => error.into(),
    }
}

/// The job with its revision as ETag.
pub(crate) fn answer(app: &App, status: StatusCode, job: &Job) -> Response {
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    tagged((status, json, JobView::of(job, app.now()).to_json()).into_response(), job)
}

fn tagged(mut answer: Response, job: &Job) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", job.revision)) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}

pub(crate) fn created(app: &App, job: &Job) -> Response {
    let mut answer = answer(app, StatusCode::CREATED, job);
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/jobs/{}", job.id)) {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}
