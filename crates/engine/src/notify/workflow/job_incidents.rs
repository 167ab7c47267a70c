//! What a job's news mean for its incident.

use ordo_model::EntityId;
use ordo_model::incident::{By, IncidentSource, Link, StartIncident};
use ordo_model::job::{IncidentPolicy, Job, Notice, Reaction};
use ordo_model::limits::ACTOR_MAX_BYTES;
use ordo_model::outbox::OutboxEntry;
use ordo_model::text::{shortened, visible};
use ordo_store::Fault;

use super::trouble;
use crate::engine::Engine;

pub(super) async fn notify(engine: &Engine, job: &Job, entry: &OutboxEntry<Notice>) -> Result<(), Fault> {
    match &entry.what {
        Notice::Failed { reason, failures_in_row, .. } => {
            let Some(policy) = policy(job.definition.on_failure.as_ref()) else { return Ok(()) };
            let what = format!("failed {}", trouble::times(*failures_in_row, policy.after));
            trouble(engine, job, entry, policy, *failures_in_row, (&what, reason)).await
        }
        notice if notice.is_missed() => {
            let Some(policy) = policy(job.definition.on_missed.as_ref()) else { return Ok(()) };
            let count = job.history.missed_in_row.max(1);
            trouble(engine, job, entry, policy, count, ("did not run when it should have", &missed(notice))).await
        }
        Notice::Recovered { .. } => recovered(engine, job, entry).await,
        Notice::Late { .. } | Notice::Skipped { .. } | Notice::Overran { .. } | Notice::Ended { .. } => Ok(()),
    }
}

fn policy(reaction: Option<&Reaction>) -> Option<&IncidentPolicy> {
    reaction.map(|reaction| &reaction.incident)
}

fn missed(notice: &Notice) -> String {
    match notice {
        Notice::Late { due_at, .. } => format!("it was due at {due_at} and was fired late"),
        Notice::Skipped { reason, gap: Some(gap), .. } => {
            let noun = if gap.count == 1 { "occurrence" } else { "occurrences" };
            format!("{} {noun} from {} to {} ({})", gap.count, gap.from, gap.to, reason.name())
        }
        Notice::Skipped { reason, gap: None, .. } => reason.name().to_owned(),
        Notice::Failed { .. } | Notice::Recovered { .. } | Notice::Overran { .. } | Notice::Ended { .. } => {
            String::new()
        }
    }
}

/// The name under which a job opens its incidents.
fn identifier(job: &Job) -> String {
    format!("job:{}", job.id)
}

/// Labels of jobs from before may hold what names no longer do.
fn by(job: &Job) -> By {
    By::new(shortened(&visible(&job.definition.label), ACTOR_MAX_BYTES), IncidentSource::Job)
}

fn key(job: &Job, entry: &OutboxEntry<Notice>) -> String {
    format!("{}/{}/{}", EntityId::from(job.id), entry.version, entry.what.name())
}

async fn trouble(
    engine: &Engine,
    job: &Job,
    entry: &OutboxEntry<Notice>,
    policy: &IncidentPolicy,
    count: u32,
    (what, why): (&str, &str),
) -> Result<(), Fault> {
    if count < policy.after {
        return Ok(());
    }
    let (label, run_id) = (&job.definition.label, entry.what.run_id());
    let start = StartIncident {
        title: format!("{label} {what}"),
        description: format!("Job {} ({label}), run {run_id}: {why}", job.id),
        severity: policy.severity,
        identifier: Some(identifier(job)),
        generation: 0,
        links: vec![Link::Job { id: job.id }, Link::Run { id: run_id }],
        escalation: engine.escalation(policy.escalation.as_deref()).await?,
        by: by(job),
    };
    let note = trouble::is_noted(count - policy.after).then(|| format!("{label} {what} (run {run_id}): {why}"));
    trouble::open(engine, start, note, &key(job, entry)).await
}

async fn recovered(engine: &Engine, job: &Job, entry: &OutboxEntry<Notice>) -> Result<(), Fault> {
    let reactions = [job.definition.on_failure.as_ref(), job.definition.on_missed.as_ref()];
    let policies: Vec<&IncidentPolicy> = reactions.into_iter().filter_map(policy).collect();
    if policies.is_empty() {
        return Ok(());
    }
    let resolves = policies.iter().any(|policy| policy.resolve_on_recovery);
    let text = format!("{} completed again (run {})", job.definition.label, entry.what.run_id());
    trouble::end(engine, &identifier(job), (text, by(job)), resolves, &key(job, entry)).await
}
