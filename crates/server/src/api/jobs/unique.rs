//! `unique_key`: within its window there is one job, and for each job one run that was asked for, with the same key.
//!
//! Invariant: the key is claimed in the same commit that creates the job or the run.

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ordo_api::Code;
use ordo_engine::Claim;
use ordo_engine::SubmitError;
use ordo_engine::clock::new_id;
use ordo_model::job::{Command, Definition, Job, OnConflict, UniqueKey};
use ordo_model::{JobId, RunId, TraceParent};
use serde_json::Value;
use uuid::Uuid;

use crate::api::jobs::commands::begun;
use crate::api::jobs::{answer, created, find, named};
use crate::app::App;
use crate::http::idempotency;
use crate::http::problem::Problem;

/// Creates the job unless there is one with the key.
pub(crate) async fn create(
    app: &App,
    headers: &HeaderMap,
    definition: &Definition,
    unique: &UniqueKey,
    command: Command,
) -> Result<Response, Problem> {
    // The key of the job says already what is the same request.
    idempotency::refuse(headers)?;
    let id = JobId(new_id());
    let (claim, key) = Claim::of_unique_job(unique, &definition.label, &definition.tool_input, id, app.now());
    match app.engine.submit_once(id, command, claim).await {
        Ok(accepted) => Ok(created(app, &accepted.job)),
        Err(SubmitError::Duplicate(value)) => {
            let first = JobId(read(&value)?);
            match unique.on_conflict {
                OnConflict::Merge => Ok(answer(app, StatusCode::OK, &find(app, first).await?)),
                OnConflict::Refuse => Err(taken(&format!("job {first}"), &key, unique)),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Triggers the job unless it has a run with the key.
pub(crate) async fn trigger(
    app: &App,
    headers: &HeaderMap,
    job: &Job,
    unique: &UniqueKey,
    tool_input: Option<Value>,
    traceparent: Option<TraceParent>,
) -> Result<Response, Problem> {
    idempotency::refuse(headers)?;
    let input = tool_input.as_ref().unwrap_or(&job.definition.tool_input);
    let (claim, key) = Claim::of_unique_run(unique, &job.definition.label, input, job.id, app.now());
    match app.engine.submit_once(job.id, Command::Trigger { tool_input, traceparent }, claim).await {
        Ok(accepted) => match accepted.run_begun() {
            Some(run) => Ok(begun(run.id)),
            None => Err(Problem::new(Code::Internal, "the order was carried out but led to no run")),
        },
        Err(SubmitError::Duplicate(value)) => {
            let first = RunId(read(&value)?);
            match unique.on_conflict {
                OnConflict::Merge => Ok(begun(first)),
                OnConflict::Refuse => Err(taken(&format!("run {first}"), &key, unique)),
            }
        }
        Err(error) => Err(named(job.id, error)),
    }
}

fn read(value: &[u8]) -> Result<Uuid, Problem> {
    Uuid::from_slice(value)
        .map_err(|e| Problem::new(Code::StoreDamaged, format!("a remembered key cannot be read: {e}")))
}

fn taken(what: &str, key: &str, unique: &UniqueKey) -> Problem {
    let detail = format!("{what} has the key {key} within the last {}", unique.window);
    Problem::new(Code::UniqueKeyTaken, detail)
}
