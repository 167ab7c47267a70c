//! Events, and how they are sent one by one.

use ordo_model::Timestamp;
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
