//! What can be asked of an incident, and how it may be refused.

use serde_json::Value;

use super::escalation::Escalation;
use super::words::{By, IncidentStatus, Link, Severity};
use crate::job::Invalid;

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
}

fn names(statuses: &[IncidentStatus]) -> String {
    let names: Vec<&str> = statuses.iter().map(|status| status.name()).collect();
    names.join(", ")
}
