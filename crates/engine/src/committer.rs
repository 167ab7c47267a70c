//! One round of orders: load the jobs, decide, commit, say what changed.
//!
//! Invariant: nobody is told yes before the commit is durable. A conflict (another node was faster) is decided anew
//! on what that node wrote, a bounded number of times.

use std::collections::BTreeMap;
use std::sync::Arc;

use ordo_model::job::{Command, Job, Refusal};
use ordo_model::{EntityId, JobId, RunId, Timestamp};
use ordo_store::{Chunk, Fault, Outcome, Store};

use crate::change::{Change, PoolName};
use crate::codec;
use crate::planner::{Accepted, Plan, Request, plan};

/// Why an order was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubmitError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Somebody did the same before; what they left behind.
    #[error("this was done before")]
    Duplicate(Vec<u8>),
    /// The store failed; whether the order took effect is not known to be true.
    #[error("{0}")]
    Store(Arc<Fault>),
    #[error("others kept changing the job: try again")]
    Contended,
    #[error("Ordo is shutting down")]
    Stopped,
}

pub type Answer = Result<Accepted, SubmitError>;

/// What came of a round: one answer per request, in order, and what the engine must act on.
#[derive(Debug)]
pub struct Round {
    pub answers: Vec<Answer>,
    pub changes: Vec<Change>,
}

#[derive(Clone)]
pub struct Committer {
    store: Arc<dyn Store>,
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Committer")
    }
}

impl Committer {
    pub fn new(store: Arc<dyn Store>) -> Committer {
        Committer { store }
    }

    pub async fn round(&self, requests: Vec<Request>, chunks: Vec<Chunk>, now: Timestamp) -> Round {
        let asked: Vec<Asked> = requests.iter().map(Asked::of).collect();
        match self.try_round(requests, chunks, now).await {
            Ok(round) => round,
            Err(fault) => failed_round(&asked, &Arc::new(fault)),
        }
    }

    async fn try_round(&self, requests: Vec<Request>, chunks: Vec<Chunk>, now: Timestamp) -> Result<Round, Fault> {
        let order: Vec<JobId> = requests.iter().map(|request| request.job_id).collect();
        let jobs = self.load(&order).await?;
        let mut plan = plan(jobs, requests, now);
        plan.batch.chunks = chunks;
        let batch = std::mem::take(&mut plan.batch);
        let outcomes = if batch.items.is_empty() && batch.chunks.is_empty() {
            Vec::new()
        } else {
            self.store.commit(batch).await?
        };
        Ok(settle(plan, &order, outcomes))
    }

    async fn load(&self, ids: &[JobId]) -> Result<BTreeMap<JobId, Option<Job>>, Fault> {
        let mut entities: Vec<EntityId> = ids.iter().map(|id| (*id).into()).collect();
        entities.sort_unstable();
        entities.dedup();
        let snapshots = self.store.load(&entities).await?;
        let mut jobs = BTreeMap::new();
        for (entity, snapshot) in entities.into_iter().zip(snapshots) {
            let job = snapshot.map(|snapshot| codec::decode_job(&snapshot.state)).transpose()?;
            jobs.insert(JobId(entity.id), job);
        }
        Ok(jobs)
    }
}

/// Joins what was planned with what became of it.
fn settle(plan: Plan, order: &[JobId], outcomes: Vec<Outcome>) -> Round {
    let mut lost: BTreeMap<JobId, Outcome> = BTreeMap::new();
    for (job_id, outcome) in plan.item_jobs.into_iter().zip(outcomes) {
        match outcome {
            Outcome::Committed { .. } => {}
            Outcome::Conflict { .. } | Outcome::Duplicate { .. } => drop(lost.insert(job_id, outcome)),
        }
    }
    let answers = plan.answers.into_iter().zip(order).map(|(answer, job_id)| match lost.get(job_id) {
        None => answer.map_err(SubmitError::from),
        Some(Outcome::Duplicate { value }) => Err(SubmitError::Duplicate(value.clone())),
        Some(Outcome::Conflict { .. } | Outcome::Committed { .. }) => Err(SubmitError::Contended),
    });
    let answers = answers.collect();
    let changes = plan.changes.into_iter().map(|(job_id, change)| match lost.get(&job_id) {
        None => change,
        Some(_) => undone(change),
    });
    Round { answers, changes: changes.collect() }
}

/// Nothing of it happened: places go back, the wake is tried again.
fn undone(change: Change) -> Change {
    let returned = change.returned.into_iter().chain(change.started.iter().map(|started| started.pool)).collect();
    Change { returned, answered: change.answered, failed: true, rank: change.rank, ..Change::of(change.job_id) }
}

/// What must be undone if a request cannot be carried out.
struct Asked {
    job_id: JobId,
    pool: Option<PoolName>,
    start: Option<RunId>,
}

impl Asked {
    fn of(request: &Request) -> Asked {
        let start = match request.order.command {
            Command::Start { run_id } => Some(run_id),
            _ => None,
        };
        Asked { job_id: request.job_id, pool: request.pool, start }
    }
}

fn failed_round(asked: &[Asked], fault: &Arc<Fault>) -> Round {
    let mut changes: BTreeMap<JobId, Change> = BTreeMap::new();
    for Asked { job_id, pool, start } in asked {
        let change = changes.entry(*job_id).or_insert_with(|| Change { failed: true, ..Change::of(*job_id) });
        change.returned.extend(*pool);
        change.answered.extend(*start);
    }
    let answers = asked.iter().map(|_| Err(SubmitError::Store(fault.clone()))).collect();
    Round { answers, changes: changes.into_values().collect() }
}
