//! What the log says about attempts: which one began, which one ended, and how.
//!
//! Invariant: ids are fields; no input, result or reason is logged here, any of which may hold a secret. A completed
//! attempt is logged at debug only: thousands of them per second are normal.

use ordo_model::Millis;
use ordo_model::job::AttemptReport;

use crate::commit::change::StartedAttempt;

pub(crate) fn began(assignment: &StartedAttempt) {
    let StartedAttempt { job_id, run_id, label, attempt, tool_name, .. } = assignment;
    tracing::debug!(%job_id, %run_id, attempt, label, tool = tool_name, "run started");
}

pub(crate) fn ended(assignment: &StartedAttempt, took: Millis, report: &AttemptReport) {
    let StartedAttempt { job_id, run_id, label, attempt, .. } = assignment;
    let (took_ms, outcome) = (took.ms(), outcome(report));
    match report {
        AttemptReport::Completed { .. } => {
            tracing::debug!(%job_id, %run_id, attempt, label, took_ms, outcome, "run ended");
        }
        AttemptReport::Failed { .. }
        | AttemptReport::Cancelled { .. }
        | AttemptReport::Interrupted { .. }
        | AttemptReport::Nack { .. }
        | AttemptReport::Unclaimed { .. }
        | AttemptReport::Lost { .. } => {
            tracing::info!(%job_id, %run_id, attempt, label, took_ms, outcome, "run ended");
        }
    }
}

pub(crate) fn outcome(report: &AttemptReport) -> &'static str {
    match report {
        AttemptReport::Completed { .. } => "completed",
        AttemptReport::Failed { .. } => "failed",
        AttemptReport::Cancelled { .. } => "cancelled",
        AttemptReport::Interrupted { .. } => "interrupted",
        AttemptReport::Nack { .. } => "given back",
        AttemptReport::Unclaimed { .. } => "unclaimed",
        AttemptReport::Lost { .. } => "lost",
    }
}
