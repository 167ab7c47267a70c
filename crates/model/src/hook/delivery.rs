//! A delivery: one call of a hook, from its arrival until every run it brought about is over and it is forgotten.
//!
//! Invariant: its payload is kept as long as a run may still want it, or somebody may want to replay it; the delivery
//! itself is kept for DELIVERY_KEPT, which is how a second arrival is recognised.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::delivery_rules;
use crate::id::{EntityId, JobId, Kind, RunId};
use crate::limits::DELIVERY_KEPT;
use crate::object::{Misplaced, Object};
use crate::text::is_default;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub hook: String,
    /// How the sender names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    pub bytes: u64,
    /// Which chunks hold headers and payload; None: they are no longer kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Uuid>,
    pub received_at: Timestamp,
    /// The hook's filter did not let it through.
    #[serde(default, skip_serializing_if = "is_default")]
    pub filtered: bool,
    /// The jobs that listened when it came, or when it was replayed, and what became of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<Bound>,
    /// How often it was replayed.
    #[serde(default)]
    pub replays: u32,
    /// When `bound` began: the arrival, or the last replay.
    pub since: Timestamp,
    /// When to check it, as long as something is open.
    #[serde(alias = "look_at")]
    pub check_at: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    pub forgotten: bool,
}

/// A job that listens to the delivery's hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredBound")]
pub struct Bound {
    pub job: JobId,
    #[serde(flatten)]
    pub outcome: DeliveryOutcome,
}

/// What became of a delivery in one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// The job has no run of it yet.
    Waiting,
    Running {
        run: RunId,
    },
    Ended {
        run: RunId,
        /// The name of the run's last status.
        status: String,
    },
    /// The job took no run of it.
    Refused {
        reason: String,
    },
}

/// How a [`Bound`] is read: the outcome was called fate once, and a tag cannot have two names.
#[derive(Deserialize)]
struct StoredBound {
    job: JobId,
    #[serde(alias = "fate")]
    outcome: String,
    run: Option<RunId>,
    status: Option<String>,
    reason: Option<String>,
}

impl TryFrom<StoredBound> for Bound {
    type Error = String;

    fn try_from(stored: StoredBound) -> Result<Bound, String> {
        let StoredBound { job, outcome, run, status, reason } = stored;
        let outcome = match (outcome.as_str(), run, status, reason) {
            ("waiting", None, None, None) => DeliveryOutcome::Waiting,
            ("running", Some(run), None, None) => DeliveryOutcome::Running { run },
            ("ended", Some(run), Some(status), None) => DeliveryOutcome::Ended { run, status },
            ("refused", None, None, Some(reason)) => DeliveryOutcome::Refused { reason },
            (name, ..) => return Err(format!("{name:?} with these fields is no outcome of a delivery")),
        };
        Ok(Bound { job, outcome })
    }
}

/// Which of its rounds of runs a run belongs to: 0 for the arrival, then the replays.
pub type Replay = u32;

impl Delivery {
    /// The one delivery of a hook that its sender calls so.
    pub fn id(hook: &str, sender_id: &str) -> EntityId {
        // A slug holds no control character: no two pairs look the same.
        EntityId::named(Kind::Delivery, &format!("{hook}\n{sender_id}"))
    }

    pub fn is_open(&self) -> bool {
        self.bound.iter().any(|bound| bound.outcome.is_open())
    }

    pub fn has_waiting(&self) -> bool {
        self.bound.iter().any(|bound| bound.outcome == DeliveryOutcome::Waiting)
    }

    pub fn expires_at(&self) -> Timestamp {
        self.received_at.plus(DELIVERY_KEPT)
    }

    /// In one word, for people.
    pub fn status(&self) -> &'static str {
        match &self.bound[..] {
            _ if self.filtered => "filtered",
            [] => "unheard",
            _ if self.has_waiting() => "received",
            _ if self.is_open() => "running",
            bound if bound.iter().all(|bound| bound.outcome.is_done_with()) => "done",
            _ => "failed",
        }
    }
}

impl DeliveryOutcome {
    pub const fn is_open(&self) -> bool {
        match self {
            DeliveryOutcome::Waiting | DeliveryOutcome::Running { .. } => true,
            DeliveryOutcome::Ended { .. } | DeliveryOutcome::Refused { .. } => false,
        }
    }

    /// Nobody will want to replay it: it completed, or a person cancelled it.
    pub fn is_done_with(&self) -> bool {
        match self {
            DeliveryOutcome::Ended { status, .. } => status == "completed" || status == "cancelled",
            DeliveryOutcome::Waiting | DeliveryOutcome::Running { .. } | DeliveryOutcome::Refused { .. } => false,
        }
    }
}

#[derive(Debug, Clone)]
pub enum DeliveryCommand {
    Receive {
        hook: String,
        sender_id: Option<String>,
        content_type: Option<String>,
        bytes: u64,
        payload: Uuid,
        /// Whether the hook's filter lets it through.
        passes: bool,
        /// The jobs that listen now.
        jobs: Vec<JobId>,
    },
    /// Somebody checked what became of it in its jobs.
    Check { found: Vec<Bound> },
    /// Once more, for the jobs that listen now.
    Replay { jobs: Vec<JobId> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum DeliveryEvent {
    DeliveryReceived {
        hook: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_type: Option<String>,
        bytes: u64,
        /// None: the filter did not let it through, nothing of it is kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<Uuid>,
        jobs: Vec<JobId>,
    },
    /// Jobs took runs of it, or refused.
    DeliveryRouted {
        bound: Vec<Bound>,
        #[serde(alias = "look_at")]
        check_at: Timestamp,
    },
    DeliveryRunsEnded {
        bound: Vec<Bound>,
        #[serde(alias = "look_at")]
        check_at: Timestamp,
    },
    /// Nothing new.
    DeliveryLookedAfter {
        #[serde(alias = "look_at")]
        check_at: Timestamp,
    },
    PayloadForgotten {},
    DeliveryReplayed {
        jobs: Vec<JobId>,
    },
    DeliveryForgotten {},
}

impl DeliveryEvent {
    pub const fn name(&self) -> &'static str {
        match self {
            DeliveryEvent::DeliveryReceived { .. } => "DeliveryReceived",
            DeliveryEvent::DeliveryRouted { .. } => "DeliveryRouted",
            DeliveryEvent::DeliveryRunsEnded { .. } => "DeliveryRunsEnded",
            DeliveryEvent::DeliveryLookedAfter { .. } => "DeliveryLookedAfter",
            DeliveryEvent::PayloadForgotten {} => "PayloadForgotten",
            DeliveryEvent::DeliveryReplayed { .. } => "DeliveryReplayed",
            DeliveryEvent::DeliveryForgotten {} => "DeliveryForgotten",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryRefusal {
    #[error("there is no such delivery")]
    NoSuchDelivery,
    #[error("this delivery came before")]
    Duplicate,
    #[error("its runs are not over yet: wait for their end, or cancel them")]
    NotOver,
    #[error("its payload is no longer kept: all its runs were done with, or its hook's filter did not let it through")]
    PayloadGone,
}

impl Object for Delivery {
    const KIND: Kind = Kind::Delivery;
    const CHECKPOINT_EVERY: Option<u64> = Some(50);
    type Command = DeliveryCommand;
    type Event = DeliveryEvent;
    type Refusal = DeliveryRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Delivery>,
        command: DeliveryCommand,
        now: Timestamp,
    ) -> Result<Vec<DeliveryEvent>, DeliveryRefusal> {
        delivery_rules::decide(before, command, now)
    }

    fn apply(_id: Uuid, before: Option<Delivery>, event: &DeliveryEvent, at: Timestamp) -> Result<Delivery, Misplaced> {
        delivery_rules::apply(before, event, at)
    }

    fn next_turn(&self) -> Option<Timestamp> {
        Some(if self.is_open() { self.check_at } else { self.expires_at() })
    }

    fn chunk_owners(&self) -> Vec<Uuid> {
        self.payload.into_iter().collect()
    }

    fn is_over(&self) -> bool {
        self.forgotten
    }
}
