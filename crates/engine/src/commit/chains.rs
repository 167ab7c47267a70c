//! Chains between jobs: checked before they are written down, and known to those who are followed.
//!
//! Invariant: a job is followed, durably, before one that follows it is. So no end is missed by a follower that is there.

use std::collections::BTreeSet;

use ordo_model::JobId;
use ordo_model::job::{After, Command, Invalid, Refusal};
use ordo_model::limits::CHAIN_JOBS_MAX;
use ordo_store::Fault;

use crate::commit::command::SubmitError;
use crate::commit::encoding::keys;
use crate::commit::job_command::Request;
use crate::engine::Engine;
use crate::read::queries::Queries;

impl Queries {
    /// The jobs that run after this one, in the order of their ids.
    pub async fn followers(&self, job: JobId) -> Result<Vec<JobId>, Fault> {
        self.jobs_below(&keys::after_prefix(job)).await
    }
}

/// Refuses an order that would chain a job to what is not there, or into a ring; marks those it will follow.
pub(crate) async fn prepare(engine: &Engine, request: &Request) -> Result<(), SubmitError> {
    let id = request.job_id;
    let after = match &request.slotted.command {
        Command::Schedule { definition, .. } => definition.after.clone(),
        Command::Update { patch, .. } if patch.contains_key("after") => match engine.job(id).await.map_err(stored)? {
            Some(job) => job.definition.patched(patch).map_err(Refusal::from)?.after,
            None => None,
        },
        _ => None,
    };
    match after {
        Some(after) => link(engine, id, &after).await,
        None => Ok(()),
    }
}

async fn link(engine: &Engine, id: JobId, after: &After) -> Result<(), SubmitError> {
    refuse_rings(engine, id, after).await?;
    for upstream in &after.jobs {
        // Straight to the batcher: what is sent by the front door comes through here.
        let followed = engine.queue(Request::new(*upstream, Command::Follow)).await;
        followed.unwrap_or(Err(SubmitError::Stopped))?;
    }
    Ok(())
}

/// Walks all that the job would come after; none of it may come after the job.
async fn refuse_rings(engine: &Engine, id: JobId, after: &After) -> Result<(), SubmitError> {
    let mut seen = BTreeSet::new();
    let mut ahead: Vec<JobId> = after.jobs.clone();
    while let Some(upstream) = ahead.pop() {
        if upstream == id {
            return Err(invalid("the job would come after itself: a chain cannot be a ring".to_owned()));
        }
        if !seen.insert(upstream) {
            continue;
        }
        if seen.len() > CHAIN_JOBS_MAX {
            return Err(invalid(format!("the chain has more than {CHAIN_JOBS_MAX} jobs: make it shorter")));
        }
        match engine.job(upstream).await.map_err(stored)? {
            Some(job) => ahead.extend(job.definition.after.iter().flat_map(|after| after.jobs.iter().copied())),
            // One that was forgotten further up is a chain that ends there.
            None if after.jobs.contains(&upstream) => return Err(invalid(format!("there is no job {upstream}"))),
            None => {}
        }
    }
    Ok(())
}

fn invalid(message: String) -> SubmitError {
    SubmitError::Refused(Refusal::Invalid(Invalid::new("after.jobs", message)))
}

fn stored(fault: Fault) -> SubmitError {
    SubmitError::Store(std::sync::Arc::new(fault))
}
