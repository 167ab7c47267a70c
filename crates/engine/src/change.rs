//! What a commit changed, as far as the engine must act on it.

use ordo_model::{EntityId, Incarnation, JobId, Millis, RunId, Timestamp, Token, TraceParent};
use serde_json::Value;
use uuid::Uuid;

/// Which pool a seat belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PoolName {
    Fast,
    Slow,
}

impl PoolName {
    pub const fn name(self) -> &'static str {
        match self {
            PoolName::Fast => "fast",
            PoolName::Slow => "slow",
        }
    }
}

/// One entity after the orders of one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub entity: EntityId,
    pub rank: u8,
    pub alarm: Option<Timestamp>,
    /// Attempts that may begin now.
    pub started: Vec<Started>,
    /// Seats that were offered and not taken.
    pub returned: Vec<PoolName>,
    /// `Start` orders that were carried out or refused.
    pub answered: Vec<RunId>,
    /// Running attempts whose end was asked for.
    pub cancel: Vec<RunId>,
    /// Runs that came to their end.
    pub ended: Vec<RunId>,
    /// Runs that could start if there were a place.
    pub waiting: Vec<Waiting>,
    /// Entities that have something to do now, without waiting for their alarm.
    pub attend: Vec<EntityId>,
    /// The orders could not be committed at all.
    pub failed: bool,
}

impl Change {
    pub fn of(entity: impl Into<EntityId>) -> Change {
        Change {
            entity: entity.into(),
            rank: 0,
            alarm: None,
            started: Vec::new(),
            returned: Vec::new(),
            answered: Vec::new(),
            cancel: Vec::new(),
            ended: Vec::new(),
            waiting: Vec::new(),
            attend: Vec::new(),
            failed: false,
        }
    }
}

/// An attempt, with all that is needed to execute it.
#[derive(Debug, Clone, PartialEq)]
pub struct Started {
    pub pool: PoolName,
    pub executor: Incarnation,
    pub job_id: JobId,
    pub run_id: RunId,
    pub label: String,
    pub attempt: u32,
    pub token: Token,
    pub scheduled_for: Option<Timestamp>,
    pub timeout: Millis,
    /// The delivery whose payload goes along.
    pub delivery: Option<Uuid>,
    pub tool_name: String,
    pub tool_input: Value,
    /// The trace of whoever asked for the run.
    pub traceparent: Option<TraceParent>,
}

/// A run that waits for a place: by rank, then by the time it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waiting {
    pub rank: u8,
    pub since: Timestamp,
    pub run_id: RunId,
    pub job_id: JobId,
}
