//! Chains between jobs: checked before they are written down, and known to those who are followed.
//!
//! Invariant: a job is followed, durably, before one that follows it is. So no end is missed by a follower that is there.
//! Whoever chains a job that is there leaves a mark on all that it would come after, and changes it only if nobody has
//! left a mark on it meanwhile. Of changes at once, on whichever nodes, that would be a ring together, one at least is
//! refused: the last to be written down would find the mark of somebody who had not seen it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ordo_model::JobId;
use ordo_model::job::{After, Command, Invalid, Job, Refusal};
use ordo_model::limits::CHAIN_JOBS_MAX;
use ordo_store::{Direction, Fault, KeyRange, View};

use crate::commit::command::SubmitError;
use crate::commit::encoding::keys;
use crate::commit::job_command::Request;
use crate::engine::Engine;
use crate::read::queries::Queries;

impl Queries {
    /// Pairs of a job and one that comes after it, in the order of the jobs before: at most `limit`. One read.
    pub async fn chain_links(&self, limit: usize) -> Result<Vec<(JobId, JobId)>, Fault> {
        let range = KeyRange::prefix(&keys::all_after_prefix());
        let rows = self.store().rows(View::Index, &range, Direction::Ascending, limit).await?;
        Ok(rows.iter().filter_map(|row| keys::read_job_after(&row.key)).collect())
    }

    /// The jobs that run after this one, in the order of their ids.
    pub async fn followers(&self, job: JobId) -> Result<Vec<JobId>, Fault> {
        self.jobs_below(&keys::after_prefix(job)).await
    }
}

/// Refuses an order that would chain a job to what is not there, or into a ring; marks those it will follow.
pub(crate) async fn prepare(engine: &Engine, request: &mut Request) -> Result<(), SubmitError> {
    let id = request.job_id;
    match &mut request.slotted.command {
        // Nobody can have named a job that is not there yet.
        Command::Schedule { definition, .. } => match &definition.after {
            Some(after) => link(engine, id, after, Command::Follow).await,
            None => Ok(()),
        },
        Command::Update { patch, if_followed, .. } if patch.contains_key("after") => {
            let Some(job) = engine.job(id).await.map_err(stored)? else { return Ok(()) };
            *if_followed = Some(job.followed_times);
            match job.definition.patched(patch).map_err(Refusal::from)?.after {
                Some(after) => link(engine, id, &after, Command::FollowAnew).await,
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Walks all that the job would come after; none of it may come after the job. A mark is left before a job is looked at,
/// so that what is chained to it later is refused.
async fn link(engine: &Engine, id: JobId, after: &After, mark: Command) -> Result<(), SubmitError> {
    let is_anew = matches!(mark, Command::FollowAnew);
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
        let is_next = after.jobs.contains(&upstream);
        let job = if is_anew || is_next {
            follow(engine, upstream, mark.clone()).await?
        } else {
            engine.job(upstream).await.map_err(stored)?.map(Arc::new)
        };
        match job {
            Some(job) => ahead.extend(job.definition.after.iter().flat_map(|after| after.jobs.iter().copied())),
            // One that was forgotten further up is a chain that ends there.
            None if is_next => return Err(invalid(format!("there is no job {upstream}"))),
            None => {}
        }
    }
    Ok(())
}

/// Leaves a mark; returns the job as it was then.
async fn follow(engine: &Engine, job: JobId, mark: Command) -> Result<Option<Arc<Job>>, SubmitError> {
    // Straight to the batcher: what is sent by the front door comes through here.
    match engine.queue(Request::new(job, mark)).await.unwrap_or(Err(SubmitError::Stopped)) {
        Ok(accepted) => Ok(Some(accepted.job)),
        Err(SubmitError::Refused(Refusal::NoSuchJob)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn invalid(message: String) -> SubmitError {
    SubmitError::Refused(Refusal::Invalid(Invalid::new("after.jobs", message)))
}

fn stored(fault: Fault) -> SubmitError {
    SubmitError::Store(Arc::new(fault))
}
