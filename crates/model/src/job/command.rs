//! What can be asked of a job, and how it may be refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::after::UpstreamEnd;
use super::definition::{Definition, Invalid};
use super::run::Run;
use crate::id::{FencingToken, Incarnation, RunId};
use crate::limits::CHAIN_DEPTH_MAX;
use crate::time::{Millis, Timestamp};
use crate::trace::TraceParent;

/// A command together with a free slot to run in, if its sender has one to offer.
#[derive(Debug, Clone)]
pub struct SlottedCommand {
    pub command: Command,
    pub reservation: Option<SlotReservation>,
}

/// A slot in an executor of a group, reserved for one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotReservation {
    pub executor: Incarnation,
    pub group: String,
    /// What the executor can do; None: whatever is asked.
    pub tools: Option<Arc<BTreeSet<String>>>,
    /// What nobody else knows: the fencing token of the attempt follows from it.
    pub draw: u64,
    /// Executors elsewhere could run it too: what belongs to one of them is not begun by whoever comes first.
    pub has_others: bool,
    /// Nodes of an earlier version are there, which would not give back a concurrency key: none is written down with the attempt.
    pub is_keyless: bool,
}

impl SlotReservation {
    /// Whether a run of such a job may take the reservation.
    pub fn suits(&self, definition: &Definition) -> bool {
        let has_tool = self.tools.as_ref().is_none_or(|tools| tools.contains(&definition.tool_name));
        self.group == definition.group && has_tool
    }
}

#[derive(Debug, Clone)]
pub enum Command {
    Schedule {
        definition: Box<Definition>,
        held: bool,
    },
    /// A JSON merge patch on the definition, if the job is still at that revision, and nobody has walked over it since
    /// to see where a chain leads.
    Update {
        patch: Map<String, Value>,
        if_revision: Option<u64>,
        if_followed: Option<u64>,
    },
    Pause {
        reason: Option<String>,
    },
    Resume,
    Cancel {
        reason: Option<String>,
    },
    Trigger {
        tool_input: Option<Value>,
        /// The trace of whoever asks: the run goes on with it.
        traceparent: Option<TraceParent>,
    },
    /// The same for somebody who keeps what was asked for: refused while too many runs wait, and tried again later.
    Enqueue {
        tool_input: Option<Value>,
    },
    /// A delivery of the job's hook; `replay` counts its replays.
    Deliver {
        delivery: Uuid,
        replay: u32,
    },
    /// Runs every occurrence with a nominal time in `from..to` once more.
    Backfill {
        from: Timestamp,
        to: Timestamp,
    },
    /// The alarm rang.
    Wake,
    /// A place became free for a waiting run.
    Start {
        run_id: RunId,
    },
    /// Each of these executors gets its share of a waiting run.
    Broadcast {
        run_id: RunId,
        executors: Vec<Incarnation>,
    },
    Report {
        run_id: RunId,
        token: FencingToken,
        report: AttemptReport,
    },
    CancelRun {
        run_id: RunId,
        reason: String,
    },
    /// Runs a finished run once more, in the trace the run names.
    RetryRun {
        run: Box<Run>,
    },
    /// This generation of an executor is over: what it had is settled after a delay counted from the start of each attempt.
    Orphan {
        executor: Incarnation,
        settle_after: Millis,
    },
    /// The server was away while this executor went on: what it has gets its whole time again.
    Readopt {
        executor: Incarnation,
    },
    /// Finished runs that began before version `below` are being forgotten, `runs` of them; the oldest that stays
    /// ended at `oldest`. Refused unless the job has been trimmed `trims` times: the runs were counted then.
    Trim {
        trims: u64,
        runs: u32,
        below: u64,
        oldest: Option<Timestamp>,
    },
    /// Another job will run after this one: every end is published for it.
    Follow,
    /// The same, and whoever is about to chain this job to others looks at it again first.
    FollowAnew,
    /// A run of a job that this one comes after has ended.
    Arrive {
        end: Box<UpstreamEnd>,
    },
    /// What stood in the outbox up to this version was handed on.
    Published {
        through: u64,
    },
}

/// What an executor has to say about an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptReport {
    Completed {
        started_at: Timestamp,
        result: Value,
        result_bytes: Option<u64>,
    },
    Failed {
        started_at: Option<Timestamp>,
        reason: String,
    },
    /// Ended because its cancellation had been asked for.
    Cancelled {
        started_at: Option<Timestamp>,
    },
    /// Ended by the executor going down: what it had done by then is unknown.
    Interrupted {
        started_at: Option<Timestamp>,
    },
    /// Given back without having been begun: somebody gets it after `delay`.
    Nack {
        delay: Millis,
        reason: Option<String>,
    },
    /// Nobody fetched it: somebody else gets it at once. The run is not to blame.
    Unclaimed {
        reason: String,
    },
    /// Nobody will report any more: what it had done by then is unknown.
    Lost {
        reason: String,
    },
}

/// Why a command is not carried out. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such job")]
    NoSuchJob,
    #[error("the job exists already")]
    Exists,
    #[error("{0}")]
    Invalid(#[from] Invalid),
    #[error("the job is {state}: {advice}")]
    WrongState { state: &'static str, advice: &'static str },
    #[error("the job was changed by somebody else: it is at revision {actual}")]
    RevisionMoved { actual: u64 },
    #[error("there is no such run")]
    NoSuchRun,
    #[error("the run is over")]
    RunOver,
    #[error("the attempt is no longer the current one")]
    StaleToken,
    #[error("the job has too many backfills under way: wait for one to end")]
    TooManyBackfills,
    #[error("too many runs of the job are waiting already: try again later")]
    QueueFull,
    #[error("the history was trimmed by somebody else: look again at what is left")]
    TrimmedMeanwhile,
    #[error("the chain has more than {CHAIN_DEPTH_MAX} links behind it: it may be a ring")]
    ChainTooLong,
}
