//! An incident: a durable thing people work on, from the first sign until it is resolved or declined.
//!
//! Invariant: every change people may want to hear of is in the outbox until it was handed on, and so is the alarm.

mod apply;
mod chain;
mod command;
mod decide;
mod escalation;
mod event;
mod postmortem;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::id::{EntityId, Kind};
use crate::moment::ClockFrame;
use crate::object::{Misplaced, Object};
use crate::outbox::Outbox;
use crate::time::Timestamp;

pub use chain::{EscalationChain, EscalationChainCommand, EscalationChainEvent, EscalationChainRefusal};
pub use command::{IncidentCommand, IncidentRefusal, StartIncident};
pub use escalation::{Escalation, EscalationStep, NotAStep};
pub use event::IncidentEvent;
pub use postmortem::{POSTMORTEM_DRAFT, postmortem};
pub use words::{By, IncidentRole, IncidentSource, IncidentStatus, Link, NoSeverity, Severity};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A name of what it is about: a thread, a job. At most one incident of an identifier is being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    #[serde(default)]
    pub generation: u32,
    pub severity: Severity,
    pub status: IncidentStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Acknowledgement>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Who takes care of what.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<IncidentRole, String>,
    /// Who is affected, and how.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub impact: String,
    /// What is to be done about it, in the order in which it was written down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionItem>,
    /// Where the written part of the postmortem stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postmortem: Option<PostmortemEdit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoozed: Option<Snooze>,
    pub started_by: By,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalating>,
    /// What each sender keeps in mind about this incident.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remembered: BTreeMap<String, Value>,
    /// How many events it has had.
    pub version: u64,
    #[serde(default, skip_serializing_if = "Outbox::is_empty")]
    pub outbox: Outbox<Card>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// How the clock stood when its escalation was laid out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<ClockFrame>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acknowledgement {
    pub by: By,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Something to do, so that it does not happen again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActionItem {
    /// The first is 1.
    pub number: u32,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When it was completed; without it, it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_at: Option<Timestamp>,
}

/// The event that holds the latest text of the postmortem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostmortemEdit {
    pub version: u64,
    pub at: Timestamp,
    pub by: By,
}

/// Until when nothing escalates and repetitions are recorded without anybody hearing of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Snooze {
    pub until: Timestamp,
    pub by: By,
    pub at: Timestamp,
}

/// The policy, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalating {
    pub policy: Escalation,
    /// The step that comes next; the first is 0.
    pub step: u32,
    /// None: somebody reacted, or all steps were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

/// The incident as it was after one event: what a message about that event shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    pub severity: Severity,
    pub status: IncidentStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
}

/// Up to where, and when last, what happened was handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Published {
    pub through: u64,
    pub at: Timestamp,
}

impl Incident {
    /// The id of the how manieth incident of an identifier. Two who start the same one meet in one stream; when it
    /// has ended, the next one begins a stream of its own.
    pub fn id(identifier: &str, generation: u32) -> Uuid {
        EntityId::named(Kind::Incident, &format!("{generation}:{identifier}")).id
    }

    pub fn card(&self) -> Card {
        Card {
            severity: self.severity,
            status: self.status,
            assignee: self.assignee.clone(),
            acknowledged_by: self.acknowledged.as_ref().map(|ack| ack.by.to_string()),
        }
    }
}

impl Object for Incident {
    const KIND: Kind = Kind::Incident;
    type Command = IncidentCommand;
    type Event = IncidentEvent;
    type Refusal = IncidentRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Incident>,
        command: IncidentCommand,
        now: Timestamp,
    ) -> Result<Vec<IncidentEvent>, IncidentRefusal> {
        decide::decide(before, command, now)
    }

    fn apply(_id: Uuid, before: Option<Incident>, event: &IncidentEvent, at: Timestamp) -> Result<Incident, Misplaced> {
        apply::apply(before, event, at)
    }

    /// When the escalation, an acknowledgement that runs out, or the end of a snooze wants something done.
    fn next_turn(&self) -> Option<Timestamp> {
        if self.status.is_ended() {
            return None;
        }
        if let Some(snooze) = &self.snoozed {
            return Some(snooze.until);
        }
        let step = self.escalation.as_ref().and_then(|escalating| escalating.due_at);
        let expiry = self.acknowledged.as_ref().and_then(|ack| ack.expires_at);
        step.into_iter().chain(expiry).min()
    }

    fn outbox_since(&self) -> Option<Timestamp> {
        self.outbox.since()
    }

    fn clock(&self) -> Option<ClockFrame> {
        self.frame
    }

    fn clock_stepped(by_ms: i64, frame: ClockFrame) -> Option<IncidentEvent> {
        Some(IncidentEvent::ClockStepped { by_ms, frame })
    }

    fn is_urgent(&self) -> bool {
        !self.outbox.is_empty()
    }

    fn rank(&self) -> u8 {
        0
    }
}
