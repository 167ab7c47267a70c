//! What a job's news do to its incident: open it, add to it, resolve it.
//!
//! Invariant: each piece of news touches the incident once, however often it is handed on: both what opens an
//! incident and what adds to it carry the same key.

use ordo_model::incident::{By, Incident, IncidentCommand, Link, Source, Start, Status};
use ordo_model::job::{IncidentPolicy, Job, Notice, Reaction};
use ordo_model::outbox::Entry;
use ordo_model::{EntityId, Millis, Timestamp};
use ordo_store::{Dedup, Fault};

use super::fault_of;
use crate::engine::Engine;
use crate::object::{Along, AskError};

/// How long it is remembered that a piece of news was handed on.
const KEY_KEPT: Millis = Millis::from_days(1);
/// So many failures after the first are noted one by one; then only every doubling.
const NOTED_ONE_BY_ONE: u32 = 10;

pub(super) async fn tell(engine: &Engine, job: &Job, entry: &Entry<Notice>) -> Result<(), Fault> {
    match &entry.what {
        Notice::Failed { reason, failures_in_row, .. } => {
            let Some(policy) = policy(&job.definition.on_failure) else { return Ok(()) };
            let text = format!("failed {}: {reason}", times(*failures_in_row));
            trouble(engine, job, entry, policy, *failures_in_row, &text).await
        }
        notice if notice.is_missed() => {
            let Some(policy) = policy(&job.definition.on_missed) else { return Ok(()) };
            let count = job.history.missed_in_row.max(1);
            trouble(engine, job, entry, policy, count, &missed(notice)).await
        }
        Notice::Recovered { .. } => recovered(engine, job, entry).await,
        Notice::Late { .. } | Notice::Skipped { .. } | Notice::Overran { .. } | Notice::Ended { .. } => Ok(()),
    }
}

fn policy(reaction: &Option<Reaction>) -> Option<&IncidentPolicy> {
    reaction.as_ref().map(|reaction| &reaction.incident)
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times in a row") }
}

fn missed(notice: &Notice) -> String {
    match notice {
        Notice::Late { due_at, .. } => format!("was fired late: it was due at {due_at}"),
        Notice::Skipped { reason, gap: Some(gap), .. } => {
            format!("missed {} occurrence(s) from {} to {} ({})", gap.count, gap.from, gap.to, reason.name())
        }
        Notice::Skipped { reason, gap: None, .. } => format!("did not run ({})", reason.name()),
        Notice::Failed { .. } | Notice::Recovered { .. } | Notice::Overran { .. } | Notice::Ended { .. } => {
            "did not run".to_owned()
        }
    }
}

/// The name under which a job opens its incidents.
fn identifier(job: &Job) -> String {
    format!("job:{}", job.id)
}

fn by(job: &Job) -> By {
    By::new(job.definition.label.clone(), Source::Job)
}

async fn trouble(
    engine: &Engine,
    job: &Job,
    entry: &Entry<Notice>,
    policy: &IncidentPolicy,
    count: u32,
    what: &str,
) -> Result<(), Fault> {
    if count < policy.after {
        return Ok(());
    }
    let start = Start {
        title: format!("{} {}", job.definition.label, what.split(':').next().unwrap_or(what)),
        description: format!("Run {} of job {} {what}", entry.what.run_id(), job.id),
        severity: policy.severity,
        identifier: Some(identifier(job)),
        generation: 0,
        links: vec![Link::Job { id: job.id }, Link::Run { id: entry.what.run_id() }],
        escalation: engine.escalation(policy.escalation.as_deref()),
        by: by(job),
    };
    match engine.start_incident(start, along(job, entry, engine.clock().now())).await {
        Ok(told) if told.events.is_empty() => {
            let more = count - policy.after;
            if more <= NOTED_ONE_BY_ONE || more.is_power_of_two() {
                let text = format!("{} {what} (run {})", job.definition.label, entry.what.run_id());
                change(engine, job, entry, told.kept.id, IncidentCommand::AddNote { text, by: by(job) }).await?;
            }
            Ok(())
        }
        Ok(_) | Err(AskError::Duplicate(_)) => Ok(()),
        Err(AskError::Refused(refusal)) => {
            tracing::error!(job_id = %job.id, %refusal, "the job's incident could not be opened");
            Ok(())
        }
        Err(error) => Err(fault_of(error)),
    }
}

async fn recovered(engine: &Engine, job: &Job, entry: &Entry<Notice>) -> Result<(), Fault> {
    let policies = [&job.definition.on_failure, &job.definition.on_missed].map(policy);
    let Some(resolves) = policies.into_iter().flatten().map(|policy| policy.resolve_on_recovery).reduce(|a, b| a || b)
    else {
        return Ok(());
    };
    let newest = engine.queries().newest_of(&identifier(job)).await?;
    let Some(open) = newest.filter(|incident| !incident.status.is_ended()) else { return Ok(()) };
    let text = format!("{} completed again (run {})", job.definition.label, entry.what.run_id());
    let command = match resolves {
        true => IncidentCommand::UpdateStatus { status: Status::Resolved, message: Some(text), by: by(job) },
        false => IncidentCommand::AddNote { text, by: by(job) },
    };
    change(engine, job, entry, open.id, command).await
}

async fn change(
    engine: &Engine,
    job: &Job,
    entry: &Entry<Notice>,
    id: uuid::Uuid,
    command: IncidentCommand,
) -> Result<(), Fault> {
    match engine.ask_with::<Incident>(id, command, along(job, entry, engine.clock().now())).await {
        // Refused: somebody ended it meanwhile.
        Ok(_) | Err(AskError::Duplicate(_) | AskError::Refused(_)) => Ok(()),
        Err(error) => Err(fault_of(error)),
    }
}

/// The key of this piece of news.
fn along(job: &Job, entry: &Entry<Notice>, now: Timestamp) -> Along {
    let key = format!("incident-of/{}/{}/{}", EntityId::from(job.id), entry.version, entry.what.name());
    let dedup = Dedup { key: key.into_bytes(), at: now, until: now.plus(KEY_KEPT), value: Vec::new() };
    Along { dedup: vec![dedup], ..Along::default() }
}
