//! What a commit changed, as far as the engine must act on it.

use std::cmp::Ordering;
use std::sync::Arc;

use ordo_model::job::{Pool, ShardPosition};
use ordo_model::{EntityId, FencingToken, Incarnation, JobId, Millis, RunId, Timestamp, TraceParent};
use serde_json::Value;
use uuid::Uuid;

use crate::dispatch::requirements::Requirements;

/// Where a slot was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotLocation {
    /// In a pool of this process.
    Local(Pool),
    /// In this generation of a remote executor.
    Remote(Uuid),
}

/// What runs of many jobs share, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedLimit {
    Concurrency(String),
    Rate(RateKey),
}

/// What starts are counted by. A start is remembered for as long as its window is, so that windows of another length count apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RateKey {
    pub key: String,
    pub per: Millis,
}

/// One entity after the commands of one round.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub entity: EntityId,
    pub rank: u8,
    pub alarm: Option<Timestamp>,
    /// The pool that runs the job.
    pub pool: Pool,
    /// Attempts that may begin now.
    pub assignments: Vec<StartedAttempt>,
    /// Reserved slots that were not used.
    pub returned: Vec<SlotLocation>,
    /// `Start` and `Broadcast` commands that were carried out or refused.
    pub answered: Vec<RunId>,
    /// Running attempts whose end was asked for.
    pub cancel: Vec<RunId>,
    /// Runs whose attempt came to its end.
    pub ended: Vec<RunId>,
    /// Runs that could start if there were a place.
    pub waiting: Vec<WaitingRun>,
    /// Entities that have something to do now, without waiting for their alarm.
    pub reconcile: Vec<EntityId>,
    /// What runs share and was used up, so that nothing came of the commands; and from when on there is some of it again, where
    /// time alone brings that about.
    pub exhausted: Option<(SharedLimit, Option<Timestamp>)>,
    /// Concurrency keys of which attempts that ended held a share.
    pub freed: Vec<String>,
    /// The commands could not be committed at all.
    pub failed: bool,
    /// The job keeps more runs than its retention says: history is to be trimmed.
    pub is_overfull: bool,
}

impl Change {
    pub fn of(entity: impl Into<EntityId>) -> Change {
        Change {
            entity: entity.into(),
            rank: 0,
            alarm: None,
            pool: Pool::Fast,
            assignments: Vec::new(),
            returned: Vec::new(),
            answered: Vec::new(),
            cancel: Vec::new(),
            ended: Vec::new(),
            waiting: Vec::new(),
            reconcile: Vec::new(),
            exhausted: None,
            freed: Vec::new(),
            failed: false,
            is_overfull: false,
        }
    }
}

/// An attempt, with all that is needed to execute it.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedAttempt {
    pub location: SlotLocation,
    pub executor: Incarnation,
    pub job_id: JobId,
    pub run_id: RunId,
    pub label: String,
    pub attempt: u32,
    pub token: FencingToken,
    pub scheduled_for: Option<Timestamp>,
    pub timeout: Millis,
    /// The delivery whose payload goes along.
    pub delivery: Option<Uuid>,
    pub tool_name: String,
    pub tool_input: Value,
    pub shard: Option<ShardPosition>,
    /// The trace of whoever asked for the run.
    pub traceparent: Option<TraceParent>,
}

/// A run that waits for a slot, in the order of its turn.
#[derive(Debug, Clone)]
pub struct WaitingRun {
    /// See `Job::turn_of`.
    pub turn: Timestamp,
    pub rank: u8,
    pub run_id: RunId,
    pub job_id: JobId,
    pub requirements: Arc<Requirements>,
}

impl WaitingRun {
    fn order(&self) -> (Timestamp, u8, RunId) {
        (self.turn, self.rank, self.run_id)
    }
}

impl PartialEq for WaitingRun {
    fn eq(&self, other: &WaitingRun) -> bool {
        self.order() == other.order()
    }
}

impl Eq for WaitingRun {}

impl PartialOrd for WaitingRun {
    fn partial_cmp(&self, other: &WaitingRun) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for WaitingRun {
    fn cmp(&self, other: &WaitingRun) -> Ordering {
        self.order().cmp(&other.order())
    }
}
