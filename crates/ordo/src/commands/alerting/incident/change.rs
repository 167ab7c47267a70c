//! `ordo incident start | severity | assign | status | ack | note`

use ordo_engine::clock::new_id;
use serde_json::{Map, Value, json};

use super::find;
use crate::cli::alerting::incident::{ActArg, ActorArg, AssignArgs, NoteArgs, SeverityArgs, StartArgs, StatusArgs};
use crate::commands::find::text;
use crate::commands::talk::CommandSession;
use crate::error::{Exit, Result};

pub(crate) async fn start(talk: &CommandSession, args: &StartArgs) -> Result<Exit> {
    let given = [
        ("description", args.description.as_ref()),
        ("severity", args.severity.as_ref()),
        ("identifier", args.identifier.as_ref()),
        ("escalation", args.escalation.as_ref()),
        ("actor", args.actor.actor.as_ref()),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
    let body: Map<String, Value> = [("title".to_owned(), json!(args.title))].into_iter().chain(given).collect();
    let made =
        talk.client.post_with_key::<Value, _>("/v1/incidents", &Value::Object(body), &new_id().to_string()).await?;
    report(talk, "started", &made)
}

pub(crate) async fn severity(talk: &CommandSession, args: &SeverityArgs) -> Result<Exit> {
    change(talk, &args.incident.incident, "severity", json!({ "severity": args.severity }), &args.actor).await
}

pub(crate) async fn assign(talk: &CommandSession, args: &AssignArgs) -> Result<Exit> {
    change(talk, &args.incident.incident, "assignee", json!({ "assignee": args.assignee }), &args.actor).await
}

pub(crate) async fn status(talk: &CommandSession, args: &StatusArgs) -> Result<Exit> {
    let mut body = json!({ "status": args.status });
    if let Some(message) = &args.message {
        body["message"] = json!(message);
    }
    change(talk, &args.incident.incident, "status", body, &args.actor).await
}

pub(crate) async fn acknowledge(talk: &CommandSession, args: &ActArg) -> Result<Exit> {
    change(talk, &args.incident.incident, "ack", json!({}), &args.actor).await
}

pub(crate) async fn note(talk: &CommandSession, args: &NoteArgs) -> Result<Exit> {
    change(talk, &args.incident.incident, "notes", json!({ "text": args.text }), &args.actor).await
}

async fn change(talk: &CommandSession, name: &str, what: &str, mut body: Value, actor: &ActorArg) -> Result<Exit> {
    let id = find(talk, name).await?;
    if let Some(actor) = actor.actor.as_ref().filter(|name| !name.trim().is_empty()) {
        body["actor"] = json!(actor);
    }
    let incident = talk.post(&format!("/v1/incidents/{id}/{what}"), Some(&body)).await?;
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
