//! What the log says about attempts: which one began, which one ended, and how.
//!
//! Invariant: ids are fields; no input, result or reason is logged here, any of which may hold a secret. A completed
//! attempt is logged at debug only: thousands of them per second are normal.

use ordo_model::Millis;
use ordo_model::job::Report;

use crate::commit::change::Assignment;

pub(crate) fn began(assignment: &Assignment) {
    let Assignment { job_id, run_id, label, attempt, tool_name, .. } = assignment;
    tracing::debug!(%job_id, %run_id, attempt, label, tool = tool_name, "run started");
}

pub(crate) fn ended(assignment: &Assignment, took: Millis, report: &Report) {
    let Assignment { job_id, run_id, label, attempt, .. } = assignment;
    let (took_ms, outcome) = (took.ms(), outcome(report));
    match report {
        Report::Completed { .. } => tracing::debug!(%job_id, %run_id, attempt, label, took_ms, outcome, "run ended"),
        Report::Failed { .. }
        | Report::Cancelled { .. }
        | Report::Interrupted { .. }
        | Report::Nack { .. }
        | Report::Unclaimed { .. }
        | Report::Lost { .. } => {
            tracing::info!(%job_id, %run_id, attempt, label, took_ms, outcome, "run ended");
        }
    }
}

pub(crate) fn outcome(report: &Report) -> &'static str {
    match report {
        Report::Completed { .. } => "completed",
        Report::Failed { .. } => "failed",
        Report::Cancelled { .. } => "cancelled",
        Report::Interrupted { .. } => "interrupted",
        Report::Nack { .. } => "given back",
        Report::Unclaimed { .. } => "unclaimed",
        Report::Lost { .. } => "lost",
    }
}
