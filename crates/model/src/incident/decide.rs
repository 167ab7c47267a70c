//! What happens when something is asked of an incident.

use super::command::{IncidentCommand, IncidentRefusal, StartIncident};
use super::event::IncidentEvent;
use super::words::{By, IncidentRole, IncidentSource, IncidentStatus, Link};
use super::{Escalating, Incident};
use crate::job::Invalid;
use crate::job::definition::{name, text};
use crate::limits::{
    ACTOR_MAX_BYTES, IDENTIFIER_MAX_BYTES, INCIDENT_ACTIONS_MAX, INCIDENT_LINKS_MAX, INCIDENT_SNOOZE_MAX,
    INCIDENT_TEXT_MAX_BYTES, INCIDENT_TITLE_MAX_BYTES, POSTMORTEM_MAX_BYTES, REMEMBERED_MAX_BYTES,
};
use crate::time::Timestamp;

type Decision = Result<Vec<IncidentEvent>, IncidentRefusal>;

pub(super) fn decide(before: Option<&Incident>, command: IncidentCommand, now: Timestamp) -> Decision {
    let (incident, command) = match (before, command) {
        (None, IncidentCommand::Start(start)) => return begin(*start, now),
        (None, _) => return Err(IncidentRefusal::NoSuchIncident),
        (Some(incident), command) => (incident, command),
    };
    match command {
        IncidentCommand::Start(_) => match incident.status.is_ended() {
            false => Ok(Vec::new()),
            true => Err(IncidentRefusal::Ended { status: incident.status }),
        },
        IncidentCommand::SetSeverity { severity, by } => {
            check_by(&by)?;
            Ok(changed(severity != incident.severity, IncidentEvent::SeveritySet { severity, by }))
        }
        IncidentCommand::SetAssignee { assignee, by } => {
            check_by(&by)?;
            assignee.as_ref().map_or(Ok(()), |given| name("assignee", given, ACTOR_MAX_BYTES))?;
            Ok(changed(assignee != incident.assignee, IncidentEvent::AssigneeSet { assignee, by }))
        }
        IncidentCommand::UpdateStatus { status, message, by } => update_status(incident, status, message, by, now),
        IncidentCommand::Acknowledge { by } => acknowledge(incident, by, now),
        IncidentCommand::AddNote { text: note, by } => {
            check_by(&by)?;
            text("text", &note, INCIDENT_TEXT_MAX_BYTES)?;
            Ok(vec![IncidentEvent::NoteAdded { text: note, by }])
        }
        IncidentCommand::Repeat { title, text: note, by } => {
            check_by(&by)?;
            text("title", &title, INCIDENT_TITLE_MAX_BYTES)?;
            text("text", &note, INCIDENT_TEXT_MAX_BYTES)?;
            let mut events = changed(title != incident.title, IncidentEvent::Retitled { title });
            events.push(IncidentEvent::NoteAdded { text: note, by });
            Ok(events)
        }
        IncidentCommand::Link { link, by } => add_link(incident, link, by),
        IncidentCommand::SetRole { role, person, by } => set_role(incident, role, person, by),
        IncidentCommand::DescribeImpact { text: impact, by } => {
            check_by(&by)?;
            optional_text("text", &impact, INCIDENT_TEXT_MAX_BYTES)?;
            Ok(changed(impact != incident.impact, IncidentEvent::ImpactDescribed { text: impact, by }))
        }
        IncidentCommand::AddAction { text, owner, by } => add_action(incident, text, owner, by),
        IncidentCommand::SetAction { number, is_done, by } => set_action(incident, number, is_done, by),
        IncidentCommand::WritePostmortem { text: written, by } => {
            check_by(&by)?;
            optional_text("text", &written, POSTMORTEM_MAX_BYTES)?;
            Ok(vec![IncidentEvent::PostmortemWritten { text: written, by }])
        }
        IncidentCommand::Snooze { until, by } => snooze(incident, until, by, now),
        IncidentCommand::EndSnooze { by } => {
            check_by(&by)?;
            let escalate_at = escalation_after_snooze(incident, now);
            Ok(changed(incident.snoozed.is_some(), IncidentEvent::SnoozeEnded { escalate_at, by }))
        }
        IncidentCommand::Wake => Ok(wake(incident, now)),
        IncidentCommand::Remember { sender, value } => remember(incident, sender, value),
        IncidentCommand::Published { through } => {
            let waits = incident.outbox.entries().first().is_some_and(|entry| entry.version <= through);
            Ok(changed(waits, IncidentEvent::Published { through }))
        }
    }
}

fn changed(is_change: bool, event: IncidentEvent) -> Vec<IncidentEvent> {
    if is_change { vec![event] } else { Vec::new() }
}

/// A text that may be left empty.
fn optional_text(field: &'static str, given: &str, max_bytes: usize) -> Result<(), Invalid> {
    if given.is_empty() { Ok(()) } else { text(field, given, max_bytes) }
}

fn check_by(by: &By) -> Result<(), Invalid> {
    [Some(&by.actor), by.on_behalf_of.as_ref()]
        .into_iter()
        .flatten()
        .try_for_each(|who| name("actor", who, ACTOR_MAX_BYTES))
}

fn begin(start: StartIncident, now: Timestamp) -> Decision {
    let StartIncident { title, description, severity, identifier, generation, links, escalation, by } = start;
    check_by(&by)?;
    text("title", &title, INCIDENT_TITLE_MAX_BYTES)?;
    optional_text("description", &description, INCIDENT_TEXT_MAX_BYTES)?;
    identifier.as_ref().map_or(Ok(()), |given| name("identifier", given, IDENTIFIER_MAX_BYTES))?;
    escalation.as_ref().map_or(Ok(()), super::Escalation::validate)?;
    if links.len() > INCIDENT_LINKS_MAX {
        return Err(IncidentRefusal::TooManyLinks);
    }
    let escalate_at = escalation.as_ref().and_then(|policy| policy.due(0, now));
    Ok(vec![IncidentEvent::IncidentStarted {
        title,
        description,
        severity,
        identifier,
        generation,
        links,
        escalation,
        escalate_at,
        by,
    }])
}

fn update_status(incident: &Incident, to: IncidentStatus, message: Option<String>, by: By, now: Timestamp) -> Decision {
    check_by(&by)?;
    message.as_ref().map_or(Ok(()), |message| text("message", message, INCIDENT_TEXT_MAX_BYTES))?;
    let from = incident.status;
    if from == to {
        let note = message.map(|text| IncidentEvent::NoteAdded { text, by });
        return Ok(note.into_iter().collect());
    }
    if !from.moves().contains(&to) {
        return Err(IncidentRefusal::NoSuchMove { from, to });
    }
    let escalate_at = from.is_ended().then(|| first_step(incident, now)).flatten();
    Ok(vec![IncidentEvent::StatusUpdated { status: to, message, escalate_at, by }])
}

fn first_step(incident: &Incident, now: Timestamp) -> Option<Timestamp> {
    incident.escalation.as_ref().and_then(|escalating| escalating.policy.due(0, now))
}

/// Whoever acknowledges again takes it over, and has the whole time again.
fn acknowledge(incident: &Incident, by: By, now: Timestamp) -> Decision {
    check_by(&by)?;
    if incident.status.is_ended() {
        return Err(IncidentRefusal::Ended { status: incident.status });
    }
    let timeout = incident.escalation.as_ref().and_then(|escalating| escalating.policy.ack_timeout);
    let is_same =
        incident.acknowledged.as_ref().is_some_and(|ack| (&ack.by.actor, ack.by.person()) == (&by.actor, by.person()));
    let expires_at = timeout.map(|timeout| now.plus(timeout));
    Ok(changed(!is_same || timeout.is_some(), IncidentEvent::Acknowledged { expires_at, by }))
}

fn add_link(incident: &Incident, link: Link, by: By) -> Decision {
    check_by(&by)?;
    if incident.links.contains(&link) {
        return Ok(Vec::new());
    }
    if incident.links.len() >= INCIDENT_LINKS_MAX {
        return Err(IncidentRefusal::TooManyLinks);
    }
    Ok(vec![IncidentEvent::Linked { link, by }])
}

fn set_role(incident: &Incident, role: IncidentRole, person: Option<String>, by: By) -> Decision {
    check_by(&by)?;
    person.as_ref().map_or(Ok(()), |given| name("person", given, ACTOR_MAX_BYTES))?;
    Ok(changed(incident.roles.get(&role) != person.as_ref(), IncidentEvent::RoleSet { role, person, by }))
}

fn add_action(incident: &Incident, what: String, owner: Option<String>, by: By) -> Decision {
    check_by(&by)?;
    text("text", &what, INCIDENT_TITLE_MAX_BYTES)?;
    owner.as_ref().map_or(Ok(()), |given| name("owner", given, ACTOR_MAX_BYTES))?;
    if incident.actions.len() >= INCIDENT_ACTIONS_MAX {
        return Err(IncidentRefusal::TooManyActions);
    }
    let number = incident.actions.last().map_or(1, |item| item.number + 1);
    Ok(vec![IncidentEvent::ActionAdded { number, text: what, owner, by }])
}

fn set_action(incident: &Incident, number: u32, is_done: bool, by: By) -> Decision {
    check_by(&by)?;
    let item = incident.actions.iter().find(|item| item.number == number);
    let was_done = item.ok_or(IncidentRefusal::NoSuchAction { number })?.done_at.is_some();
    let event = match is_done {
        true => IncidentEvent::ActionCompleted { number, by },
        false => IncidentEvent::ActionReopened { number, by },
    };
    Ok(changed(was_done != is_done, event))
}

fn snooze(incident: &Incident, until: Timestamp, by: By, now: Timestamp) -> Decision {
    check_by(&by)?;
    if incident.status.is_ended() {
        return Err(IncidentRefusal::Ended { status: incident.status });
    }
    if until <= now || until > now.plus(INCIDENT_SNOOZE_MAX) {
        let message = format!("must be in the future and at most {INCIDENT_SNOOZE_MAX} from now");
        return Err(Invalid::new("until", message).into());
    }
    let is_new = incident.snoozed.as_ref().is_none_or(|snooze| snooze.until != until);
    Ok(changed(is_new, IncidentEvent::Snoozed { until, by }))
}

/// What nobody has acknowledged escalates from its first step once the quiet is over.
fn escalation_after_snooze(incident: &Incident, now: Timestamp) -> Option<Timestamp> {
    incident.acknowledged.is_none().then(|| first_step(incident, now)).flatten()
}

fn wake(incident: &Incident, now: Timestamp) -> Vec<IncidentEvent> {
    let is_due = |at: Option<Timestamp>| !incident.status.is_ended() && at.is_some_and(|at| at <= now);
    let by = || By::new("escalation", IncidentSource::Escalation);
    if let Some(snooze) = &incident.snoozed {
        let escalate_at = escalation_after_snooze(incident, now);
        return changed(is_due(Some(snooze.until)), IncidentEvent::SnoozeEnded { escalate_at, by: by() });
    }
    if incident.acknowledged.as_ref().is_some_and(|ack| is_due(ack.expires_at)) {
        let escalate_at = first_step(incident, now);
        return vec![IncidentEvent::AcknowledgementExpired { escalate_at, by: by() }];
    }
    let Some(Escalating { policy, step, due_at }) = &incident.escalation else { return Vec::new() };
    let Some(reached) = policy.steps.get(*step as usize).filter(|_| is_due(*due_at)) else { return Vec::new() };
    vec![IncidentEvent::Escalated {
        step: *step,
        notify: reached.notify.clone(),
        via: reached.via.clone(),
        escalate_at: policy.due(step + 1, now),
        by: by(),
    }]
}

fn remember(incident: &Incident, sender: String, value: serde_json::Value) -> Decision {
    let bytes = serde_json::to_vec(&value).map_or(usize::MAX, |bytes| bytes.len());
    if bytes > REMEMBERED_MAX_BYTES {
        let message = format!("is {bytes} bytes long, at most {REMEMBERED_MAX_BYTES} are allowed");
        return Err(Invalid::new("remembered", message).into());
    }
    let is_new = incident.remembered.get(&sender) != Some(&value);
    Ok(changed(is_new, IncidentEvent::Remembered { sender, value }))
}
