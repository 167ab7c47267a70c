//! `ordo incident start | severity | assign | status | ack | note | role | impact | snooze`

use ordo_api::alerting::incidents::{
    Acknowledge, AddNote, DescribeImpact, NewIncident, SetAssignee, SetRole, SetSeverity, SetStatus, SnoozeIncident,
};
use ordo_engine::clock::new_id;
use serde::Serialize;
use serde_json::Value;

use super::find;
use crate::cli::alerting::incident::{
    ActArg, ActorArg, AssignArgs, ImpactArgs, NoteArgs, RoleArgs, SeverityArgs, SnoozeArgs, StartArgs, StatusArgs,
};
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};
use crate::output::time;
use crate::zone;

pub(crate) async fn start(talk: &CommandSession, args: StartArgs) -> Result<Exit> {
    let StartArgs { title, description, severity, identifier, escalation, actor } = args;
    let body = NewIncident {
        title,
        description: description.unwrap_or_default(),
        severity: severity.unwrap_or_default(),
        identifier,
        links: Vec::new(),
        escalation,
        actor: named(actor),
    };
    let made = talk.client.post_with_key("/v1/incidents", &body, &new_id().to_string()).await?;
    report(talk, "started", &made)
}

pub(crate) async fn severity(talk: &CommandSession, args: SeverityArgs) -> Result<Exit> {
    let body = SetSeverity { severity: args.severity, actor: named(args.actor) };
    change(talk, &args.incident.incident, "severity", &body).await
}

pub(crate) async fn assign(talk: &CommandSession, args: AssignArgs) -> Result<Exit> {
    let body = SetAssignee { assignee: args.assignee, actor: named(args.actor) };
    change(talk, &args.incident.incident, "assignee", &body).await
}

pub(crate) async fn status(talk: &CommandSession, args: StatusArgs) -> Result<Exit> {
    let body = SetStatus { status: args.status, message: args.message, actor: named(args.actor) };
    change(talk, &args.incident.incident, "status", &body).await
}

pub(crate) async fn acknowledge(talk: &CommandSession, args: ActArg) -> Result<Exit> {
    change(talk, &args.incident.incident, "ack", &Acknowledge { actor: named(args.actor) }).await
}

pub(crate) async fn note(talk: &CommandSession, args: NoteArgs) -> Result<Exit> {
    let body = AddNote { text: args.text, actor: named(args.actor) };
    change(talk, &args.incident.incident, "notes", &body).await
}

pub(crate) async fn role(talk: &CommandSession, args: RoleArgs) -> Result<Exit> {
    let body = SetRole { role: args.role, person: args.person, actor: named(args.actor) };
    change(talk, &args.incident.incident, "roles", &body).await
}

pub(crate) async fn impact(talk: &CommandSession, args: ImpactArgs) -> Result<Exit> {
    let body = DescribeImpact { text: args.text, actor: named(args.actor) };
    change(talk, &args.incident.incident, "impact", &body).await
}

pub(crate) async fn snooze(talk: &CommandSession, args: SnoozeArgs) -> Result<Exit> {
    if args.end {
        let id = find(talk, &args.incident.incident).await?;
        let incident = talk.client.delete::<Value>(&format!("/v1/incidents/{id}/snooze")).await?;
        return report(talk, "no longer snoozed", &incident);
    }
    let until = args.until.as_deref().map(|text| zone::parse("--until", text, &talk.zone, talk.now())).transpose()?;
    let body = SnoozeIncident { r#for: args.length, until, actor: named(args.actor) };
    change(talk, &args.incident.incident, "snooze", &body).await
}

/// Who is said to do it; a blank name is none.
pub(crate) fn named(actor: ActorArg) -> Option<String> {
    actor.actor.filter(|name| !name.trim().is_empty())
}

pub(super) async fn change(talk: &CommandSession, name: &str, what: &str, body: &impl Serialize) -> Result<Exit> {
    let id = find(talk, name).await?;
    let incident = talk.post(&format!("/v1/incidents/{id}/{what}"), body).await?;
    report(talk, "incident", &incident)
}

pub(super) fn report(talk: &CommandSession, word: &str, incident: &Value) -> Result<Exit> {
    talk.value(incident, || {
        let assignee = incident["assignee"].as_str().map(|name| format!(", {name}")).unwrap_or_default();
        let snoozed = time::of(&incident["snoozed"]["until"]);
        let snoozed = snoozed.map(|until| format!(", snoozed until {}", time::absolute(until, &talk.zone)));
        let snoozed = snoozed.unwrap_or_default();
        let standing = format!("{}, {}{assignee}{snoozed}", text(incident, "status"), text(incident, "severity"));
        format!("{word} {:?} ({standing}): {}", text(incident, "title"), text(incident, "id"))
    })?;
    Ok(Exit::Done)
}
