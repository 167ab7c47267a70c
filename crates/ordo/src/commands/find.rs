//! Jobs, runs and incidents by the names people have for them: a label, an id, or the beginning of an id.
//!
//! Invariant: a beginning that more than one thing has is refused with what it could mean, and never guessed.

use serde_json::Value;
use uuid::Uuid;

use super::pages;
use super::talk::CommandSession;
use crate::error::{Error, Result};
use crate::output::{short_id, time};

/// How many jobs of one label are listed.
const SAME_LABEL_MAX: usize = 20;
/// The beginning of an id is looked for among so many: what a table has shown is among the newest.
const LOOKED_THROUGH: usize = 2_000;

/// The id of a job. Of several with the label, the only one that is not over is meant.
pub(crate) async fn job(talk: &CommandSession, name: &str) -> Result<String> {
    let missing = || Error::failed(format!("no job is called {name:?}")).hint("see: ordo job list");
    job_if_any(talk, name).await?.ok_or_else(missing)
}

/// The same; None where there is none.
async fn job_if_any(talk: &CommandSession, name: &str) -> Result<Option<String>> {
    if name.parse::<Uuid>().is_ok() {
        return Ok(Some(name.to_owned()));
    }
    let found = pages::items(talk, "/v1/jobs", &[("label", Some(name.to_owned()))], SAME_LABEL_MAX).await?.items;
    let alive: Vec<&Value> = found.iter().filter(|job| !is_over(job)).collect();
    match (alive.as_slice(), found.as_slice()) {
        ([one], _) => Ok(Some(text(one, "id"))),
        ([], [one]) => Ok(Some(text(one, "id"))),
        ([], []) => beginning(talk, "/v1/jobs", "job", name).await,
        ([], many) => Err(ambiguous(talk, name, many.iter())),
        (many, _) => Err(ambiguous(talk, name, many.iter().copied())),
    }
}

/// How many jobs of a label are not over, counted up to [`SAME_LABEL_MAX`].
pub(crate) async fn alive(talk: &CommandSession, label: &str) -> Result<usize> {
    let found = pages::items(talk, "/v1/jobs", &[("label", Some(label.to_owned()))], SAME_LABEL_MAX).await?.items;
    Ok(found.iter().filter(|job| !is_over(job)).count())
}

fn is_over(job: &Value) -> bool {
    matches!(job["state"].as_str(), Some("finished" | "cancelled"))
}

fn ambiguous<'a>(talk: &CommandSession, name: &str, jobs: impl Iterator<Item = &'a Value>) -> Error {
    let created = |job: &Value| time::of(&job["created_at"]).map(|at| time::both(at, talk.now(), &talk.zone));
    let line = |job: &Value| {
        (text(job, "id"), format!("{}, created {}", text(job, "state"), created(job).unwrap_or_default()))
    };
    Error::failed(format!("several jobs are called {name:?}")).fields(jobs.map(line).collect()).hint("use the id")
}

/// The id of one of the things that are listed at a path: its own, or what begins so.
pub(crate) async fn one(talk: &CommandSession, path: &str, noun: &str, name: &str) -> Result<String> {
    one_among(name, noun, async || Ok(pages::items(talk, path, &[], usize::MAX).await?.items)).await
}

/// The same where there may be very many: what a table has shown is among the newest.
pub(crate) async fn one_of_many(
    talk: &CommandSession,
    path: &str,
    filters: &[(&str, Option<String>)],
    noun: &str,
    name: &str,
) -> Result<String> {
    one_among(name, noun, async || Ok(pages::items(talk, path, filters, LOOKED_THROUGH).await?.items)).await
}

async fn one_among(name: &str, noun: &str, listed: impl AsyncFn() -> Result<Vec<Value>>) -> Result<String> {
    if name.parse::<Uuid>().is_ok() {
        return Ok(name.to_owned());
    }
    let items = if short_id::is_short(name) { listed().await? } else { Vec::new() };
    let missing =
        || Error::failed(format!("there is no {noun} {name:?}")).hint("use an id, or enough of its beginning");
    only(&items, noun, name)?.ok_or_else(missing)
}

/// The id that begins so, if it is the only one.
pub(crate) async fn beginning(talk: &CommandSession, path: &str, noun: &str, name: &str) -> Result<Option<String>> {
    if !short_id::is_short(name) {
        return Ok(None);
    }
    only(&pages::items(talk, path, &[], LOOKED_THROUGH).await?.items, noun, name)
}

fn only(items: &[Value], noun: &str, name: &str) -> Result<Option<String>> {
    let wanted = name.to_ascii_lowercase();
    let found: Vec<&Value> = items.iter().filter(|item| text(item, "id").starts_with(&wanted)).collect();
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(text(one, "id"))),
        many => {
            let name_of =
                |item: &Value| if item["title"].is_string() { text(item, "title") } else { text(item, "label") };
            let lines = many.iter().take(SAME_LABEL_MAX).map(|item| (text(item, "id"), name_of(item))).collect();
            Err(Error::failed(format!("several {noun} ids begin with {name}")).fields(lines).hint("use more of the id"))
        }
    }
}

/// A run, and whether it was named by its job.
#[derive(Debug)]
pub(crate) struct FoundRun {
    pub(crate) id: String,
    /// The job, if the name was the job's.
    pub(crate) of_job: Option<String>,
}

/// The id of a run: its own, or that of a job's newest run.
pub(crate) async fn run(talk: &CommandSession, name: &str) -> Result<String> {
    run_or_newest(talk, name).await.map(|found| found.id)
}

pub(crate) async fn run_or_newest(talk: &CommandSession, name: &str) -> Result<FoundRun> {
    if name.parse::<Uuid>().is_ok() {
        if is_run(talk, name).await? {
            return Ok(FoundRun { id: name.to_owned(), of_job: None });
        }
    } else if let Some(id) = beginning(talk, "/v1/runs", "run", name).await? {
        return Ok(FoundRun { id, of_job: None });
    }
    let missing = || {
        Error::failed(format!("there is no run {name:?}, and no job is called so"))
            .hint("see: ordo run list, ordo job list")
    };
    let job = job_if_any(talk, name).await?.ok_or_else(missing)?;
    match newest(talk, &job).await? {
        Some(id) => Ok(FoundRun { id, of_job: Some(job) }),
        None => Err(Error::failed(format!("{name} has not run yet")).hint("see when it will: ordo job preview")),
    }
}

/// The newest run of a job.
pub(crate) async fn newest(talk: &CommandSession, job: &str) -> Result<Option<String>> {
    let newest = pages::items(talk, "/v1/runs", &[("job_id", Some(job.to_owned()))], 1).await?.items;
    Ok(newest.first().map(|run| text(run, "id")))
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
