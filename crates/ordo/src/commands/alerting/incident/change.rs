//! `ordo incident start | severity | assign | status | ack | note`

use ordo_api::alerting::incidents::{Acknowledge, AddNote, NewIncident, SetAssignee, SetSeverity, SetStatus};
use ordo_engine::clock::new_id;
use serde::Serialize;
use serde_json::Value;

use super::find;
use crate::cli::alerting::incident::{ActArg, ActorArg, AssignArgs, NoteArgs, SeverityArgs, StartArgs, StatusArgs};
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};

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

/// Who is said to do it; a blank name is none.
fn named(actor: ActorArg) -> Option<String> {
    actor.actor.filter(|name| !name.trim().is_empty())
}

async fn change(talk: &CommandSession, name: &str, what: &str, body: &impl Serialize) -> Result<Exit> {
    let id = find(talk, name).await?;
    let incident = talk.post(&format!("/v1/incidents/{id}/{what}"), body).await?;
    report(talk, "incident", &incident)
}

fn report(talk: &CommandSession, word: &str, incident: &Value) -> Result<Exit> {
    talk.value(incident, || {
        let assignee = incident["assignee"].as_str().map(|name| format!(", {name}")).unwrap_or_default();
        let standing = format!("{}, {}{assignee}", text(incident, "status"), text(incident, "severity"));
        format!("{word} {:?} ({standing}): {}", text(incident, "title"), text(incident, "id"))
    })?;
    Ok(Exit::Done)
}
