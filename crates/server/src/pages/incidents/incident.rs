//! One incident: its severity, its status, its timeline, who was notified; and what people do about it.

use askama::Template;
use axum::extract::Form;
use axum::response::Response;
use ordo_engine::incidents::Happened;
use ordo_model::incident::{Incident, IncidentCommand, IncidentEvent, IncidentStatus, Link, Severity};
use ordo_model::notification::NotificationState;
use ordo_model::{EntityId, Kind};
use uuid::Uuid;

use crate::api::incidents::find;
use crate::http::path::{IncidentId, Named};
use crate::http::problem::Problem;
use crate::pages::incidents::{by, severity, status};
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::Badge;
use crate::pages::runs::row::short_id;

const NOTIFICATIONS_SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "incident.html")]
struct IncidentPage {
    shell: PageShell,
    id: String,
    title: String,
    description: String,
    severity: Badge,
    severities: Vec<(&'static str, bool)>,
    status: Badge,
    moves: Vec<(&'static str, &'static str)>,
    assignee: String,
    acknowledged: Option<(String, Html)>,
    can_acknowledge: bool,
    started: Html,
    ended: Option<Html>,
    links: Vec<(String, String)>,
    steps: Vec<IncidentStep>,
    notifications: Vec<NotificationRow>,
    export: String,
}

struct IncidentStep {
    version: u64,
    class: &'static str,
    at: Html,
    text: String,
    who: String,
}

struct NotificationRow {
    sender: String,
    event: String,
    state: Badge,
    at: Html,
    error: Option<String>,
    /// Where to have it tried again.
    replay: Option<String>,
}

pub(crate) async fn show(ctx: PageContext, Named(IncidentId(id)): Named<IncidentId>) -> Result<Response, Problem> {
    let kept = find(&ctx.app, id).await?;
    let times = ctx.times();
    let timeline = queries(&ctx).timeline(id).await?;
    let entity = EntityId { kind: Kind::Incident, id };
    let notifications = queries(&ctx).notifications_about(entity, None, NOTIFICATIONS_SHOWN).await?.items;
    let page = IncidentPage {
        shell: PageShell::new(&ctx, NavSection::Incidents, kept.title.clone()).await?,
        id: id.to_string(),
        title: kept.title.clone(),
        description: kept.description.clone(),
        severity: severity(kept.severity),
        severities: Severity::ALL.map(|one| (one.name(), one == kept.severity)).to_vec(),
        status: status(kept.status),
        moves: kept.status.moves().iter().map(|to| (to.name(), verb(*to))).collect(),
        assignee: kept.assignee.clone().unwrap_or_default(),
        acknowledged: kept.acknowledged.as_ref().map(|ack| (ack.by.to_string(), times.relative(ack.at))),
        can_acknowledge: kept.acknowledged.is_none() && !kept.status.is_ended(),
        started: times.relative(kept.created_at),
        ended: kept.ended_at.map(|at| times.relative(at)),
        links: kept.links.iter().map(|link| place(&ctx, link)).collect(),
        steps: timeline.iter().rev().map(|happened| step(happened, &times)).collect(),
        notifications: notifications.iter().map(|notification| notification_row(&ctx, notification, &times)).collect(),
        export: ctx.link(&format!("/v1/incidents/{id}/export")),
    };
    answer::ok(&page)
}

const fn verb(to: IncidentStatus) -> &'static str {
    match to {
        IncidentStatus::Open => "Reopen",
        IncidentStatus::Mitigating => "Mitigating",
        IncidentStatus::Resolved => "Resolve",
        IncidentStatus::Declined => "Decline",
    }
}

fn place(ctx: &PageContext, link: &Link) -> (String, String) {
    match link {
        Link::Job { id } => (ctx.link(&format!("/jobs/{id}")), "the job".to_owned()),
        Link::Run { id } => (ctx.link(&format!("/runs/{id}")), format!("run {}", short_id(&id.to_string()))),
    }
}

fn step(happened: &Happened, times: &crate::pages::layout::moment::Times) -> IncidentStep {
    let (class, text) = describe(&happened.event);
    let who = happened.event.by().map_or_else(String::new, |by| format!("{by} · {}", by.source.name()));
    IncidentStep { version: happened.version, class, at: times.short(happened.at), text, who }
}

fn describe(event: &IncidentEvent) -> (&'static str, String) {
    match event {
        IncidentEvent::IncidentStarted { severity, .. } => ("failed", format!("started as {severity}")),
        IncidentEvent::SeveritySet { severity, .. } => ("quiet", format!("severity is {severity}")),
        IncidentEvent::AssigneeSet { assignee: Some(name), .. } => ("quiet", format!("assigned to {name}")),
        IncidentEvent::AssigneeSet { assignee: None, .. } => ("quiet", "assigned to nobody".to_owned()),
        IncidentEvent::StatusUpdated { status, message, .. } => {
            let class = if status.is_ended() { "completed" } else { "running" };
            (class, format!("{status}{}", message.as_ref().map_or_else(String::new, |text| format!(": {text}"))))
        }
        IncidentEvent::Acknowledged { .. } => ("running", "acknowledged".to_owned()),
        IncidentEvent::AcknowledgementExpired { .. } => ("skipped", "the acknowledgement ran out".to_owned()),
        IncidentEvent::NoteAdded { text, .. } => ("quiet", text.clone()),
        IncidentEvent::Linked { link: Link::Job { id }, .. } => ("quiet", format!("linked to job {id}")),
        IncidentEvent::Linked { link: Link::Run { id }, .. } => ("quiet", format!("linked to run {id}")),
        IncidentEvent::Escalated { notify, .. } => ("failed", format!("escalated to {notify}")),
        IncidentEvent::Retitled { .. }
        | IncidentEvent::Remembered { .. }
        | IncidentEvent::ClockStepped { .. }
        | IncidentEvent::Published { .. } => ("quiet", String::new()),
    }
}

fn notification_row(
    ctx: &PageContext,
    notification: &ordo_engine::Versioned<ordo_model::notification::Notification>,
    times: &crate::pages::layout::moment::Times,
) -> NotificationRow {
    let replay = matches!(notification.state, NotificationState::DeadLettered { .. }) && ctx.viewer.may_operate;
    NotificationRow {
        sender: notification.sender.clone(),
        event: notification.message.event().to_owned(),
        state: notification_state(&notification.state),
        at: times.relative(notification.written_at),
        error: notification.last_error.clone(),
        replay: replay.then(|| ctx.link(&format!("/notifications/{}/replay", notification.id))),
    }
}

pub(crate) fn notification_state(state: &NotificationState) -> Badge {
    let (class, icon) = match state {
        NotificationState::Waiting { .. } => ("pending", "pending"),
        NotificationState::Delivered { .. } => ("completed", "completed"),
        NotificationState::DeadLettered { .. } => ("failed", "failed"),
        NotificationState::Forgotten => ("skipped", "skipped"),
    };
    Badge { text: state.name().to_owned(), class, icon }
}

pub(crate) async fn acknowledge(ctx: PageContext, Named(IncidentId(id)): Named<IncidentId>) -> Response {
    let command = IncidentCommand::Acknowledge { by: by(&ctx) };
    change(&ctx, id, command, "Acknowledged").await
}

pub(crate) async fn set_status(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let Some(status) = field(&fields, "status").and_then(IncidentStatus::named) else {
        return ctx.go(&format!("/incidents/{id}"), &Flash::bad("There is no such status"));
    };
    let message = field(&fields, "message").map(str::to_owned);
    change(&ctx, id, IncidentCommand::UpdateStatus { status, message, by: by(&ctx) }, "Saved").await
}

pub(crate) async fn set_severity(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let Some(severity) = field(&fields, "severity").and_then(|text| text.parse().ok()) else {
        return ctx.go(&format!("/incidents/{id}"), &Flash::bad("There is no such severity"));
    };
    change(&ctx, id, IncidentCommand::SetSeverity { severity, by: by(&ctx) }, "Saved").await
}

pub(crate) async fn set_assignee(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let assignee = field(&fields, "assignee").map(str::to_owned);
    change(&ctx, id, IncidentCommand::SetAssignee { assignee, by: by(&ctx) }, "Saved").await
}

pub(crate) async fn note(
    ctx: PageContext,
    Named(IncidentId(id)): Named<IncidentId>,
    Form(fields): FormFields,
) -> Response {
    let text = field(&fields, "text").unwrap_or_default().to_owned();
    change(&ctx, id, IncidentCommand::AddNote { text, by: by(&ctx) }, "Noted").await
}

async fn change(ctx: &PageContext, id: Uuid, command: IncidentCommand, done: &str) -> Response {
    let to = format!("/incidents/{id}");
    if let Err(problem) = ctx.operator() {
        return ctx.go(&to, &Flash::bad(problem.detail));
    }
    match ctx.app.engine.command::<Incident>(id, command).await {
        Ok(_) => ctx.go(&to, &Flash::good(done)),
        Err(error) => ctx.go(&to, &Flash::bad(error.to_string())),
    }
}
