//! Publishes the outbox of a job: to the notifications of its senders, and to its incident.

use ordo_model::JobId;
use ordo_model::job::{Command, Job, Notice};
use ordo_model::notification::Message;
use ordo_model::outbox::OutboxEntry;
use ordo_store::Fault;

use super::{ENTRIES_PER_PASS, chain, handed_on, job_incidents, write_notifications};
use crate::commit::command::SubmitError;
use crate::engine::Engine;
use crate::notify::reconciler::Reconciled;

pub(crate) async fn reconcile(engine: &Engine, id: JobId) -> Result<Reconciled, Fault> {
    while let Some(job) = engine.queries().job(id).await? {
        let entries = job.outbox.entries();
        let entries = &entries[..entries.len().min(ENTRIES_PER_PASS)];
        let Some(last) = entries.last() else { break };
        for entry in entries {
            hand_on(engine, &job, entry).await?;
        }
        handed_on(engine, entries.iter().map(|entry| entry.at));
        match engine.submit(id, Command::Published { through: last.version }).await {
            Ok(_) | Err(SubmitError::Refused(_)) => {}
            Err(SubmitError::Store(fault)) => return Err(Fault::clone(&fault)),
            Err(
                error @ (SubmitError::Contended
                | SubmitError::Overloaded
                | SubmitError::Stopped
                | SubmitError::Duplicate(_)),
            ) => {
                return Err(Fault::unavailable("marking what was handed on", error));
            }
        }
    }
    Ok(Reconciled::Done)
}

async fn hand_on(engine: &Engine, job: &Job, entry: &OutboxEntry<Notice>) -> Result<(), Fault> {
    match &entry.what {
        // For those who follow the job, not for people.
        Notice::Ended { run_id, .. } => chain::notify_followers(engine, job.id, *run_id).await,
        Notice::Failed { .. }
        | Notice::Recovered { .. }
        | Notice::Late { .. }
        | Notice::Skipped { .. }
        | Notice::Overran { .. } => {
            write_notifications(engine, Message::of_job(job, entry)).await?;
            job_incidents::notify(engine, job, entry).await
        }
    }
}
