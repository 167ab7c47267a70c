//! What a monitor wants done: its silence is noticed, and its news become an incident or end it.

use ordo_model::incident::{By, IncidentSource, StartIncident};
use ordo_model::monitor::{Monitor, MonitorCommand, MonitorNotice};
use ordo_model::outbox::OutboxEntry;
use ordo_store::Fault;
use uuid::Uuid;

use super::{fault_of, handed_on, trouble};
use crate::commit::command::SubmitError;
use crate::commit::state::Versioned;
use crate::engine::Engine;
use crate::notify::reconciler::Reconciled;

pub(crate) async fn reconcile(engine: &Engine, id: Uuid) -> Result<Reconciled, Fault> {
    let Some(mut monitor) = engine.queries().object::<Monitor>(id).await? else { return Ok(Reconciled::Done) };
    if engine.is_due(monitor.due_at, monitor.frame) {
        let Some(woken) = submit(engine, id, MonitorCommand::Wake).await? else { return Ok(Reconciled::Done) };
        monitor = woken;
    }
    while let Some(through) = monitor.outbox.last_version() {
        for entry in monitor.outbox.entries() {
            hand_on(engine, &monitor, entry).await?;
        }
        handed_on(engine, monitor.outbox.entries().iter().map(|entry| entry.at));
        let Some(after) = submit(engine, id, MonitorCommand::Published { through }).await? else { break };
        monitor = after;
    }
    Ok(Reconciled::Done)
}

async fn hand_on(
    engine: &Engine,
    monitor: &Versioned<Monitor>,
    entry: &OutboxEntry<MonitorNotice>,
) -> Result<(), Fault> {
    let name = &monitor.settings.name;
    let (what, why, repetition) = match &entry.what {
        MonitorNotice::Silent { due_at } => ("has not been heard of", format!("a ping was expected by {due_at}"), 0),
        MonitorNotice::Failed { failures_in_row } => {
            ("says that it failed", format!("{failures_in_row} in a row"), failures_in_row.saturating_sub(1))
        }
        MonitorNotice::Recovered { since } => {
            let text = format!("{name} is well again; it was down since {since}");
            return trouble::end(engine, &identifier(name), (text, by(name)), true, &key(monitor, entry)).await;
        }
    };
    let start = StartIncident {
        title: format!("{name} {what}"),
        description: format!("Monitor {name}: {why}."),
        severity: monitor.settings.severity,
        identifier: Some(identifier(name)),
        generation: 0,
        links: Vec::new(),
        escalation: engine.escalation(monitor.settings.escalation.as_deref()).await?,
        by: by(name),
    };
    let note = trouble::is_noted(repetition).then(|| format!("{name} {what}: {why}"));
    trouble::open(engine, start, note, &key(monitor, entry)).await
}

/// The name under which a monitor opens its incidents.
fn identifier(name: &str) -> String {
    format!("monitor:{name}")
}

fn by(name: &str) -> By {
    By::new(name, IncidentSource::Monitor)
}

fn key(monitor: &Versioned<Monitor>, entry: &OutboxEntry<MonitorNotice>) -> String {
    // A monitor may be removed and added again under the same name: its versions begin anew then.
    format!("{}/{}/{}", monitor.entity(), monitor.created_at.ms(), entry.version)
}

async fn submit(engine: &Engine, id: Uuid, command: MonitorCommand) -> Result<Option<Versioned<Monitor>>, Fault> {
    match engine.command::<Monitor>(id, command).await {
        Ok(committed) => Ok(Some(Versioned::clone(&committed.state))),
        Err(SubmitError::Refused(_)) => Ok(None),
        Err(error) => Err(fault_of(error)),
    }
}
