//! The definitions that a job has had: listed, compared, and given back.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ordo_api::jobs::{JobDiff, RevertJob, RevisionView};
use ordo_api::{Code, Page};
use ordo_engine::SubmitError;
use ordo_engine::revisions::{Revision, Revisions};
use ordo_model::JobId;
use ordo_model::job::{Command, Definition, FieldChange, Refusal, field_changes};
use serde_json::{Map, Value};

use super::{UPDATE_TRIES, answer, check_change, find};
use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::if_match::IfMatch;
use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::problem::Problem;

pub(crate) async fn list(State(app): State<App>, Named(id): Named<JobId>, params: Params) -> Result<Response, Problem> {
    params.finish()?;
    let job = find(&app, id).await?;
    let items = views(&app.engine.queries().revisions(&job).await?);
    Ok(Json(Page { items, next_cursor: None }).into_response())
}

/// Newest first, each with what it changed.
pub(crate) fn views(found: &Revisions) -> Vec<RevisionView> {
    let older = found.kept.iter().skip(1).map(Some).chain(std::iter::once(None));
    let view = |(revision, older): (&Revision, Option<&Revision>)| RevisionView {
        revision: revision.revision,
        at: revision.at,
        actor: revision.actor.clone().map(Into::into),
        definition: Definition::clone(&revision.definition),
        changes: older.map(|older| between(&older.definition, &revision.definition)).unwrap_or_default(),
    };
    found.kept.iter().zip(older).map(view).collect()
}

fn between(before: &Definition, after: &Definition) -> Vec<FieldChange> {
    field_changes(&form(before), &form(after))
}

fn form(definition: &Definition) -> Value {
    serde_json::to_value(definition).unwrap_or_default()
}

pub(crate) async fn diff(
    State(app): State<App>,
    Named(id): Named<JobId>,
    mut params: Params,
) -> Result<Response, Problem> {
    let (from, to) = (params.take::<u64>("from")?, params.take::<u64>("to")?);
    params.finish()?;
    let job = find(&app, id).await?;
    let to = to.unwrap_or(job.revision);
    let from = from.unwrap_or_else(|| to.saturating_sub(1).max(1));
    let found = app.engine.queries().revisions(&job).await?;
    let (before, after) = (one(&found, from, job.revision)?, one(&found, to, job.revision)?);
    let changes = between(&before.definition, &after.definition);
    Ok(Json(JobDiff { from, to, changes }).into_response())
}

/// The revision of this number, or why it is not there.
fn one(found: &Revisions, number: u64, newest: u64) -> Result<&Revision, Problem> {
    if let Some(revision) = found.kept.iter().find(|revision| revision.revision == number) {
        return Ok(revision);
    }
    if number == 0 || number > newest {
        let detail = format!("the job has had the revisions 1 to {newest}, not {number}");
        return Err(Problem::new(Code::RevisionNotFound, detail));
    }
    let oldest = found.kept.last().map_or(newest, |revision| revision.revision);
    let detail =
        format!("revision {number} is no longer kept: retention has replaced its events. The oldest is {oldest}");
    Err(Problem::new(Code::RevisionGone, detail))
}

pub(crate) async fn revert(
    Signed(app): Signed,
    Named(id): Named<JobId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let RevertJob { revision } = body.parse()?;
    let condition = IfMatch::read(&headers)?;
    let job = give_back(&app, id, revision, &condition).await?;
    Ok(answer(&app, StatusCode::OK, &job))
}

/// Gives a job the definition of an earlier revision back: an ordinary change, guarded by the revision it was made for.
pub(crate) async fn give_back(
    app: &App,
    id: JobId,
    revision: u64,
    condition: &IfMatch,
) -> Result<ordo_model::job::Job, Problem> {
    for _ in 0..UPDATE_TRIES {
        let job = find(app, id).await?;
        condition.check(job.revision)?;
        let found = app.engine.queries().revisions(&job).await?;
        let patch = whole(&job.definition, &one(&found, revision, job.revision)?.definition);
        check_change(app, &job, &patch).await?;
        let command = Command::Update { patch, if_revision: Some(job.revision), if_followed: None };
        match app.engine.submit(id, command).await {
            Ok(accepted) => return Ok(ordo_model::job::Job::clone(&accepted.job)),
            Err(SubmitError::Refused(Refusal::RevisionMoved { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(SubmitError::<Refusal>::Contended.into())
}

/// The patch that makes one definition of another: null for what the wanted one does not have.
fn whole(now: &Definition, wanted: &Definition) -> Map<String, Value> {
    let (now, wanted) = (form(now), form(wanted));
    let (Value::Object(now), Value::Object(wanted)) = (now, wanted) else { return Map::new() };
    nulled(&now, &wanted)
}

/// A merge patch from one object to the other, at every depth.
fn nulled(now: &Map<String, Value>, wanted: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for name in now.keys().filter(|name| !wanted.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in wanted {
        match (now.get(name), value) {
            (Some(old), value) if old == value => {}
            // These are replaced whole by a patch.
            (Some(Value::Object(old)), Value::Object(new))
                if !["trigger", "tool_input", "misfire", "block", "after"].contains(&name.as_str()) =>
            {
                patch.insert(name.clone(), Value::Object(nulled(old, new)));
            }
            (_, value) => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_patch_takes_away_what_was_not_there_and_puts_back_what_was() {
        let map = |value: Value| value.as_object().cloned().unwrap();
        let now = map(
            json!({ "label": "b", "retry": { "max_attempts": 3, "backoff": "2s" }, "priority": 1, "trigger": { "type": "manual" } }),
        );
        let wanted = map(
            json!({ "label": "a", "retry": { "max_attempts": 3 }, "trigger": { "type": "scheduled", "every": "5m" } }),
        );
        let patch = json!({ "label": "a", "retry": { "backoff": null }, "priority": null, "trigger": { "type": "scheduled", "every": "5m" } });
        assert_eq!(Value::Object(nulled(&now, &wanted)), patch);
    }
}
