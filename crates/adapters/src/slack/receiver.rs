//! What Slack's requests do: a call by name starts an incident or adds to it, a button changes one.
//!
//! Invariant: only asks the engine, which answers when it is durable; nothing here waits for Slack. An event that Slack
//! delivers again does nothing again.

use ordo_engine::incidents::IncidentError;
use ordo_engine::{CommitExtras, Engine, SubmitError};
use ordo_model::incident::{By, Incident, IncidentCommand, IncidentRefusal, IncidentStatus, StartIncident};
use ordo_model::limits::{INCIDENT_TEXT_MAX_BYTES, INCIDENT_TITLE_MAX_BYTES};
use ordo_model::text::{shortened, visible, visible_lines};
use ordo_model::{Actor, ActorSource, Millis, Timestamp};
use ordo_store::Dedup;
use uuid::Uuid;

use super::events::Mention;
use super::interactions::{Interaction, InteractionAction};

/// Slack tries again within an hour; a key is kept much longer.
const EVENT_KEPT: Millis = Millis::from_days(1);

/// Starts the incident of the thread, or notes what was said if there is one already. The incident, unless the event
/// was delivered before. `request_id` names Slack's request.
pub async fn mentioned(
    engine: &Engine,
    mention: &Mention,
    request_id: Option<String>,
) -> Result<Option<Uuid>, IncidentError> {
    let engine = &engine.signed_by(&user(&mention.user).with_request(request_id));
    let extras = extras(&mention.event_id, engine.clock().now());
    let answer = match engine.start_incident(start(engine, mention).await?, |_| extras.clone()).await {
        Ok(committed) if committed.events.is_empty() => {
            let text = cut(&mention.text, INCIDENT_TEXT_MAX_BYTES);
            if text.is_empty() {
                return Ok(Some(committed.state.id));
            }
            let note = IncidentCommand::AddNote { text, by: by(&mention.user) };
            engine.command_with::<Incident>(committed.state.id, note, extras).await
        }
        answer => answer,
    };
    match answer {
        Ok(committed) => Ok(Some(committed.state.id)),
        Err(SubmitError::Duplicate(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn start(engine: &Engine, mention: &Mention) -> Result<StartIncident, IncidentError> {
    let text = mention.text.as_str();
    let first = text.lines().next().unwrap_or_default().trim();
    let title = match first.is_empty() {
        true => "An incident in Slack".to_owned(),
        false => cut_line(first, INCIDENT_TITLE_MAX_BYTES),
    };
    // A title that says it all needs no description.
    let description = if title == text { String::new() } else { cut(text, INCIDENT_TEXT_MAX_BYTES) };
    Ok(StartIncident {
        title,
        description,
        severity: Default::default(),
        identifier: Some(mention.identifier()),
        generation: 0,
        links: Vec::new(),
        escalation: engine.escalation(None).await?,
        by: by(&mention.user),
    })
}

/// Does what a button or a menu stands for.
pub async fn pressed(engine: &Engine, pressed: &Interaction, request_id: Option<String>) -> Result<(), IncidentError> {
    let engine = engine.signed_by(&user(&pressed.user).with_request(request_id));
    let by = by(&pressed.user);
    let command = match &pressed.deed {
        InteractionAction::Acknowledge => IncidentCommand::Acknowledge { by },
        InteractionAction::AssignToMe => IncidentCommand::SetAssignee { assignee: Some(by.actor.clone()), by },
        InteractionAction::Severity(word) => {
            IncidentCommand::SetSeverity { severity: known("severity", word.parse().ok())?, by }
        }
        InteractionAction::Status(word) => {
            IncidentCommand::UpdateStatus { status: known("status", IncidentStatus::named(word))?, message: None, by }
        }
    };
    engine.command::<Incident>(pressed.incident, command).await.map(drop)
}

fn known<T>(field: &str, value: Option<T>) -> Result<T, IncidentError> {
    let invalid = || ordo_model::job::Invalid::new(field, "is not one of those on the card");
    value.ok_or_else(|| SubmitError::Refused(IncidentRefusal::Invalid(invalid())))
}

/// By Slack's id of the person: Slack signed it.
fn user(id: &str) -> Actor {
    Actor::new(format!("slack:{}", cut_line(id, 100)), ActorSource::Slack)
}

fn by(id: &str) -> By {
    By::of(&user(id))
}

fn extras(event_id: &str, now: Timestamp) -> CommitExtras {
    let key = format!("slack-event/{}", cut(event_id, 200)).into_bytes();
    let dedup = Dedup { key, at: now, until: now.plus(EVENT_KEPT), value: Vec::new() };
    CommitExtras { dedup: vec![dedup], ..CommitExtras::default() }
}

/// What people write in Slack may hold anything: what cannot be seen is written out.
fn cut(text: &str, max_bytes: usize) -> String {
    shortened(&visible_lines(text), max_bytes).trim_end().to_owned()
}

/// The same for what stands on one line.
fn cut_line(text: &str, max_bytes: usize) -> String {
    shortened(&visible(text), max_bytes).trim_end().to_owned()
}
