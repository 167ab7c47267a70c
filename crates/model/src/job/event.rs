//! What happened to a job. Past tense; may not be refused.
//!
//! Invariant: an event carries all that `apply` needs, also the next occurrence. Folding a stream computes no
//! schedule, so an old stream reads the same under every later version of the schedule rules.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::after::UpstreamEnd;
use super::definition::Definition;
use super::verdict::Verdict;
use crate::id::{FencingToken, Incarnation, RunId};
use crate::moment::ClockFrame;
use crate::schedule::{Gap, Occurrence};
use crate::text::is_default;
use crate::time::Timestamp;
use crate::trace::TraceParent;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    JobScheduled {
        #[serde(with = "super::definition::packed")]
        definition: Arc<Definition>,
        #[serde(default, skip_serializing_if = "is_default")]
        held: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Occurrence>,
    },
    JobUpdated {
        #[serde(with = "super::definition::packed")]
        definition: Arc<Definition>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Occurrence>,
    },
    JobPaused {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    JobResumed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Occurrence>,
    },
    JobCancelled {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A run came to be. For an occurrence there is exactly one of these.
    JobTriggered {
        run_id: RunId,
        cause: Cause,
        #[serde(default, skip_serializing_if = "Timeliness::is_on_time")]
        timeliness: Timeliness,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_input: Option<Value>,
        /// The trace of whoever asked for the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceparent: Option<TraceParent>,
        #[serde(default, skip_serializing_if = "Verdict::is_unsaid")]
        verdict: Verdict,
    },
    /// An attempt was given to an executor, which may begin it once this is durable.
    JobStarted {
        run_id: RunId,
        attempt: u32,
        token: FencingToken,
        executor: Incarnation,
        /// Without a report by then the attempt is settled without one.
        deadline: Timestamp,
        /// The concurrency key that it holds to its end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        concurrency_key: Option<String>,
    },
    JobExecuted {
        run_id: RunId,
        attempt: u32,
        started_at: Timestamp,
        result: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_bytes: Option<u64>,
        #[serde(default, skip_serializing_if = "Verdict::is_unsaid")]
        verdict: Verdict,
    },
    /// An attempt failed; the run too, unless `retry_at` says when it is tried again.
    JobFailed {
        run_id: RunId,
        attempt: u32,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Verdict::is_unsaid")]
        verdict: Verdict,
    },
    /// Occurrences, or a trigger, that led to no execution.
    JobSkipped {
        run_id: RunId,
        reason: SkipReason,
        cause: Cause,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gap: Option<Gap>,
        #[serde(default, skip_serializing_if = "Verdict::is_unsaid")]
        verdict: Verdict,
    },
    /// A failed run has waited long enough.
    RunReady {
        run_id: RunId,
    },
    RunCancelRequested {
        run_id: RunId,
        reason: String,
    },
    RunCancelled {
        run_id: RunId,
        reason: String,
    },
    /// The executor gave the attempt back without having begun it; the run waits until then.
    RunReturned {
        run_id: RunId,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        until: Timestamp,
    },
    /// The run found no executor in the time it was given.
    RunExpired {
        run_id: RunId,
    },
    /// The run becomes so many runs, one for each executor; they follow.
    RunBroadcast {
        run_id: RunId,
        total: u32,
    },
    /// One share of a broadcast, meant for this executor.
    ShardTriggered {
        run_id: RunId,
        parent: RunId,
        index: u32,
        executor: Incarnation,
    },
    /// The executor that had the attempt is gone; it is settled at `settle_at`.
    RunOrphaned {
        run_id: RunId,
        settle_at: Timestamp,
    },
    /// The server was away while the executor went on: the attempt has its whole time again.
    AttemptExtended {
        run_id: RunId,
        deadline: Timestamp,
    },
    /// The wall clock was set: what is measured in elapsed time moves with it.
    ClockStepped {
        by_ms: i64,
        frame: ClockFrame,
        /// How far the clock is behind the beat of an `every` schedule by now.
        #[serde(default, skip_serializing_if = "is_default")]
        set_back_ms: u64,
        /// Where the beat goes on; none: where it would have gone on anyway.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Occurrence>,
    },
    BackfillRequested {
        from: Timestamp,
        to: Timestamp,
        next: Occurrence,
    },
    /// The finished runs that began before version `below` were forgotten, and the events before it became a checkpoint.
    HistoryTrimmed {
        /// How many times the history has been trimmed, with this one.
        #[serde(default, skip_serializing_if = "is_default")]
        trims: u64,
        runs: u32,
        below: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oldest: Option<Timestamp>,
    },
    /// Another job runs after this one.
    JobFollowed {},
    /// A job that this one comes after has ended; others are still waited for.
    UpstreamEnded {
        end: UpstreamEnd,
    },
    /// What stood in the outbox up to this version was handed on.
    Published {
        through: u64,
    },
}

impl Event {
    /// The name under which a checkpoint stands in a stream; its data is the folded job.
    pub const CHECKPOINT: &'static str = "Checkpoint";

    pub const fn name(&self) -> &'static str {
        match self {
            Event::JobScheduled { .. } => "JobScheduled",
            Event::JobUpdated { .. } => "JobUpdated",
            Event::JobPaused { .. } => "JobPaused",
            Event::JobResumed { .. } => "JobResumed",
            Event::JobCancelled { .. } => "JobCancelled",
            Event::JobTriggered { .. } => "JobTriggered",
            Event::JobStarted { .. } => "JobStarted",
            Event::JobExecuted { .. } => "JobExecuted",
            Event::JobFailed { .. } => "JobFailed",
            Event::JobSkipped { .. } => "JobSkipped",
            Event::RunReady { .. } => "RunReady",
            Event::RunCancelRequested { .. } => "RunCancelRequested",
            Event::RunCancelled { .. } => "RunCancelled",
            Event::RunReturned { .. } => "RunReturned",
            Event::RunExpired { .. } => "RunExpired",
            Event::RunBroadcast { .. } => "RunBroadcast",
            Event::ShardTriggered { .. } => "ShardTriggered",
            Event::RunOrphaned { .. } => "RunOrphaned",
            Event::AttemptExtended { .. } => "AttemptExtended",
            Event::ClockStepped { .. } => "ClockStepped",
            Event::BackfillRequested { .. } => "BackfillRequested",
            Event::HistoryTrimmed { .. } => "HistoryTrimmed",
            Event::JobFollowed {} => "JobFollowed",
            Event::UpstreamEnded { .. } => "UpstreamEnded",
            Event::Published { .. } => "Published",
        }
    }
}

/// Why a run exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Cause {
    /// Its schedule; `next` is the occurrence after it.
    Schedule {
        occurrence: Occurrence,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Occurrence>,
    },
    Manual,
    Backfill {
        occurrence: Occurrence,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Occurrence>,
    },
    /// A person asked for a finished run to be run again. One of a delivery gets its payload again.
    Retry {
        of: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivery: Option<Uuid>,
    },
    /// Somebody called the job's hook.
    Webhook {
        delivery: Uuid,
        /// 0: the delivery itself; otherwise which of its replays.
        #[serde(default, skip_serializing_if = "is_default")]
        replay: u32,
    },
    /// Jobs that this one comes after have ended, this run last.
    After {
        of: RunId,
        /// Which link of a chain it is, from 1.
        depth: u32,
    },
}

impl Cause {
    pub const fn occurrence(&self) -> Option<Occurrence> {
        match self {
            Cause::Schedule { occurrence, .. } | Cause::Backfill { occurrence, .. } => Some(*occurrence),
            Cause::Manual | Cause::Retry { .. } | Cause::Webhook { .. } | Cause::After { .. } => None,
        }
    }

    /// The delivery whose payload the run gets.
    pub const fn delivery(&self) -> Option<Uuid> {
        match self {
            Cause::Webhook { delivery, .. } => Some(*delivery),
            Cause::Retry { delivery, .. } => *delivery,
            Cause::Schedule { .. } | Cause::Backfill { .. } | Cause::Manual | Cause::After { .. } => None,
        }
    }

    /// Whether somebody asked for this one run, and not a schedule or a backfill.
    pub const fn is_asked_for(&self) -> bool {
        match self {
            Cause::Manual | Cause::Retry { .. } | Cause::Webhook { .. } | Cause::After { .. } => true,
            Cause::Schedule { .. } | Cause::Backfill { .. } => false,
        }
    }
}

/// How a fired occurrence stood against its due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Timeliness {
    #[default]
    OnTime,
    /// Late by more than MISFIRE_WINDOW.
    Late,
    /// Late by more than MISFIRE_AFTER, fired by the misfire policy.
    Misfire,
}

impl Timeliness {
    pub fn is_on_time(&self) -> bool {
        *self == Timeliness::OnTime
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Later than MISFIRE_AFTER, and the misfire policy said no.
    Misfire,
    /// More occurrences were due at once than one wake may fire.
    CatchUpLimit,
    /// The job was paused.
    Paused,
    /// An earlier run was not over (block strategy discard).
    Overlap,
    /// Too many runs were waiting already (block strategy serial or concurrent).
    QueueFull,
    /// The job's trigger was changed before it came to them.
    Changed,
    /// The job was held: it had not been released yet.
    Held,
    /// No executor could take the run in the time it was given.
    Expired,
}

impl SkipReason {
    pub const ALL: [SkipReason; 8] = [
        SkipReason::Misfire,
        SkipReason::CatchUpLimit,
        SkipReason::Paused,
        SkipReason::Overlap,
        SkipReason::QueueFull,
        SkipReason::Changed,
        SkipReason::Held,
        SkipReason::Expired,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            SkipReason::Misfire => "misfire",
            SkipReason::CatchUpLimit => "catch_up_limit",
            SkipReason::Paused => "paused",
            SkipReason::Overlap => "overlap",
            SkipReason::QueueFull => "queue_full",
            SkipReason::Changed => "changed",
            SkipReason::Held => "held",
            SkipReason::Expired => "expired",
        }
    }
}
