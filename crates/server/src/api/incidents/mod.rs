//! Incidents: start, list, read, and what people do about them.

pub(crate) mod json;

use std::str::FromStr;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_engine::incidents::IncidentFilter;
use ordo_engine::{CommitExtras, SubmitError, Versioned};
use ordo_model::incident::{By, Incident, IncidentCommand, Link, Severity, Source, Start, Status, postmortem};
use ordo_model::{JobId, Timestamp, zones};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::api::incidents::json::{incident, line};
use crate::app::App;
use crate::auth::caller::Caller;
use crate::http::body::Body;
use crate::http::code::Code;
use crate::http::idempotency::{Once, REPLAYED};
use crate::http::params::{List, Params};
use crate::http::path::{IncidentId, Named};
use crate::http::problem::Problem;

/// A place in a list that goes by a key of an index. Opaque to clients.
pub(crate) struct KeyCursor(pub(crate) Vec<u8>);

impl FromStr for KeyCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<KeyCursor, ()> {
        hex::decode(text).map(KeyCursor).map_err(drop)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StartForm {
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    severity: Severity,
    identifier: Option<String>,
    #[serde(default)]
    links: Vec<Link>,
    /// A chain of escalation by name.
    escalation: Option<String>,
    actor: Option<String>,
}

/// Whoever is named, otherwise whoever the token belongs to.
fn by(actor: Option<String>, caller: &Caller) -> By {
    By::new(actor.unwrap_or_else(|| caller.name.clone()), Source::Api)
}

pub(crate) async fn create(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let once = Once::read(&headers, "POST /v1/incidents", &body.bytes)?;
    if let Some(earlier) = earlier(&app, once.as_ref()).await? {
        return Ok(earlier);
    }
    let form: StartForm = body.parse()?;
    let escalation = app.engine.escalation(form.escalation.as_deref());
    if let (Some(name), None) = (&form.escalation, &escalation) {
        let message = format!("there is no escalation {name:?} in the configuration");
        return Err(Problem::field(Code::InvalidIncident, "escalation", message));
    }
    let start = Start {
        title: form.title,
        description: form.description,
        severity: form.severity,
        identifier: form.identifier,
        generation: 0,
        links: form.links,
        escalation,
        by: by(form.actor, &caller),
    };
    let extras = |id: Uuid| {
        let claim = once.as_ref().map(|once| once.dedup(JobId(id), app.now()));
        CommitExtras { dedup: claim.into_iter().collect(), ..CommitExtras::default() }
    };
    match app.engine.start_incident(start, extras).await {
        Ok(committed) => {
            Ok(answer(if committed.events.is_empty() { StatusCode::OK } else { StatusCode::CREATED }, &committed.state))
        }
        Err(SubmitError::Duplicate(_)) => earlier(&app, once.as_ref())
            .await?
            .ok_or_else(|| Problem::new(Code::Internal, "a key that is in use was not found")),
        Err(error) => Err(error.into()),
    }
}

/// What an earlier request with the same key was answered.
async fn earlier(app: &App, once: Option<&Once>) -> Result<Option<Response>, Problem> {
    let Some(once) = once else { return Ok(None) };
    let Some(JobId(id)) = once.earlier(app).await? else { return Ok(None) };
    let mut answer = answer(StatusCode::CREATED, &find(app, id).await?);
    answer.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(Some(answer))
}

fn answer(status: StatusCode, kept: &Versioned<Incident>) -> Response {
    let mut answer = (status, Json(incident(kept))).into_response();
    if let (StatusCode::CREATED, Ok(place)) = (status, HeaderValue::from_str(&format!("/v1/incidents/{}", kept.id))) {
        answer.headers_mut().insert(header::LOCATION, place);
    }
    answer
}

pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let filter = IncidentFilter {
        status: take_status(&mut params)?,
        severity: params.take::<Severity>("severity")?,
        assignee: params.take_text("assignee"),
        since: params.take::<Timestamp>("since")?,
    };
    let limit = params.take_limit()?;
    let after = params.take_cursor::<KeyCursor>()?.map(|cursor| cursor.0);
    params.finish()?;
    let found = app.engine.queries().incidents(&filter, after, limit).await?;
    let items: Vec<Value> = found.items.iter().map(incident).collect();
    Ok(Json(List { items, next_cursor: found.next.map(hex::encode) }).into_response())
}

fn take_status(params: &mut Params) -> Result<Option<Status>, Problem> {
    let Some(given) = params.take_text("status") else { return Ok(None) };
    let known = Status::ALL.map(Status::name).join(", ");
    let unknown = || Problem::field(Code::InvalidQuery, "status", format!("must be one of {known}"));
    Status::named(&given).map(Some).ok_or_else(unknown)
}

pub(crate) async fn find(app: &App, id: Uuid) -> Result<Versioned<Incident>, Problem> {
    let found = app.engine.queries().object::<Incident>(id).await?;
    found.ok_or_else(|| Problem::new(Code::IncidentNotFound, format!("there is no incident {id}")))
}

pub(crate) async fn show(
    State(app): State<App>,
    Named(IncidentId(id)): Named<IncidentId>,
) -> Result<Response, Problem> {
    let mut form = incident(&find(&app, id).await?);
    let timeline = app.engine.queries().timeline(id).await?;
    form["timeline"] = timeline.iter().map(line).collect();
    Ok(Json(form).into_response())
}

pub(crate) async fn export(
    State(app): State<App>,
    Named(IncidentId(id)): Named<IncidentId>,
    mut params: Params,
) -> Result<Response, Problem> {
    let zone = params.take_text("timezone").unwrap_or_else(|| "UTC".to_owned());
    params.finish()?;
    let unknown = || {
        let message = "is no time zone: write it as in the IANA database, Europe/Berlin for example";
        Problem::field(Code::InvalidQuery, "timezone", message)
    };
    let zone = zones::current().get(&zone).ok_or_else(unknown)?;
    let kept = find(&app, id).await?;
    let timeline = app.engine.queries().timeline(id).await?;
    let timeline: Vec<_> = timeline.into_iter().map(|happened| (happened.at, happened.event)).collect();
    let text = postmortem(id, &kept, &timeline, &zone);
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AssigneeForm {
    /// Null: nobody.
    assignee: Option<String>,
    actor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeverityForm {
    severity: Severity,
    actor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusForm {
    status: Status,
    message: Option<String>,
    actor: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AckForm {
    actor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoteForm {
    text: String,
    actor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkForm {
    link: Link,
    actor: Option<String>,
}

type Of = Named<IncidentId>;
type Who = Extension<Caller>;

pub(crate) async fn assignee(State(app): State<App>, who: Who, Named(id): Of, body: Body) -> Result<Response, Problem> {
    let AssigneeForm { assignee, actor } = body.parse()?;
    change(&app, id, IncidentCommand::SetAssignee { assignee, by: by(actor, &who) }).await
}

pub(crate) async fn severity(State(app): State<App>, who: Who, Named(id): Of, body: Body) -> Result<Response, Problem> {
    let SeverityForm { severity, actor } = body.parse()?;
    change(&app, id, IncidentCommand::SetSeverity { severity, by: by(actor, &who) }).await
}

pub(crate) async fn status(State(app): State<App>, who: Who, Named(id): Of, body: Body) -> Result<Response, Problem> {
    let StatusForm { status, message, actor } = body.parse()?;
    change(&app, id, IncidentCommand::UpdateStatus { status, message, by: by(actor, &who) }).await
}

pub(crate) async fn acknowledge(
    State(app): State<App>,
    who: Who,
    Named(id): Of,
    body: Body,
) -> Result<Response, Problem> {
    let AckForm { actor } = body.parse_or_default()?;
    change(&app, id, IncidentCommand::Acknowledge { by: by(actor, &who) }).await
}

pub(crate) async fn note(State(app): State<App>, who: Who, Named(id): Of, body: Body) -> Result<Response, Problem> {
    let NoteForm { text, actor } = body.parse()?;
    change(&app, id, IncidentCommand::AddNote { text, by: by(actor, &who) }).await
}

pub(crate) async fn link(State(app): State<App>, who: Who, Named(id): Of, body: Body) -> Result<Response, Problem> {
    let LinkForm { link, actor } = body.parse()?;
    change(&app, id, IncidentCommand::Link { link, by: by(actor, &who) }).await
}

async fn change(app: &App, IncidentId(id): IncidentId, command: IncidentCommand) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, &app.engine.command::<Incident>(id, command).await?.state))
}
