//! What happened to an incident: its timeline, and a few lines of bookkeeping.
//!
//! Invariant: an event carries all that `apply` needs, also when the next step of an escalation is due.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::escalation::Escalation;
use super::words::{By, IncidentRole, IncidentStatus, Link, Severity};
use crate::moment::ClockFrame;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum IncidentEvent {
    IncidentStarted {
        title: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
        severity: Severity,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identifier: Option<String>,
        /// The how manieth incident of its identifier; 0 without one.
        #[serde(default)]
        generation: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        links: Vec<Link>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalation: Option<Escalation>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalate_at: Option<Timestamp>,
        by: By,
    },
    SeveritySet {
        severity: Severity,
        by: By,
    },
    AssigneeSet {
        assignee: Option<String>,
        by: By,
    },
    StatusUpdated {
        status: IncidentStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Set when it was opened again and escalates anew.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalate_at: Option<Timestamp>,
        by: By,
    },
    Acknowledged {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        by: By,
    },
    /// Nobody brought it to an end in time after it had been acknowledged.
    AcknowledgementExpired {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalate_at: Option<Timestamp>,
        by: By,
    },
    NoteAdded {
        text: String,
        by: By,
    },
    /// Its title says more than before; the note that comes with it says why.
    Retitled {
        title: String,
    },
    Linked {
        link: Link,
        by: By,
    },
    RoleSet {
        role: IncidentRole,
        person: Option<String>,
        by: By,
    },
    /// Who is affected, and how.
    ImpactDescribed {
        text: String,
        by: By,
    },
    ActionAdded {
        number: u32,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        by: By,
    },
    ActionCompleted {
        number: u32,
        by: By,
    },
    ActionReopened {
        number: u32,
        by: By,
    },
    /// The written part of the postmortem, in Markdown. The state names the event and does not repeat the text.
    PostmortemWritten {
        text: String,
        by: By,
    },
    /// Nothing escalates until then, and nobody hears of repetitions.
    Snoozed {
        until: Timestamp,
        by: By,
    },
    SnoozeEnded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalate_at: Option<Timestamp>,
        by: By,
    },
    /// Somebody is to be notified, because nobody reacted.
    Escalated {
        step: u32,
        notify: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        via: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        escalate_at: Option<Timestamp>,
        by: By,
    },
    /// A sender keeps something in mind: where its card of this incident stands.
    Remembered {
        sender: String,
        value: Value,
    },
    /// The wall clock was set: what is waited for moves with it.
    ClockStepped {
        by_ms: i64,
        frame: ClockFrame,
    },
    /// What happened up to this version was handed on to the senders.
    Published {
        through: u64,
    },
}

impl IncidentEvent {
    pub const fn name(&self) -> &'static str {
        match self {
            IncidentEvent::IncidentStarted { .. } => "IncidentStarted",
            IncidentEvent::SeveritySet { .. } => "SeveritySet",
            IncidentEvent::AssigneeSet { .. } => "AssigneeSet",
            IncidentEvent::StatusUpdated { .. } => "StatusUpdated",
            IncidentEvent::Acknowledged { .. } => "Acknowledged",
            IncidentEvent::AcknowledgementExpired { .. } => "AcknowledgementExpired",
            IncidentEvent::NoteAdded { .. } => "NoteAdded",
            IncidentEvent::Retitled { .. } => "Retitled",
            IncidentEvent::Linked { .. } => "Linked",
            IncidentEvent::Escalated { .. } => "Escalated",
            IncidentEvent::RoleSet { .. } => "RoleSet",
            IncidentEvent::ImpactDescribed { .. } => "ImpactDescribed",
            IncidentEvent::ActionAdded { .. } => "ActionAdded",
            IncidentEvent::ActionCompleted { .. } => "ActionCompleted",
            IncidentEvent::ActionReopened { .. } => "ActionReopened",
            IncidentEvent::PostmortemWritten { .. } => "PostmortemWritten",
            IncidentEvent::Snoozed { .. } => "Snoozed",
            IncidentEvent::SnoozeEnded { .. } => "SnoozeEnded",
            IncidentEvent::Remembered { .. } => "Remembered",
            IncidentEvent::ClockStepped { .. } => "ClockStepped",
            IncidentEvent::Published { .. } => "Published",
        }
    }

    /// Who did it. None: bookkeeping, which does not appear in a timeline.
    pub const fn by(&self) -> Option<&By> {
        match self {
            IncidentEvent::IncidentStarted { by, .. }
            | IncidentEvent::SeveritySet { by, .. }
            | IncidentEvent::AssigneeSet { by, .. }
            | IncidentEvent::StatusUpdated { by, .. }
            | IncidentEvent::Acknowledged { by, .. }
            | IncidentEvent::AcknowledgementExpired { by, .. }
            | IncidentEvent::NoteAdded { by, .. }
            | IncidentEvent::Linked { by, .. }
            | IncidentEvent::RoleSet { by, .. }
            | IncidentEvent::ImpactDescribed { by, .. }
            | IncidentEvent::ActionAdded { by, .. }
            | IncidentEvent::ActionCompleted { by, .. }
            | IncidentEvent::ActionReopened { by, .. }
            | IncidentEvent::PostmortemWritten { by, .. }
            | IncidentEvent::Snoozed { by, .. }
            | IncidentEvent::SnoozeEnded { by, .. }
            | IncidentEvent::Escalated { by, .. } => Some(by),
            IncidentEvent::Retitled { .. }
            | IncidentEvent::Remembered { .. }
            | IncidentEvent::ClockStepped { .. }
            | IncidentEvent::Published { .. } => None,
        }
    }

    /// Whether people are to hear of it. What follows up on an incident, its action items and its postmortem, is read
    /// where it is written.
    pub const fn is_news(&self) -> bool {
        match self {
            IncidentEvent::IncidentStarted { .. }
            | IncidentEvent::SeveritySet { .. }
            | IncidentEvent::AssigneeSet { .. }
            | IncidentEvent::StatusUpdated { .. }
            | IncidentEvent::Acknowledged { .. }
            | IncidentEvent::AcknowledgementExpired { .. }
            | IncidentEvent::NoteAdded { .. }
            | IncidentEvent::Linked { .. }
            | IncidentEvent::RoleSet { .. }
            | IncidentEvent::ImpactDescribed { .. }
            | IncidentEvent::Snoozed { .. }
            | IncidentEvent::SnoozeEnded { .. }
            | IncidentEvent::Escalated { .. } => true,
            IncidentEvent::ActionAdded { .. }
            | IncidentEvent::ActionCompleted { .. }
            | IncidentEvent::ActionReopened { .. }
            | IncidentEvent::PostmortemWritten { .. }
            | IncidentEvent::Retitled { .. }
            | IncidentEvent::Remembered { .. }
            | IncidentEvent::ClockStepped { .. }
            | IncidentEvent::Published { .. } => false,
        }
    }
}
