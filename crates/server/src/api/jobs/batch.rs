//! Many jobs at once: each is accepted or refused by itself, the answers come in order.

mod text;

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use ordo_api::Code;
use ordo_api::jobs::{BatchResult, BatchResults};
use ordo_engine::JobReply;
use ordo_engine::SubmitError;
use ordo_engine::clock::new_id;
use ordo_model::JobId;
use ordo_model::job::Command;
use ordo_model::job::Refusal;
use ordo_model::limits::BATCH_JOBS_MAX;
use ordo_model::strict::{self, Unreadable};
use serde_json::value::RawValue;

use crate::api::jobs;
use crate::api::jobs::batch::text::{BatchText, JobTexts};
use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::idempotency::Once;
use crate::http::problem::Problem;

/// What became of one job of the batch.
type BatchEntry = Result<JobId, Problem>;

pub(crate) async fn create(Signed(app): Signed, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let jobs = jobs(&body)?;
    if jobs.len() > BATCH_JOBS_MAX {
        let detail = format!("{} jobs in one batch, at most {BATCH_JOBS_MAX} are taken: send several", jobs.len());
        return Err(Problem::new(Code::BatchTooLarge, detail));
    }
    let made = match Once::read(&headers, "POST /v1/jobs/batch", &body.bytes)? {
        None => make_all(&app, &jobs).await,
        Some(once) => make_all_once(&app, &jobs, &once).await?,
    };
    let results = made.into_iter().map(result).collect();
    Ok(Json(BatchResults { results }).into_response())
}

fn jobs(body: &Body) -> Result<Vec<&RawValue>, Problem> {
    let invalid = |field, message| Err(Problem::field(Code::InvalidBody, field, message));
    let BatchText { jobs, unwanted } = body.parts()?;
    match (jobs, unwanted) {
        (None, _) => invalid("jobs".to_owned(), "is missing"),
        (Some(_), Some(unwanted)) if unwanted == "jobs" => invalid(unwanted, "stands twice"),
        (Some(_), Some(unwanted)) => invalid(unwanted, "is not known here; known are jobs"),
        (Some(JobTexts::NoList), None) => invalid("jobs".to_owned(), "must be a list"),
        (Some(JobTexts::List(jobs)), None) => Ok(jobs),
    }
}

async fn make_all(app: &App, jobs: &[&RawValue]) -> Vec<BatchEntry> {
    let mut made = Vec::with_capacity(jobs.len());
    let mut commands = Vec::with_capacity(jobs.len());
    for job in jobs {
        made.push(command(app, job).await.map(|command| {
            let id = JobId(new_id());
            commands.push((id, command));
            id
        }));
    }
    let mut answers = app.engine.submit_all(commands).await.into_iter();
    let settled = made.into_iter().map(|made| made.and_then(|id| settle(id, answers.next())));
    settled.collect()
}

fn settle(id: JobId, answer: Option<JobReply>) -> BatchEntry {
    match answer {
        Some(Ok(_)) => Ok(id),
        Some(Err(error)) => Err(error.into()),
        None => Err(SubmitError::<Refusal>::Stopped.into()),
    }
}

/// Another body under the same key is refused as a whole, before anything of it is done.
async fn make_all_once(app: &App, jobs: &[&RawValue], once: &Once) -> Result<Vec<BatchEntry>, Problem> {
    let mut earlier = Vec::with_capacity(jobs.len());
    for place in 0..jobs.len() {
        earlier.push(once.nth(place).earlier(app).await?);
    }
    let made = earlier.into_iter().zip(jobs).enumerate().map(async |(place, (earlier, job))| match earlier {
        Some(id) => Ok(id),
        None => make_once(app, job, once.nth(place)).await,
    });
    Ok(join_all(made).await)
}

async fn make_once(app: &App, job: &RawValue, once: Once) -> BatchEntry {
    let id = JobId(new_id());
    match app.engine.submit_once(id, command(app, job).await?, once.claim(id, app.now())).await {
        Ok(_) => Ok(id),
        Err(SubmitError::Duplicate(value)) => once.resolve(&value),
        Err(error) => Err(error.into()),
    }
}

async fn command(app: &App, job: &RawValue) -> Result<Command, Problem> {
    let fields = strict::object(job.get().as_bytes()).map_err(|error| match error {
        Unreadable::Json(message) => Problem::new(Code::InvalidJob, message),
        Unreadable::Shape(misread) => Problem::misread(Code::InvalidJob, misread),
    })?;
    jobs::command(&app.engine, jobs::read_new(fields)?).await
}

fn result(made: BatchEntry) -> BatchResult {
    match made {
        Ok(id) => BatchResult { id: Some(id), error: None },
        Err(problem) => BatchResult { id: None, error: Some(problem.details()) },
    }
}
