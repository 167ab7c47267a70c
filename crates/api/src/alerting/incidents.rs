//! Incidents: as they are started, changed and answered.

use std::collections::BTreeMap;

use ordo_model::incident::{
    Acknowledgement, ActionItem, By, Escalating, Escalation, Incident, IncidentEvent, IncidentRole, IncidentStatus,
    Link, Published, Severity, Snooze,
};
use ordo_model::{Actor, EntityId, Kind, Millis, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::events::ActorView;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewIncident {
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub severity: Severity,
    /// A name of what it is about: at most one incident of an identifier is being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// A chain of the configuration, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<String>,
    /// On whose behalf it is done. Who does it is the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

/// One change of an incident: a struct with a field for who makes it.
macro_rules! change {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$attribute])* pub $field: $type,)*
            /// On whose behalf it is done. Who does it is the token.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub actor: Option<String>,
        }
    };
}

change!(SetAssignee {
    /// Null: nobody.
    #[serde(deserialize_with = "present")]
    #[schema(required)]
    assignee: Option<String>
});
change!(SetSeverity { severity: Severity });
change!(SetStatus {
    status: IncidentStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>
});
change!(
    #[derive(Default)]
    Acknowledge {}
);
change!(AddNote { text: String });
change!(AddLink { link: Link });
change!(SetRole {
    role: IncidentRole,
    /// Null: nobody.
    #[serde(deserialize_with = "present")]
    #[schema(required)]
    person: Option<String>
});
change!(DescribeImpact {
    /// Who is affected, and how. An empty text takes it back.
    text: String
});
change!(AddAction {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>
});
change!(SetAction { done: bool });
change!(WritePostmortem {
    /// Markdown. It becomes the analysis in the exported document.
    text: String
});
change!(
    /// For a length of time, or until a moment: one of the two.
    SnoozeIncident {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        r#for: Option<Millis>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>
    }
);

/// Null is an answer; leaving it out is none.
fn present<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Incident)]
pub struct IncidentView {
    pub id: Uuid,
    pub stream: String,
    pub title: String,
    pub description: String,
    #[schema(required)]
    pub identifier: Option<String>,
    pub severity: Severity,
    #[schema(value_type = IncidentStatus)]
    pub status: IncidentStatus,
    #[schema(required)]
    pub assignee: Option<String>,
    #[schema(required)]
    pub acknowledged: Option<Acknowledgement>,
    pub links: Vec<Link>,
    /// Who takes care of what: `lead`, `communications`.
    #[schema(value_type = BTreeMap<String, String>)]
    pub roles: BTreeMap<IncidentRole, String>,
    /// Who is affected, and how.
    pub impact: String,
    pub action_items: Vec<ActionItem>,
    #[schema(required)]
    pub snoozed: Option<Snooze>,
    pub started_by: By,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[schema(required)]
    pub ended_at: Option<Timestamp>,
    /// From the start to the end; null while it lasts.
    #[schema(required)]
    pub duration_ms: Option<u64>,
    #[schema(required)]
    pub escalation: Option<EscalationView>,
    #[schema(required)]
    pub published: Option<Published>,
    pub version: u64,
    /// Only when one incident is read: the written part of the postmortem, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postmortem: Option<String>,
    /// Only when one incident is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<TimelineEntry>>,
}

/// The policy, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = IncidentEscalation)]
pub struct EscalationView {
    /// The step that comes next; the first is 0.
    pub step: u32,
    #[schema(required)]
    pub due_at: Option<Timestamp>,
    pub policy: Escalation,
}

/// One event of an incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineEntry {
    pub version: u64,
    pub at: Timestamp,
    pub r#type: String,
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
    pub actor: ActorView,
    /// When the workflow accepted it; null: not yet, or the incident had ended and nobody is notified.
    #[schema(required)]
    pub published_at: Option<Timestamp>,
}

impl IncidentView {
    pub fn of(id: Uuid, incident: &Incident) -> IncidentView {
        let escalation = |Escalating { policy, step, due_at }: &Escalating| EscalationView {
            step: *step,
            due_at: *due_at,
            policy: policy.clone(),
        };
        IncidentView {
            id,
            stream: EntityId { kind: Kind::Incident, id }.to_string(),
            title: incident.title.clone(),
            description: incident.description.clone(),
            identifier: incident.identifier.clone(),
            severity: incident.severity,
            status: incident.status,
            assignee: incident.assignee.clone(),
            acknowledged: incident.acknowledged.clone(),
            links: incident.links.clone(),
            roles: incident.roles.clone(),
            impact: incident.impact.clone(),
            action_items: incident.actions.clone(),
            snoozed: incident.snoozed.clone(),
            started_by: incident.started_by.clone(),
            created_at: incident.created_at,
            updated_at: incident.updated_at,
            ended_at: incident.ended_at,
            duration_ms: incident.ended_at.map(|at| at.since(incident.created_at).ms()),
            escalation: incident.escalation.as_ref().map(escalation),
            published: incident.published,
            version: incident.version,
            postmortem: None,
            timeline: None,
        }
    }
}

impl TimelineEntry {
    pub fn of(
        version: u64,
        at: Timestamp,
        event: &IncidentEvent,
        actor: &Actor,
        published_at: Option<Timestamp>,
    ) -> Result<TimelineEntry, serde_json::Error> {
        #[derive(Deserialize)]
        struct TaggedEvent {
            r#type: String,
            data: Map<String, Value>,
        }
        let TaggedEvent { r#type, data } = serde_json::from_value(serde_json::to_value(event)?)?;
        Ok(TimelineEntry { version, at, r#type, data, actor: actor.clone().into(), published_at })
    }
}
