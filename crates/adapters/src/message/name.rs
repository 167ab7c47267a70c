//! The types of events that senders and subscriptions go by.

use ordo_model::notification::{Message, Subject};

/// All of them, for people who choose.
pub const EVENT_TYPES: [&str; 14] = [
    "incident.started",
    "incident.severity_set",
    "incident.assignee_set",
    "incident.status_updated",
    "incident.acknowledged",
    "incident.acknowledgement_expired",
    "incident.note_added",
    "incident.linked",
    "incident.escalated",
    "job.failed",
    "job.recovered",
    "job.late",
    "job.skipped",
    "job.overran",
];

/// `IncidentStarted` → `incident.started`, `SeveritySet` → `incident.severity_set`, `JobFailed` → `job.failed`.
pub fn event_type(message: &Message) -> String {
    let kind = match &message.subject {
        Subject::Incident(_) => "incident",
        Subject::Job(_) => "job",
    };
    let mut name = String::new();
    for character in message.event.chars() {
        if character.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(character.to_ascii_lowercase());
    }
    let own = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('_')).unwrap_or(&name);
    format!("{kind}.{own}")
}
