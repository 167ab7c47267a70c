//! How events move an incident. Only this file changes one.
//!
//! Invariant: resolved and declined end the workflow. What happens to an ended incident is recorded and sent to nobody,
//! until it is opened again. While one is snoozed, only what people do is sent.

use std::collections::BTreeMap;

use super::event::IncidentEvent;
use super::words::IncidentStatus;
use super::{Acknowledgement, ActionItem, Escalating, Incident, PostmortemEdit, Published, Snooze};
use crate::object::Misplaced;
use crate::outbox::Outbox;
use crate::time::Timestamp;

pub(super) fn apply(before: Option<Incident>, event: &IncidentEvent, at: Timestamp) -> Result<Incident, Misplaced> {
    let was_ended = before.as_ref().is_some_and(|incident| incident.status.is_ended());
    let mut incident = match before {
        Some(incident) => moved(incident, event, at)?,
        None => begun(event, at)?,
    };
    if let Some(by) = event.by() {
        incident.updated_at = at;
        let is_ended = was_ended && incident.status.is_ended();
        let is_hushed = incident.snoozed.is_some() && !by.source.is_person();
        if event.is_news() && !is_ended && !is_hushed {
            incident.outbox.put(incident.version, at, incident.card());
        }
    }
    Ok(incident)
}

fn begun(event: &IncidentEvent, at: Timestamp) -> Result<Incident, Misplaced> {
    let IncidentEvent::IncidentStarted {
        title,
        description,
        severity,
        identifier,
        generation,
        links,
        escalation,
        escalate_at,
        by,
    } = event
    else {
        return Err(Misplaced { event: event.name() });
    };
    let escalating = |policy: &super::Escalation| Escalating { policy: policy.clone(), step: 0, due_at: *escalate_at };
    Ok(Incident {
        title: title.clone(),
        description: description.clone(),
        identifier: identifier.clone(),
        generation: *generation,
        severity: *severity,
        status: IncidentStatus::Open,
        assignee: None,
        acknowledged: None,
        links: links.clone(),
        roles: BTreeMap::new(),
        impact: String::new(),
        actions: Vec::new(),
        postmortem: None,
        snoozed: None,
        started_by: by.clone(),
        created_at: at,
        updated_at: at,
        ended_at: None,
        escalation: escalation.as_ref().map(escalating),
        remembered: BTreeMap::new(),
        version: 1,
        outbox: Outbox::default(),
        published: None,
        frame: None,
    })
}

fn moved(mut incident: Incident, event: &IncidentEvent, at: Timestamp) -> Result<Incident, Misplaced> {
    incident.version += 1;
    match event {
        IncidentEvent::IncidentStarted { .. } => return Err(Misplaced { event: event.name() }),
        IncidentEvent::SeveritySet { severity, .. } => incident.severity = *severity,
        IncidentEvent::AssigneeSet { assignee, .. } => incident.assignee = assignee.clone(),
        IncidentEvent::StatusUpdated { status, escalate_at, .. } => {
            let was_ended = incident.status.is_ended();
            incident.status = *status;
            incident.ended_at = status.is_ended().then_some(at);
            if status.is_ended() {
                incident.snoozed = None;
            }
            if was_ended {
                incident.acknowledged = None;
                escalate_anew(&mut incident, *escalate_at);
            }
        }
        IncidentEvent::Acknowledged { expires_at, by } => {
            incident.acknowledged = Some(Acknowledgement { by: by.clone(), at, expires_at: *expires_at });
            if let Some(escalating) = &mut incident.escalation {
                escalating.due_at = None;
            }
        }
        IncidentEvent::AcknowledgementExpired { escalate_at, .. } => {
            incident.acknowledged = None;
            escalate_anew(&mut incident, *escalate_at);
        }
        IncidentEvent::Escalated { step, escalate_at, .. } => {
            if let Some(escalating) = &mut incident.escalation {
                escalating.step = step + 1;
                escalating.due_at = *escalate_at;
            }
        }
        IncidentEvent::NoteAdded { .. } => {}
        IncidentEvent::Retitled { title } => incident.title.clone_from(title),
        IncidentEvent::Linked { link, .. } => incident.links.push(*link),
        IncidentEvent::RoleSet { role, person: Some(person), .. } => {
            incident.roles.insert(*role, person.clone());
        }
        IncidentEvent::RoleSet { role, person: None, .. } => {
            incident.roles.remove(role);
        }
        IncidentEvent::ImpactDescribed { text, .. } => incident.impact.clone_from(text),
        IncidentEvent::ActionAdded { number, text, owner, .. } => {
            let (number, text, owner) = (*number, text.clone(), owner.clone());
            incident.actions.push(ActionItem { number, text, owner, done_at: None });
        }
        IncidentEvent::ActionCompleted { number, .. } => set_done(&mut incident, *number, Some(at)),
        IncidentEvent::ActionReopened { number, .. } => set_done(&mut incident, *number, None),
        IncidentEvent::PostmortemWritten { by, .. } => {
            incident.postmortem = Some(PostmortemEdit { version: incident.version, at, by: by.clone() });
        }
        IncidentEvent::Snoozed { until, by } => {
            incident.snoozed = Some(Snooze { until: *until, by: by.clone(), at });
            if let Some(escalating) = &mut incident.escalation {
                escalating.due_at = None;
            }
        }
        IncidentEvent::SnoozeEnded { escalate_at, .. } => {
            incident.snoozed = None;
            escalate_anew(&mut incident, *escalate_at);
        }
        IncidentEvent::Remembered { sender, value } => {
            incident.remembered.insert(sender.clone(), value.clone());
        }
        IncidentEvent::ClockStepped { by_ms, frame } => {
            incident.frame = Some(*frame);
            let step = incident.escalation.as_mut().and_then(|escalating| escalating.due_at.as_mut());
            let expiry = incident.acknowledged.as_mut().and_then(|ack| ack.expires_at.as_mut());
            let snooze = incident.snoozed.as_mut().map(|snooze| &mut snooze.until);
            step.into_iter().chain(expiry).chain(snooze).for_each(|at| *at = at.moved(*by_ms));
        }
        IncidentEvent::Published { through } => {
            incident.outbox.publish(*through);
            incident.published = Some(Published { through: *through, at });
        }
    }
    Ok(incident)
}

fn set_done(incident: &mut Incident, number: u32, done_at: Option<Timestamp>) {
    incident.actions.iter_mut().filter(|item| item.number == number).for_each(|item| item.done_at = done_at);
}

fn escalate_anew(incident: &mut Incident, due_at: Option<Timestamp>) {
    if let Some(escalating) = &mut incident.escalation {
        escalating.step = 0;
        escalating.due_at = due_at;
    }
}
