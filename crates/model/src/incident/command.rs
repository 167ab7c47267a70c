//! What can be asked of an incident, and how it may be refused.

use serde_json::Value;

use super::escalation::Escalation;
use super::words::{By, IncidentRole, IncidentStatus, Link, Severity};
use crate::job::Invalid;
use crate::limits::INCIDENT_ACTIONS_MAX;
use crate::time::Timestamp;

#[derive(Debug, Clone)]
pub enum IncidentCommand {
    /// Get or create: on an incident that has not ended it changes nothing.
    Start(Box<StartIncident>),
    SetSeverity {
        severity: Severity,
        by: By,
    },
    SetAssignee {
        assignee: Option<String>,
        by: By,
    },
    UpdateStatus {
        status: IncidentStatus,
        message: Option<String>,
        by: By,
    },
    Acknowledge {
        by: By,
    },
    AddNote {
        text: String,
        by: By,
    },
    /// What it is about happened again: a note, and a title that says how often by now.
    Repeat {
        title: String,
        text: String,
        by: By,
    },
    Link {
        link: Link,
        by: By,
    },
    /// Gives a role to somebody, or takes it away.
    SetRole {
        role: IncidentRole,
        person: Option<String>,
        by: By,
    },
    /// Says who is affected, and how. An empty text takes it back.
    DescribeImpact {
        text: String,
        by: By,
    },
    AddAction {
        text: String,
        owner: Option<String>,
        by: By,
    },
    /// Marks an action item as done, or as open again.
    SetAction {
        number: u32,
        is_done: bool,
        by: By,
    },
    /// Replaces the written part of the postmortem.
    WritePostmortem {
        text: String,
        by: By,
    },
    /// Until then nothing escalates, and nobody hears of repetitions.
    Snooze {
        until: Timestamp,
        by: By,
    },
    EndSnooze {
        by: By,
    },
    /// The alarm rang: what is due of the escalation happens.
    Wake,
    Remember {
        sender: String,
        value: Value,
    },
    Published {
        through: u64,
    },
}

#[derive(Debug, Clone)]
pub struct StartIncident {
    pub title: String,
    pub description: String,
    pub severity: Severity,
    pub identifier: Option<String>,
    pub generation: u32,
    pub links: Vec<Link>,
    pub escalation: Option<Escalation>,
    pub by: By,
}

/// Why a command is not carried out. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncidentRefusal {
    #[error("there is no such incident")]
    NoSuchIncident,
    #[error("{0}")]
    Invalid(#[from] Invalid),
    #[error("the incident is {from}: it cannot become {to}, only {}", names(from.moves()))]
    NoSuchMove { from: IncidentStatus, to: IncidentStatus },
    #[error("the incident is {status}: set its status to open first")]
    Ended { status: IncidentStatus },
    #[error("the incident is linked to as many jobs and runs as it may be")]
    TooManyLinks,
    #[error("the incident has {INCIDENT_ACTIONS_MAX} action items, as many as it may have")]
    TooManyActions,
    #[error("the incident has no action item {number}")]
    NoSuchAction { number: u32 },
}

fn names(statuses: &[IncidentStatus]) -> String {
    let names: Vec<&str> = statuses.iter().map(|status| status.name()).collect();
    names.join(", ")
}
