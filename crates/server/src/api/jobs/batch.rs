//! Many jobs at once: each is accepted or refused by itself, the answers come in order.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use ordo_engine::Answer;
use ordo_engine::SubmitError;
use ordo_engine::clock::new_id;
use ordo_model::JobId;
use ordo_model::job::Command;
use ordo_model::job::Refusal;
use ordo_model::limits::BATCH_JOBS_MAX;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::api::jobs::form::JobForm;
use crate::app::App;
use crate::http::body::Body;
use crate::http::code::Code;
use crate::http::idempotency::Once;
use crate::http::problem::Problem;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchForm<'a> {
    #[serde(borrow)]
    jobs: Vec<&'a RawValue>,
}

/// What became of one job of the batch.
type Made = Result<JobId, Problem>;

pub(crate) async fn create(State(app): State<App>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let BatchForm { jobs } = body.parse()?;
    if jobs.len() > BATCH_JOBS_MAX {
        let detail = format!("{} jobs in one batch, at most {BATCH_JOBS_MAX} are taken: send several", jobs.len());
        return Err(Problem::new(Code::BatchTooLarge, detail));
    }
    let made = match Once::read(&headers, "POST /v1/jobs/batch", &body.bytes)? {
        None => make_all(&app, &jobs).await,
        Some(once) => make_all_once(&app, &jobs, &once).await?,
    };
    let results: Vec<Value> = made.into_iter().map(told).collect();
    Ok(Json(json!({ "results": results })).into_response())
}

async fn make_all(app: &App, jobs: &[&RawValue]) -> Vec<Made> {
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

fn settle(id: JobId, answer: Option<Answer>) -> Made {
    match answer {
        Some(Ok(_)) => Ok(id),
        Some(Err(error)) => Err(error.into()),
        None => Err(SubmitError::<Refusal>::Stopped.into()),
    }
}

/// Another body under the same key is refused as a whole, before anything of it is done.
async fn make_all_once(app: &App, jobs: &[&RawValue], once: &Once) -> Result<Vec<Made>, Problem> {
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

async fn make_once(app: &App, job: &RawValue, once: Once) -> Made {
    let id = JobId(new_id());
    match app.engine.submit_once(id, command(app, job).await?, once.claim(id, app.now())).await {
        Ok(_) => Ok(id),
        Err(SubmitError::Duplicate(value)) => once.resolve(&value),
        Err(error) => Err(error.into()),
    }
}

async fn command(app: &App, job: &RawValue) -> Result<Command, Problem> {
    let not_a_job = |_| Problem::new(Code::InvalidJob, "a job is an object");
    let fields: Map<String, Value> = serde_json::from_str(job.get()).map_err(not_a_job)?;
    JobForm::read(fields)?.into_command(&app.engine).await
}

fn told(made: Made) -> Value {
    match made {
        Ok(id) => json!({ "id": id }),
        Err(problem) => json!({ "error": problem.to_json() }),
    }
}
