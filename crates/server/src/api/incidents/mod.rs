//! Incidents: start, list, read; what people do about them is in `change`.

pub(crate) mod change;
pub(crate) mod silences;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::incidents::{IncidentView, NewIncident, TimelineEntry};
use ordo_api::{Code, Page};
use ordo_engine::incidents::{Happened, IncidentError, IncidentFilter};
use ordo_engine::{CommitExtras, SubmitError, Versioned};
use ordo_model::incident::{Incident, IncidentRefusal, IncidentStatus, Severity, StartIncident, postmortem};
use ordo_model::limits::INCIDENT_TITLE_MAX_BYTES;
use ordo_model::{JobId, Timestamp, zones};
use uuid::Uuid;

use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::idempotency::{Once, REPLAYED};
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::{IncidentId, Named};
use crate::http::problem::Problem;

/// The app in the hands of whoever asks, on behalf of whom the request names.
pub(super) fn acting(app: &App, whom: Option<String>) -> Result<App, Problem> {
    app.on_behalf_of(whom).map_err(|invalid| IncidentError::Refused(IncidentRefusal::Invalid(invalid)).into())
}

pub(crate) async fn create(Signed(app): Signed, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let once = Once::read(&headers, "POST /v1/incidents", &body.bytes)?;
    if let Some(earlier) = earlier(&app, once.as_ref()).await? {
        return Ok(earlier);
    }
    let form: NewIncident = body.parse()?;
    let escalation = app.engine.escalation(form.escalation.as_deref()).await?;
    if let (Some(name), None) = (&form.escalation, &escalation) {
        let message = format!("there is no escalation chain {name:?}: see `ordo escalation list`");
        return Err(Problem::field(Code::InvalidIncident, "escalation", message));
    }
    let app = acting(&app, form.actor)?;
    let start = StartIncident {
        title: form.title,
        description: form.description,
        severity: form.severity,
        identifier: form.identifier,
        generation: 0,
        links: form.links,
        escalation,
        by: app.by(),
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

pub(super) fn answer(status: StatusCode, kept: &Versioned<Incident>) -> Response {
    let mut answer = (status, Json(IncidentView::of(kept.id, kept))).into_response();
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
        search: take_search(&mut params)?,
    };
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let found = app.engine.queries().incidents(&filter, after.as_ref(), limit).await?;
    let items = found.items.iter().map(|kept| IncidentView::of(kept.id, kept)).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
}

/// A text that a title, a description or an identifier can contain.
fn take_search(params: &mut Params) -> Result<Option<String>, Problem> {
    match params.take_text("search") {
        Some(text) if text.len() > INCIDENT_TITLE_MAX_BYTES => {
            let message = format!("is longer than a title can be, {INCIDENT_TITLE_MAX_BYTES} bytes");
            Err(Problem::field(Code::InvalidQuery, "search", message))
        }
        given => Ok(given.filter(|text| !text.is_empty())),
    }
}

fn take_status(params: &mut Params) -> Result<Option<IncidentStatus>, Problem> {
    let Some(given) = params.take_text("status") else { return Ok(None) };
    let known = IncidentStatus::ALL.map(IncidentStatus::name).join(", ");
    let unknown = || Problem::field(Code::InvalidQuery, "status", format!("must be one of {known}"));
    IncidentStatus::named(&given).map(Some).ok_or_else(unknown)
}

pub(crate) async fn find(app: &App, id: Uuid) -> Result<Versioned<Incident>, Problem> {
    let found = app.engine.queries().object::<Incident>(id).await?;
    found.ok_or_else(|| Problem::new(Code::IncidentNotFound, format!("there is no incident {id}")))
}

pub(crate) async fn show(
    State(app): State<App>,
    Named(IncidentId(id)): Named<IncidentId>,
) -> Result<Response, Problem> {
    let found = find(&app, id).await?;
    let timeline = app.engine.queries().timeline(id).await?;
    let entries = timeline.iter().map(|Happened { version, at, event, actor, published_at, .. }| {
        TimelineEntry::of(*version, *at, event, actor, *published_at)
    });
    let entries = entries.collect::<Result<Vec<TimelineEntry>, _>>();
    let timeline = entries.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    let written = app.engine.queries().postmortem(&found).await?;
    let view = IncidentView { timeline: Some(timeline), postmortem: Some(written), ..IncidentView::of(id, &found) };
    Ok(Json(view).into_response())
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

/// How many incidents are found alike.
const SIMILAR_SHOWN: usize = 10;

pub(crate) async fn similar(
    State(app): State<App>,
    Named(IncidentId(id)): Named<IncidentId>,
) -> Result<Response, Problem> {
    let kept = find(&app, id).await?;
    let found = app.engine.queries().similar(&kept, SIMILAR_SHOWN).await?;
    let items = found.iter().map(|kept| IncidentView::of(kept.id, kept)).collect();
    Ok(Json(Page { items, next_cursor: None }).into_response())
}
