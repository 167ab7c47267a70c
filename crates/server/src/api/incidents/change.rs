//! What people do about an incident: one handler for each change.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use axum::response::Response;
use ordo_api::Code;
use ordo_api::alerting::incidents::{
    Acknowledge, AddAction, AddLink, AddNote, DescribeImpact, SetAction, SetAssignee, SetRole, SetSeverity, SetStatus,
    SnoozeIncident, WritePostmortem,
};
use ordo_model::incident::{Incident, IncidentCommand};
use ordo_model::{Millis, Timestamp};

use super::{acting, answer};
use crate::app::{App, Signed};
use crate::http::body::Body;
use crate::http::path::{IncidentId, Name, Named};
use crate::http::problem::Problem;

pub(crate) async fn assignee(
    Signed(app): Signed,
    Named(id): Named<IncidentId>,
    body: Body,
) -> Result<Response, Problem> {
    let SetAssignee { assignee, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::SetAssignee { assignee, by: app.by() }).await
}

pub(crate) async fn severity(
    Signed(app): Signed,
    Named(id): Named<IncidentId>,
    body: Body,
) -> Result<Response, Problem> {
    let SetSeverity { severity, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::SetSeverity { severity, by: app.by() }).await
}

pub(crate) async fn status(Signed(app): Signed, Named(id): Named<IncidentId>, body: Body) -> Result<Response, Problem> {
    let SetStatus { status, message, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::UpdateStatus { status, message, by: app.by() }).await
}

pub(crate) async fn acknowledge(
    Signed(app): Signed,
    Named(id): Named<IncidentId>,
    body: Body,
) -> Result<Response, Problem> {
    let Acknowledge { actor } = body.parse_or_default()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::Acknowledge { by: app.by() }).await
}

pub(crate) async fn note(Signed(app): Signed, Named(id): Named<IncidentId>, body: Body) -> Result<Response, Problem> {
    let AddNote { text, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::AddNote { text, by: app.by() }).await
}

pub(crate) async fn link(Signed(app): Signed, Named(id): Named<IncidentId>, body: Body) -> Result<Response, Problem> {
    let AddLink { link, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::Link { link, by: app.by() }).await
}

async fn change(app: &App, IncidentId(id): IncidentId, command: IncidentCommand) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, &app.engine.command::<Incident>(id, command).await?.state))
}

pub(crate) async fn role(Signed(app): Signed, Named(id): Named<IncidentId>, body: Body) -> Result<Response, Problem> {
    let SetRole { role, person, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::SetRole { role, person, by: app.by() }).await
}

pub(crate) async fn impact(Signed(app): Signed, Named(id): Named<IncidentId>, body: Body) -> Result<Response, Problem> {
    let DescribeImpact { text, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::DescribeImpact { text, by: app.by() }).await
}

pub(crate) async fn add_action(
    Signed(app): Signed,
    Named(id): Named<IncidentId>,
    body: Body,
) -> Result<Response, Problem> {
    let AddAction { text, owner, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::AddAction { text, owner, by: app.by() }).await
}

pub(crate) async fn set_action(
    Signed(app): Signed,
    named: Result<Path<(String, String)>, PathRejection>,
    body: Body,
) -> Result<Response, Problem> {
    let Path((id, number)) = named.map_err(|_| IncidentId::missing(""))?;
    let id: IncidentId = id.parse().map_err(|_| IncidentId::missing(&id))?;
    let unknown = || Problem::field(Code::InvalidIncident, "number", "must be the number of an action item");
    let number: u32 = number.parse().map_err(|_| unknown())?;
    let SetAction { done, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::SetAction { number, is_done: done, by: app.by() }).await
}

pub(crate) async fn postmortem(
    Signed(app): Signed,
    Named(id): Named<IncidentId>,
    body: Body,
) -> Result<Response, Problem> {
    let WritePostmortem { text, actor } = body.parse()?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::WritePostmortem { text, by: app.by() }).await
}

pub(crate) async fn snooze(Signed(app): Signed, Named(id): Named<IncidentId>, body: Body) -> Result<Response, Problem> {
    let SnoozeIncident { r#for, until, actor } = body.parse()?;
    let until = end(r#for, until, app.now()).map_err(|why| Problem::field(Code::InvalidIncident, "until", why))?;
    let app = acting(&app, actor)?;
    change(&app, id, IncidentCommand::Snooze { until, by: app.by() }).await
}

pub(crate) async fn end_snooze(Signed(app): Signed, Named(id): Named<IncidentId>) -> Result<Response, Problem> {
    change(&app, id, IncidentCommand::EndSnooze { by: app.by() }).await
}

/// When something ends that is given by its length or by its end.
pub(crate) fn end(length: Option<Millis>, until: Option<Timestamp>, now: Timestamp) -> Result<Timestamp, &'static str> {
    match (length, until) {
        (Some(length), None) => Ok(now.plus(length)),
        (None, Some(until)) => Ok(until),
        (Some(_), Some(_)) | (None, None) => Err("give `for` or `until`, one of them"),
    }
}
