//! A run as people and programs see it: one firing of a job, from trigger to its end.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::{Cause, SkipReason, Timeliness};
use super::shard::ShardPosition;
use crate::id::{JobId, RunId};
use crate::schedule::Gap;
use crate::time::Timestamp;
use crate::trace::TraceParent;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Run {
    pub id: RunId,
    pub job_id: JobId,
    pub label: String,
    /// The nominal time; null when a person or a program asked for the run.
    pub scheduled_for: Option<Timestamp>,
    /// When it was due, if that is not `scheduled_for`: later by jitter, or because it was asked for after its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    pub fired_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// Start of the first attempt minus `scheduled_for` (minus the jitter, which is no lateness).
    pub lateness_ms: Option<i64>,
    pub attempt: u32,
    pub executor: Option<String>,
    pub parent_id: Option<RunId>,
    pub shard: Option<ShardPosition>,
    pub cause: Cause,
    #[serde(default, skip_serializing_if = "Timeliness::is_on_time")]
    pub timeliness: Timeliness,
    /// The input given with the trigger, where it differs from the job's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<Value>,
    /// The trace of whoever asked for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<AttemptError>,
    pub status: RunStatus,
    /// The version of the job's stream at which the run began.
    pub version: u64,
}

/// Why one attempt did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptError {
    pub attempt: u32,
    pub at: Timestamp,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RunStatus {
    Pending {
        /// When a run that failed is tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        /// What it waits for, for whoever looks; not part of what is stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting_for: Option<String>,
    },
    Running {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancelling: Option<String>,
    },
    Completed {
        result: Value,
        /// Set when the result is too large for the event: it stands in chunks beside it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_bytes: Option<u64>,
    },
    Failed {
        reason: String,
    },
    Cancelled {
        reason: String,
    },
    Skipped {
        reason: SkipReason,
        /// The occurrences this record stands for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gap: Option<Gap>,
    },
}

/// Which status it is, without what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatusKind {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
    Skipped,
}

impl RunStatusKind {
    pub const fn name(self) -> &'static str {
        RunStatus::NAMES[self.code() as usize]
    }

    const fn code(self) -> u8 {
        match self {
            RunStatusKind::Pending => 0,
            RunStatusKind::Running => 1,
            RunStatusKind::Completed => 2,
            RunStatusKind::Failed => 3,
            RunStatusKind::Cancelled => 4,
            RunStatusKind::Skipped => 5,
        }
    }
}

impl RunStatus {
    pub const NAMES: [&'static str; 6] = ["pending", "running", "completed", "failed", "cancelled", "skipped"];

    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The place of the status in NAMES; part of stored keys, so it never changes.
    pub const fn code(&self) -> u8 {
        self.kind().code()
    }

    pub const fn kind(&self) -> RunStatusKind {
        match self {
            RunStatus::Pending { .. } => RunStatusKind::Pending,
            RunStatus::Running { .. } => RunStatusKind::Running,
            RunStatus::Completed { .. } => RunStatusKind::Completed,
            RunStatus::Failed { .. } => RunStatusKind::Failed,
            RunStatus::Cancelled { .. } => RunStatusKind::Cancelled,
            RunStatus::Skipped { .. } => RunStatusKind::Skipped,
        }
    }

    pub fn code_of(name: &str) -> Option<u8> {
        Self::NAMES.iter().position(|known| *known == name).and_then(|place| u8::try_from(place).ok())
    }

    pub const fn is_terminal(&self) -> bool {
        match self {
            RunStatus::Pending { .. } | RunStatus::Running { .. } => false,
            RunStatus::Completed { .. }
            | RunStatus::Failed { .. }
            | RunStatus::Cancelled { .. }
            | RunStatus::Skipped { .. } => true,
        }
    }
}
