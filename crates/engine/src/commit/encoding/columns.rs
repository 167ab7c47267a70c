//! What people see of jobs, runs and incidents: the cells of their rows, in the order of `View::columns`.
//!
//! Invariant: cells follow from the state, and from no more of it than what the row is written anew for.

use ordo_model::incident::{Incident, Link};
use ordo_model::job::{Cause, Job, Run, RunStatus, Timeliness, Trigger};
use ordo_model::schedule::{Gap, Rule};
use ordo_store::TableCell;
use uuid::Uuid;

/// The beginning of a reason is enough to see what it is; the whole is in the run.
const REASON_MAX_CHARS: usize = 500;

/// Follows from definition, state and beginning: most jobs have it written once in their life.
pub(crate) fn job(job: &Job) -> Vec<TableCell> {
    let definition = &job.definition;
    let (schedule, timezone, hook) = match &definition.trigger {
        Trigger::Scheduled(schedule) => match &schedule.rule {
            Rule::At { at } => (Some(at.to_string()), None, None),
            Rule::Every { every } => (Some(every.to_string()), None, None),
            Rule::Cron { expr, timezone, dst: _ } => (Some(expr.clone()), Some(timezone.as_str()), None),
        },
        Trigger::Webhook { hook } => (None, None, Some(hook.as_str())),
        Trigger::Manual => (None, None, None),
    };
    vec![
        TableCell::text(&definition.label),
        TableCell::text(job.state().name()),
        TableCell::text(definition.trigger.name()),
        schedule.as_deref().into(),
        timezone.into(),
        hook.into(),
        TableCell::text(&definition.tool_name),
        TableCell::text(&definition.group),
        TableCell::Integer(i64::from(definition.priority)),
        TableCell::Time(job.created_at),
    ]
}

pub(crate) fn run(run: &Run) -> Vec<TableCell> {
    let gap = gap(&run.status);
    vec![
        TableCell::Id(run.job_id.0),
        TableCell::text(&run.label),
        TableCell::text(run.status.name()),
        TableCell::text(cause(&run.cause)),
        run.scheduled_for.into(),
        TableCell::Time(run.fired_at),
        run.started_at.into(),
        run.finished_at.into(),
        run.lateness_ms.into(),
        TableCell::text(timeliness(run.timeliness)),
        TableCell::Integer(i64::from(run.attempt)),
        run.executor.as_deref().into(),
        run.parent_id.map(|parent| parent.0).into(),
        reason(&run.status).into(),
        gap.map(|gap| gap.to).into(),
        gap.map(|gap| i64::try_from(gap.count).unwrap_or(i64::MAX)).into(),
    ]
}

fn cause(cause: &Cause) -> &'static str {
    match cause {
        Cause::Schedule { .. } => "schedule",
        Cause::Manual => "manual",
        Cause::Backfill { .. } => "backfill",
        Cause::Retry { .. } => "retry",
        Cause::Webhook { .. } => "webhook",
        Cause::After { .. } => "after",
    }
}

fn timeliness(timeliness: Timeliness) -> &'static str {
    match timeliness {
        Timeliness::OnTime => "on_time",
        Timeliness::Late => "late",
        Timeliness::Misfire => "misfire",
    }
}

fn reason(status: &RunStatus) -> Option<&str> {
    let reason = match status {
        RunStatus::Failed { reason } | RunStatus::Cancelled { reason } => reason.as_str(),
        RunStatus::Skipped { reason, gap: _ } => reason.name(),
        RunStatus::Pending { .. } | RunStatus::Running { .. } | RunStatus::Completed { .. } => return None,
    };
    let end = reason.char_indices().nth(REASON_MAX_CHARS).map_or(reason.len(), |(end, _)| end);
    Some(&reason[..end])
}

fn gap(status: &RunStatus) -> Option<&Gap> {
    match status {
        RunStatus::Skipped { gap, reason: _ } => gap.as_ref(),
        RunStatus::Pending { .. }
        | RunStatus::Running { .. }
        | RunStatus::Completed { .. }
        | RunStatus::Failed { .. }
        | RunStatus::Cancelled { .. } => None,
    }
}

pub(crate) fn incident(incident: &Incident) -> Vec<TableCell> {
    vec![
        TableCell::text(&incident.title),
        TableCell::text(incident.severity.name()),
        TableCell::text(incident.status.name()),
        incident.assignee.as_deref().into(),
        incident.identifier.as_deref().into(),
        linked_job(incident).into(),
        TableCell::text(&incident.started_by.actor),
        TableCell::text(incident.started_by.source.name()),
        TableCell::Time(incident.created_at),
        TableCell::Time(incident.updated_at),
        incident.acknowledged.as_ref().map(|acknowledged| acknowledged.at).into(),
        incident.ended_at.into(),
    ]
}

fn linked_job(incident: &Incident) -> Option<Uuid> {
    incident.links.iter().find_map(|link| match link {
        Link::Job { id } => Some(id.0),
        Link::Run { .. } => None,
    })
}
