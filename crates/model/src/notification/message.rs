//! A message: one thing that happened, with all that is needed to notify people of it.
//!
//! Invariant: complete in itself. Whoever sends it needs no store, also long after the event. What happened is the event
//! itself, never its name and some JSON; how that is written down is `form`'s affair.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::form::MessageForm;
use crate::id::{EntityId, JobId, Kind, RunId};
use crate::incident::{By, Card, Incident, IncidentEvent, IncidentSource, IncidentStatus, Link, Severity};
use crate::job::{Job, Notice};
use crate::outbox::OutboxEntry;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "MessageForm", try_from = "MessageForm")]
pub struct Message {
    /// The version of the event in the stream of the entity it is about.
    pub version: u64,
    pub at: Timestamp,
    pub subject: Subject,
}

/// What happened, and to whom.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    Incident { incident: Box<IncidentSubject>, event: Box<IncidentEvent> },
    Job { job: JobSubject, notice: Notice },
}

/// The incident as it was after the event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentSubject {
    pub id: Uuid,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    #[serde(flatten)]
    pub card: Card,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    pub started_by: By,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSubject {
    pub id: JobId,
    pub label: String,
    pub tool_name: String,
}

const TEST: &str = "Nothing is wrong: somebody wanted to see that messages arrive here.";

impl Message {
    /// About an incident: what happened, and the card as it looked then.
    pub fn of_incident(id: Uuid, incident: &Incident, entry: &OutboxEntry<Card>, event: IncidentEvent) -> Message {
        let incident = IncidentSubject {
            id,
            title: incident.title.clone(),
            description: incident.description.clone(),
            identifier: incident.identifier.clone(),
            card: entry.what.clone(),
            links: incident.links.clone(),
            started_by: incident.started_by.clone(),
            created_at: incident.created_at,
        };
        let subject = Subject::Incident { incident: Box::new(incident), event: Box::new(event) };
        Message { version: entry.version, at: entry.at, subject }
    }

    pub fn of_job(job: &Job, entry: &OutboxEntry<Notice>) -> Message {
        let definition = &job.definition;
        let job = JobSubject { id: job.id, label: definition.label.clone(), tool_name: definition.tool_name.clone() };
        Message { version: entry.version, at: entry.at, subject: Subject::Job { job, notice: entry.what.clone() } }
    }

    /// For whoever wants to see that a channel works: an incident that was none, and is over. `id`: of no incident.
    pub fn test(id: Uuid, at: Timestamp, by: By) -> Message {
        let (title, description) = ("Test of this channel".to_owned(), TEST.to_owned());
        let severity = Severity::Sev5;
        let card = Card { severity, status: IncidentStatus::Declined, assignee: None, acknowledged_by: None };
        let incident = IncidentSubject {
            id,
            title: title.clone(),
            description: description.clone(),
            identifier: None,
            card,
            links: Vec::new(),
            started_by: by.clone(),
            created_at: at,
        };
        let event = IncidentEvent::IncidentStarted {
            title,
            description,
            severity,
            identifier: None,
            generation: 0,
            links: Vec::new(),
            escalation: None,
            escalate_at: None,
            by,
        };
        let subject = Subject::Incident { incident: Box::new(incident), event: Box::new(event) };
        Message { version: 0, at, subject }
    }

    /// The name of what happened: `IncidentStarted`, `JobFailed`, ….
    pub const fn event(&self) -> &'static str {
        match &self.subject {
            Subject::Incident { event, .. } => event.name(),
            Subject::Job { notice, .. } => notice.name(),
        }
    }

    /// What the event carries, as JSON: for receivers that are programs.
    pub fn details(&self) -> Value {
        super::form::details(&self.subject)
    }

    pub fn entity(&self) -> EntityId {
        match &self.subject {
            Subject::Incident { incident, .. } => EntityId { kind: Kind::Incident, id: incident.id },
            Subject::Job { job, .. } => job.id.into(),
        }
    }

    /// The same for every try of every sender: whoever gets it twice sees that it is one.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.entity(), self.version, self.event())
    }

    /// The label that filters go by: the job's, or the identifier of the incident.
    pub fn label(&self) -> Option<&str> {
        match &self.subject {
            Subject::Incident { incident, .. } => incident.identifier.as_deref(),
            Subject::Job { job, .. } => Some(&job.label),
        }
    }

    /// The job or the monitor that it comes from, by its name; None: a person or a program started the incident.
    pub fn origin(&self) -> Option<&str> {
        match &self.subject {
            Subject::Incident { incident, .. } => match incident.started_by.source {
                IncidentSource::Job | IncidentSource::Monitor => Some(&incident.started_by.actor),
                IncidentSource::Api
                | IncidentSource::Cli
                | IncidentSource::Page
                | IncidentSource::Slack
                | IncidentSource::Escalation => None,
            },
            Subject::Job { job, .. } => Some(&job.label),
        }
    }

    pub fn run_id(&self) -> Option<RunId> {
        match &self.subject {
            Subject::Incident { .. } => None,
            Subject::Job { notice, .. } => Some(notice.run_id()),
        }
    }

    /// Whether a step of an escalation goes through this sender and no other.
    pub fn names_sender(&self, sender: &str) -> bool {
        let Subject::Incident { event, .. } = &self.subject else { return false };
        matches!(event.as_ref(), IncidentEvent::Escalated { via: Some(name), .. } if name == sender)
    }

    /// Whom a step of an escalation names, if it goes through this sender.
    pub fn notify(&self, sender: &str) -> Option<&str> {
        let Subject::Incident { event, .. } = &self.subject else { return None };
        match event.as_ref() {
            IncidentEvent::Escalated { notify, via, .. } => {
                via.as_ref().is_none_or(|name| name == sender).then_some(notify.as_str())
            }
            IncidentEvent::IncidentStarted { .. }
            | IncidentEvent::SeveritySet { .. }
            | IncidentEvent::AssigneeSet { .. }
            | IncidentEvent::StatusUpdated { .. }
            | IncidentEvent::Acknowledged { .. }
            | IncidentEvent::AcknowledgementExpired { .. }
            | IncidentEvent::NoteAdded { .. }
            | IncidentEvent::Retitled { .. }
            | IncidentEvent::Linked { .. }
            | IncidentEvent::RoleSet { .. }
            | IncidentEvent::ImpactDescribed { .. }
            | IncidentEvent::ActionAdded { .. }
            | IncidentEvent::ActionCompleted { .. }
            | IncidentEvent::ActionReopened { .. }
            | IncidentEvent::PostmortemWritten { .. }
            | IncidentEvent::Snoozed { .. }
            | IncidentEvent::SnoozeEnded { .. }
            | IncidentEvent::Remembered { .. }
            | IncidentEvent::ClockStepped { .. }
            | IncidentEvent::Published { .. } => None,
        }
    }
}
