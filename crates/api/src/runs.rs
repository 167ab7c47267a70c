//! Runs and their logs. A run is answered as the model has it.

use ordo_model::job::RunStatus;
use ordo_model::{LogStream, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CancelRun {
    /// Kept with the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One line of a run's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = LogLine)]
pub struct LogLineView {
    /// Where to go on behind it: a cursor and a `Last-Event-ID`.
    pub id: String,
    pub at: Timestamp,
    pub stream: LogStream,
    pub text: String,
    pub attempt: u32,
}

/// The last event of a log that is followed: how the run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogEnd {
    pub status: RunStatus,
}
