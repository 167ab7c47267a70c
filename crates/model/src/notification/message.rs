//! A message: one thing that happened, with all that is needed to tell people of it.
//!
//! Invariant: complete in itself. Whoever sends it needs no store, also long after the event.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::id::{EntityId, JobId, Kind, RunId};
use crate::incident::{By, Card, Incident, Link, Severity, Status};
use crate::job::{Job, Notice};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The version of the event in the stream of the entity it is about.
    pub version: u64,
    pub at: Timestamp,
    /// The name of the event: `IncidentStarted`, `JobFailed`, ….
    pub event: String,
    /// What the event carries.
    pub data: Value,
    pub subject: Subject,
}

/// What the message is about, as it looked after the event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Subject {
    Incident(IncidentCard),
    Job(JobCard),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IncidentCard {
    pub id: Uuid,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    pub severity: Severity,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    pub started_by: By,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobCard {
    pub id: JobId,
    pub label: String,
    pub tool_name: String,
    pub notice: Notice,
}

impl Message {
    /// About an incident: what happened, and the card as it looked then.
    pub fn of_incident(id: Uuid, incident: &Incident, entry: &crate::outbox::Entry<Card>, event: Event) -> Message {
        let card = &entry.what;
        let subject = Subject::Incident(IncidentCard {
            id,
            title: incident.title.clone(),
            description: incident.description.clone(),
            identifier: incident.identifier.clone(),
            severity: card.severity,
            status: card.status,
            assignee: card.assignee.clone(),
            acknowledged_by: card.acknowledged_by.clone(),
            links: incident.links.clone(),
            started_by: incident.started_by.clone(),
            created_at: incident.created_at,
        });
        Message { version: entry.version, at: entry.at, event: event.name, data: event.data, subject }
    }

    pub fn of_job(job: &Job, entry: &crate::outbox::Entry<Notice>) -> Message {
        let subject = Subject::Job(JobCard {
            id: job.id,
            label: job.definition.label.clone(),
            tool_name: job.definition.tool_name.clone(),
            notice: entry.what.clone(),
        });
        let data = serde_json::to_value(&entry.what).unwrap_or_default();
        Message { version: entry.version, at: entry.at, event: entry.what.name().to_owned(), data, subject }
    }

    pub fn entity(&self) -> EntityId {
        match &self.subject {
            Subject::Incident(card) => EntityId { kind: Kind::Incident, id: card.id },
            Subject::Job(card) => card.id.into(),
        }
    }

    /// The same for every try of every sender: whoever gets it twice sees that it is one.
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.entity(), self.version, self.event)
    }

    /// The label that filters go by: the job's, or the identifier of the incident.
    pub fn label(&self) -> Option<&str> {
        match &self.subject {
            Subject::Incident(card) => card.identifier.as_deref(),
            Subject::Job(card) => Some(&card.label),
        }
    }

    pub fn run_id(&self) -> Option<RunId> {
        match &self.subject {
            Subject::Incident(_) => None,
            Subject::Job(card) => Some(card.notice.run_id()),
        }
    }

    /// Whom a step of an escalation names, if it goes through this sender.
    pub fn notify(&self, sender: &str) -> Option<&str> {
        let via = self.data.get("via").and_then(Value::as_str);
        let is_meant = self.event == "Escalated" && via.is_none_or(|name| name == sender);
        self.data.get("notify").and_then(Value::as_str).filter(|_| is_meant)
    }
}

/// The name of an event and what it carries.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: String,
    pub data: Value,
}
