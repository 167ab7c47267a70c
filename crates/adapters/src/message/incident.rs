//! What happened to an incident, in words: one line of its timeline each.

use ordo_model::incident::{By, IncidentEvent, IncidentRole, IncidentStatus, Link};
use ordo_model::notification::IncidentSubject;

use super::{Mood, Phrase, Topic, Words};

pub(super) fn words(incident: &IncidentSubject, event: &IncidentEvent) -> Words {
    let (happening, quote, mood) = happening(incident, event);
    Words { topic: Topic::Incident(incident.title.clone()), happening, quote, facts: facts(incident), mood }
}

fn happening(incident: &IncidentSubject, event: &IncidentEvent) -> (Phrase, Option<String>, Mood) {
    match event {
        IncidentEvent::IncidentStarted { description, severity, by, .. } => {
            let started = who(by).then(format!(" started an incident, {severity}"));
            (started, Some(description.clone()).filter(|text| !text.is_empty()), Mood::Bad)
        }
        IncidentEvent::SeveritySet { severity, by } => {
            (who(by).then(format!(" set the severity to {severity}")), None, Mood::Worrying)
        }
        IncidentEvent::AssigneeSet { assignee, by } => (assigned(by, assignee.as_deref()), None, Mood::Neutral),
        IncidentEvent::StatusUpdated { status, message, by, .. } => {
            (who(by).then(format!(" {}", moved(*status))), message.clone(), mood(*status))
        }
        IncidentEvent::Acknowledged { by, .. } => (who(by).then(" acknowledged it"), None, Mood::Neutral),
        IncidentEvent::AcknowledgementExpired { .. } => {
            (Phrase::text("it was acknowledged, but has not ended in time"), None, Mood::Bad)
        }
        IncidentEvent::NoteAdded { text, by } => (who(by).then(" added a note"), Some(text.clone()), Mood::Neutral),
        IncidentEvent::Linked { link, by } => (who(by).then(format!(" linked {}", named(*link))), None, Mood::Neutral),
        IncidentEvent::Escalated { step, notify, .. } => {
            let call = Phrase::text(format!("nobody acknowledged it, step {} of the escalation calls ", step + 1));
            (call.then_person(notify), None, Mood::Bad)
        }
        IncidentEvent::RoleSet { role, person, by } => (given(by, *role, person.as_deref()), None, Mood::Neutral),
        IncidentEvent::ImpactDescribed { text, by } => {
            (who(by).then(" described the impact"), Some(text.clone()).filter(|text| !text.is_empty()), Mood::Worrying)
        }
        IncidentEvent::Snoozed { until, by } => {
            (who(by).then(format!(" snoozed it until {until}")), None, Mood::Neutral)
        }
        IncidentEvent::SnoozeEnded { .. } => (Phrase::text("the snooze is over"), None, Mood::Worrying),
        IncidentEvent::ActionAdded { text, by, .. } => {
            (who(by).then(" added an action item"), Some(text.clone()), Mood::Neutral)
        }
        IncidentEvent::ActionCompleted { number, by } => {
            (who(by).then(format!(" completed action item {number}")), None, Mood::Good)
        }
        IncidentEvent::ActionReopened { number, by } => {
            (who(by).then(format!(" reopened action item {number}")), None, Mood::Neutral)
        }
        IncidentEvent::PostmortemWritten { by, .. } => (who(by).then(" wrote the postmortem"), None, Mood::Neutral),
        IncidentEvent::Retitled { .. }
        | IncidentEvent::Remembered { .. }
        | IncidentEvent::ClockStepped { .. }
        | IncidentEvent::Published { .. } => {
            (Phrase::text(format!("it is {}", incident.card.status)), None, Mood::Neutral)
        }
    }
}

fn who(by: &By) -> Phrase {
    match &by.on_behalf_of {
        None => Phrase::person(&by.actor),
        Some(whom) => Phrase::person(&by.actor).then(" for ").then_person(whom),
    }
}

fn assigned(by: &By, assignee: Option<&str>) -> Phrase {
    match assignee {
        Some(name) if name == by.person() => who(by).then(" took it"),
        Some(name) => who(by).then(" assigned it to ").then_person(name),
        None => who(by).then(" left it without an assignee"),
    }
}

fn given(by: &By, role: IncidentRole, person: Option<&str>) -> Phrase {
    match person {
        Some(name) if name == by.person() => who(by).then(format!(" took the role {role}")),
        Some(name) => who(by).then(format!(" gave the role {role} to ")).then_person(name),
        None => who(by).then(format!(" left the role {role} empty")),
    }
}

fn moved(status: IncidentStatus) -> &'static str {
    match status {
        IncidentStatus::Open => "opened it again",
        IncidentStatus::Mitigating => "is mitigating it",
        IncidentStatus::Resolved => "resolved it",
        IncidentStatus::Declined => "declined it",
    }
}

const fn mood(status: IncidentStatus) -> Mood {
    match status {
        IncidentStatus::Open => Mood::Bad,
        IncidentStatus::Mitigating => Mood::Worrying,
        IncidentStatus::Resolved | IncidentStatus::Declined => Mood::Good,
    }
}

fn named(link: Link) -> String {
    match link {
        Link::Job { id } => format!("job {id}"),
        Link::Run { id } => format!("run {id}"),
    }
}

fn facts(incident: &IncidentSubject) -> Vec<(&'static str, String)> {
    let card = &incident.card;
    let mut facts = vec![("Status", card.status.to_string()), ("Severity", card.severity.to_string())];
    facts.extend(card.assignee.clone().map(|name| ("Assignee", name)));
    facts.extend(card.acknowledged_by.clone().map(|name| ("Acknowledged by", name)));
    facts.push(("Incident", incident.id.to_string()));
    facts
}
