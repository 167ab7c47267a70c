//! What an incident wants done: its escalation goes on, and what happened to it is handed on.

use ordo_model::incident::{Incident, IncidentCommand};
use ordo_model::notification::Message;
use ordo_model::object::Object;
use ordo_store::Fault;
use uuid::Uuid;

use super::{ENTRIES_PER_PASS, fault_of, handed_on, write_notifications};
use crate::commit::command::SubmitError;
use crate::commit::state::{Versioned, decode_event};
use crate::engine::Engine;
use crate::notify::reconciler::Reconciled;

pub(crate) async fn reconcile(engine: &Engine, id: Uuid) -> Result<Reconciled, Fault> {
    let Some(mut incident) = engine.queries().object::<Incident>(id).await? else { return Ok(Reconciled::Done) };
    if engine.is_due(incident.next_turn(), incident.frame) {
        let Some(woken) = submit(engine, id, IncidentCommand::Wake).await? else { return Ok(Reconciled::Done) };
        incident = woken;
    }
    while let Some(through) = hand_on(engine, &incident).await? {
        let Some(after) = submit(engine, id, IncidentCommand::Published { through }).await? else { break };
        incident = after;
    }
    Ok(Reconciled::Done)
}

/// Hands on what waits; answers up to which version.
async fn hand_on(engine: &Engine, incident: &Versioned<Incident>) -> Result<Option<u64>, Fault> {
    let entries = incident.outbox.entries();
    let entries = &entries[..entries.len().min(ENTRIES_PER_PASS)];
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(None) };
    if engine.has_senders().await? {
        ordo_model::planted!(PublishedTooEarly, {
            let through = last.version;
            submit(engine, incident.id, IncidentCommand::Published { through }).await?;
        });
        let count = usize::try_from(last.version - first.version + 1).unwrap_or(usize::MAX);
        let (events, _) = engine.queries().history(incident.entity(), first.version, count).await?;
        for entry in entries {
            ordo_model::planted!(
                OutboxEntryLost,
                if entry.version < last.version {
                    continue;
                }
            );
            let Some(stored) = events.iter().find(|event| event.version == entry.version) else {
                return Err(Fault::damaged(format!("{} has no event {}", incident.entity(), entry.version)));
            };
            let message = Message::of_incident(incident.id, incident, entry, decode_event(stored)?);
            write_notifications(engine, message).await?;
        }
    }
    handed_on(engine, entries.iter().map(|entry| entry.at));
    Ok(Some(last.version))
}

async fn submit(engine: &Engine, id: Uuid, command: IncidentCommand) -> Result<Option<Versioned<Incident>>, Fault> {
    match engine.command::<Incident>(id, command).await {
        Ok(committed) => Ok(Some(Versioned::clone(&committed.state))),
        Err(SubmitError::Refused(_)) => Ok(None),
        Err(error) => Err(fault_of(error)),
    }
}
