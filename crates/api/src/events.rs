//! Events, and how they are sent one by one.

use ordo_model::{Actor, ActorSource, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// What happened to one entity. It is answered as it was written, so its data is not read on the way.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Event)]
pub struct EventView {
    pub stream: String,
    /// Its number in its stream.
    pub version: u64,
    /// Its position in the log of all events. Opaque.
    pub position: String,
    pub at: Timestamp,
    #[schema(examples("JobScheduled", "JobTriggered", "JobExecuted"))]
    pub r#type: String,
    #[schema(value_type = Object)]
    pub data: Box<RawValue>,
    pub actor: ActorView,
}

/// Who brought an event about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Actor)]
pub struct ActorView {
    /// The token, the user of Slack, the hook or the monitor; `ordo` for what Ordo does by itself, `unknown` for an
    /// event that is older than this field.
    #[schema(examples("ci", "slack:U123", "ordo"))]
    pub name: String,
    pub source: ActorSource,
    /// Whom a request said to act for. Nobody has checked that.
    #[schema(required)]
    pub on_behalf_of: Option<String>,
    /// The `x-request-id` of the request.
    #[schema(required)]
    pub request_id: Option<String>,
}

impl From<Actor> for ActorView {
    fn from(Actor { name, source, on_behalf_of, request_id }: Actor) -> ActorView {
        ActorView { name, source, on_behalf_of, request_id }
    }
}

/// One event of a stream: `text/event-stream` is described by its events.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ServerSentEvent {
    /// Where to go on: a `Last-Event-ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// JSON.
    pub data: String,
}
