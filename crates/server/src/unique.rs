//! `unique_key`: within its window there is one job, and for each job one run that was asked for, with the same key.
//!
//! Invariant: the key is claimed in the same commit that creates the job or the run.

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_engine::SubmitError;
use ordo_engine::clock::new_id;
use ordo_model::job::{Cause, Command, Definition, Job, OnConflict, UniqueKey};
use ordo_model::{JobId, RunId, Timestamp};
use ordo_store::Dedup;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::code::Code;
use crate::idempotency;
use crate::job_json::{answer, created};
use crate::job_orders::run_begun;
use crate::jobs::{find, named};
use crate::problem::Problem;

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
    let key = unique.key.of(&definition.label, &definition.tool_input);
    let claim = claim("job", None, &key, unique, app.now(), id.0.as_bytes().to_vec());
    match app.engine.submit_once(id, command, claim).await {
        Ok(accepted) => Ok(created(&accepted.job)),
        Err(SubmitError::Duplicate(value)) => {
            let first = JobId(read(&value)?);
            match unique.on_conflict {
                OnConflict::Merge => Ok(answer(StatusCode::OK, &find(app, first).await?)),
                OnConflict::Refuse => Err(taken(&format!("job {first}"), &key, unique)),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Triggers the job unless it has a run with the key.
pub(crate) async fn trigger(
    app: &App,
    job: &Job,
    unique: &UniqueKey,
    tool_input: Option<Value>,
) -> Result<Response, Problem> {
    let input = tool_input.as_ref().unwrap_or(&job.definition.tool_input);
    let key = unique.key.of(&job.definition.label, input);
    let claim = claim("run", Some(job.id), &key, unique, app.now(), Vec::new());
    match app.engine.submit_once(job.id, Command::Trigger { tool_input }, claim).await {
        Ok(accepted) => Ok(run_begun(&accepted.runs, |cause| matches!(cause, Cause::Manual))),
        Err(SubmitError::Duplicate(value)) => {
            let first = RunId(read(&value)?);
            match unique.on_conflict {
                OnConflict::Merge => Ok((StatusCode::ACCEPTED, Json(json!({ "run_id": first }))).into_response()),
                OnConflict::Refuse => Err(taken(&format!("run {first}"), &key, unique)),
            }
        }
        Err(error) => Err(named(job.id, error)),
    }
}

fn claim(of: &str, job: Option<JobId>, key: &str, unique: &UniqueKey, now: Timestamp, value: Vec<u8>) -> Dedup {
    let scope = job.map_or_else(String::new, |job| job.to_string());
    let key = format!("unique/{of}/{scope}/{key}").into_bytes();
    Dedup { key, at: now, until: now.plus(unique.window), value }
}

fn read(value: &[u8]) -> Result<Uuid, Problem> {
    Uuid::from_slice(value)
        .map_err(|e| Problem::new(Code::StoreDamaged, format!("a remembered key cannot be read: {e}")))
}

fn taken(what: &str, key: &str, unique: &UniqueKey) -> Problem {
    let detail = format!("{what} has the key {key} within the last {}", unique.window);
    Problem::new(Code::UniqueKeyTaken, detail)
}
