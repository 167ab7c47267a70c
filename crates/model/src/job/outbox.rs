//! What people outside may want to hear of a job: it failed for good, recovered, was late, was skipped, runs too long.
//!
//! Invariant: follows from the events alone. A job that completes in time puts nothing here: it costs no byte and no
//! commit more.

use serde::{Deserialize, Serialize};

use super::event::{Cause, Event, SkipReason, Timeliness};
use super::state::{Job, Stage};
use super::verdict::Verdict;
use crate::id::RunId;
use crate::schedule::Gap;
use crate::text::is_default;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// A run failed, and is not tried again by itself.
    Failed { run_id: RunId, reason: String, failures_in_row: u32 },
    /// A run completed after failures or missed occurrences.
    Recovered {
        run_id: RunId,
        failures: u32,
        #[serde(default, skip_serializing_if = "is_default")]
        missed: u32,
    },
    /// A run was fired more than MISFIRE_WINDOW after it was due.
    Late { run_id: RunId, due_at: Timestamp, timeliness: Timeliness },
    /// Occurrences, or a trigger, led to no execution, and nobody had asked for that.
    Skipped {
        run_id: RunId,
        reason: SkipReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gap: Option<Gap>,
    },
    /// The next occurrence came while this run was still running.
    Overran { run_id: RunId, started_at: Timestamp },
    /// A run of a job that others follow came to its end.
    Ended { run_id: RunId, status: String },
}

impl Notice {
    /// How a message about it is called.
    pub const fn name(&self) -> &'static str {
        match self {
            Notice::Failed { .. } => "JobFailed",
            Notice::Recovered { .. } => "JobRecovered",
            Notice::Late { .. } => "JobLate",
            Notice::Skipped { .. } => "JobSkipped",
            Notice::Overran { .. } => "JobOverran",
            Notice::Ended { .. } => "JobEnded",
        }
    }

    pub const fn run_id(&self) -> RunId {
        match self {
            Notice::Failed { run_id, .. }
            | Notice::Recovered { run_id, .. }
            | Notice::Late { run_id, .. }
            | Notice::Skipped { run_id, .. }
            | Notice::Overran { run_id, .. }
            | Notice::Ended { run_id, .. } => *run_id,
        }
    }

    /// Whether it announces an occurrence that did not happen when it should have.
    pub const fn is_missed(&self) -> bool {
        match self {
            Notice::Late { timeliness, .. } => matches!(timeliness, Timeliness::Misfire),
            Notice::Skipped { reason, .. } => match reason {
                SkipReason::Misfire | SkipReason::CatchUpLimit | SkipReason::QueueFull => true,
                SkipReason::Expired => true,
                SkipReason::Paused | SkipReason::Held | SkipReason::Overlap | SkipReason::Changed => false,
            },
            Notice::Failed { .. } | Notice::Recovered { .. } | Notice::Overran { .. } | Notice::Ended { .. } => false,
        }
    }
}

/// Puts the notices that the event calls for into the outbox. The job is as it was before the event, but counts it.
pub(super) fn note(job: &mut Job, event: &Event, at: Timestamp) {
    match event {
        // A shard is not announced: its whole run is.
        Event::JobFailed { run_id, .. } | Event::JobExecuted { run_id, .. } | Event::RunCancelled { run_id, .. }
            if is_shard(job, *run_id) => {}
        Event::RunExpired { run_id } => {
            put(job, at, Notice::Skipped { run_id: *run_id, reason: SkipReason::Expired, gap: None });
            ended(job, at, *run_id, "skipped");
        }
        Event::JobFailed { run_id, reason, retry_at: None, .. } => {
            let failures_in_row = job.history.failures_in_row + 1;
            put(job, at, Notice::Failed { run_id: *run_id, reason: reason.clone(), failures_in_row });
            ended(job, at, *run_id, "failed");
        }
        Event::JobExecuted { run_id, .. } => {
            let (failures, missed) = (job.history.failures_in_row, job.history.missed_in_row);
            if failures > 0 || missed > 0 {
                put(job, at, Notice::Recovered { run_id: *run_id, failures, missed });
            }
            ended(job, at, *run_id, "completed");
        }
        Event::RunCancelled { run_id, .. } => ended(job, at, *run_id, "cancelled"),
        Event::JobTriggered { run_id, cause, timeliness, verdict, .. } => {
            overran(job, cause, verdict, at);
            if let (false, Some(occurrence)) = (timeliness.is_on_time(), cause.occurrence()) {
                put(job, at, Notice::Late { run_id: *run_id, due_at: occurrence.due, timeliness: *timeliness });
            }
        }
        Event::JobSkipped { run_id, reason, cause, gap, verdict } => {
            if is_overlap(*reason) {
                overran(job, cause, verdict, at);
            }
            if is_news(*reason) {
                put(job, at, Notice::Skipped { run_id: *run_id, reason: *reason, gap: *gap });
            }
            ended(job, at, *run_id, "skipped");
        }
        Event::JobFailed { retry_at: Some(_), .. }
        | Event::JobScheduled { .. }
        | Event::JobUpdated { .. }
        | Event::JobPaused { .. }
        | Event::JobResumed { .. }
        | Event::JobCancelled { .. }
        | Event::JobStarted { .. }
        | Event::RunReady { .. }
        | Event::RunCancelRequested { .. }
        | Event::RunReturned { .. }
        | Event::RunBroadcast { .. }
        | Event::ShardTriggered { .. }
        | Event::RunOrphaned { .. }
        | Event::AttemptExtended { .. }
        | Event::ClockStepped { .. }
        | Event::BackfillRequested { .. }
        | Event::HistoryTrimmed { .. }
        | Event::JobFollowed {}
        | Event::UpstreamEnded { .. }
        | Event::Published { .. } => {}
    }
}

/// Whether a run before it was still running.
const fn is_overlap(reason: SkipReason) -> bool {
    match reason {
        SkipReason::Overlap | SkipReason::QueueFull => true,
        SkipReason::Misfire | SkipReason::CatchUpLimit | SkipReason::Expired => false,
        SkipReason::Paused | SkipReason::Held | SkipReason::Changed => false,
    }
}

/// Whoever paused, held or changed the job knows.
const fn is_news(reason: SkipReason) -> bool {
    match reason {
        SkipReason::Misfire | SkipReason::CatchUpLimit | SkipReason::Expired => true,
        SkipReason::Overlap | SkipReason::QueueFull => true,
        SkipReason::Paused | SkipReason::Held | SkipReason::Changed => false,
    }
}

fn is_shard(job: &Job, run_id: RunId) -> bool {
    job.active_run(run_id).is_some_and(|run| run.shard.is_some())
}

fn put(job: &mut Job, at: Timestamp, notice: Notice) {
    if notice.is_missed() {
        job.history.missed_in_row = job.history.missed_in_row.saturating_add(1);
    }
    job.outbox.put(job.version, at, notice);
}

fn ended(job: &mut Job, at: Timestamp, run_id: RunId, status: &str) {
    if job.followed {
        put(job, at, Notice::Ended { run_id, status: status.to_owned() });
    }
}

/// Runs that should have been over are announced.
fn overran(job: &mut Job, cause: &Cause, verdict: &Verdict, at: Timestamp) {
    for run_id in verdict.overran(job, cause, at) {
        let Some(run) = job.active.iter_mut().find(|run| run.id == run_id) else { continue };
        run.overran = true;
        if let Stage::Running(attempt) = &run.stage {
            let started_at = attempt.started_at;
            put(job, at, Notice::Overran { run_id, started_at });
        }
    }
}
