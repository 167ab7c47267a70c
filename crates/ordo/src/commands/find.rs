//! Jobs and runs by the names people have for them: an id, or a label.

use serde_json::Value;
use uuid::Uuid;

use super::pages;
use super::talk::CommandSession;
use crate::error::{Error, Result};

/// How many jobs of one label are listed.
const SAME_LABEL_MAX: usize = 20;

/// The id of a job. Of several with the label, the only one that is not over is meant.
pub(crate) async fn job(talk: &CommandSession, name: &str) -> Result<String> {
    if name.parse::<Uuid>().is_ok() {
        return Ok(name.to_owned());
    }
    let found = pages::items(talk, "/v1/jobs", &[("label", Some(name.to_owned()))], SAME_LABEL_MAX).await?.items;
    let alive: Vec<&Value> = found.iter().filter(|job| !is_over(job)).collect();
    match (alive.as_slice(), found.as_slice()) {
        ([one], _) => Ok(text(one, "id")),
        ([], [one]) => Ok(text(one, "id")),
        ([], []) => Err(Error::failed(format!("no job is called {name:?}")).hint("see: ordo job list")),
        ([], many) => Err(ambiguous(name, many.iter())),
        (many, _) => Err(ambiguous(name, many.iter().copied())),
    }
}

fn is_over(job: &Value) -> bool {
    matches!(job["state"].as_str(), Some("finished" | "cancelled"))
}

fn ambiguous<'a>(name: &str, jobs: impl Iterator<Item = &'a Value>) -> Error {
    let line = |job: &Value| (text(job, "id"), format!("{}, made {}", text(job, "state"), text(job, "created_at")));
    Error::failed(format!("several jobs are called {name:?}"))
        .fields(jobs.map(line).collect())
        .hint("name it by its id")
}

/// The id of a run: its own, or that of a job's newest run.
pub(crate) async fn run(talk: &CommandSession, name: &str) -> Result<String> {
    if name.parse::<Uuid>().is_ok() && is_run(talk, name).await? {
        return Ok(name.to_owned());
    }
    let job = job(talk, name).await?;
    let newest = pages::items(talk, "/v1/runs", &[("job_id", Some(job))], 1).await?.items;
    match newest.first() {
        Some(run) => Ok(text(run, "id")),
        None => Err(Error::failed(format!("{name} has not run yet")).hint("see when it will: ordo job preview")),
    }
}

/// An id may also be a job's.
async fn is_run(talk: &CommandSession, id: &str) -> Result<bool> {
    match talk.client.get::<Value>(&format!("/v1/runs/{id}")).await {
        Ok(_) => Ok(true),
        Err(ordo_client::Error::Problem { status: 404, .. }) => {
            // Neither: the run is what was asked for, and the server says best that there is none.
            Ok(talk.client.get::<Value>(&format!("/v1/jobs/{id}")).await.is_err())
        }
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn text(object: &Value, field: &str) -> String {
    match &object[field] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
