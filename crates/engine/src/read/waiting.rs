//! What pending runs wait for, and those that have waited for long, folded by job and cause.
//!
//! Invariant: a cause follows from the job, the run and who is there now; a run that only waits for its own time has none.

use std::fmt;

use ordo_model::job::{Definition, Job, Pool, Run, RunStatus, Stage};
use ordo_model::{JobId, Millis, RunId, Timestamp};
use ordo_store::Fault;

use crate::engine::Engine;

/// What stands in the way of a pending run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitCause {
    /// Its job lets no more runs go on at once.
    EarlierRuns,
    /// Nobody is there who could execute it.
    NoExecutor { group: String, tool: String },
    /// The pool of this server has no free slot, or a limit of the job holds it back.
    Pool { pool: Pool, slots: usize, limits: &'static str },
    /// All executors of the group are busy, or a limit of the job holds it back.
    Executors { group: String, limits: &'static str },
}

impl fmt::Display for WaitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitCause::EarlierRuns => f.write_str("earlier runs of the job"),
            WaitCause::NoExecutor { group, tool } => write!(f, "an executor of group {group} with tool {tool}"),
            WaitCause::Pool { pool, slots, limits } => {
                write!(f, "a free slot in the {} pool ({slots} slots){limits}", pool.name())
            }
            WaitCause::Executors { group, limits } => write!(f, "a free slot in group {group}{limits}"),
        }
    }
}

/// Runs of one job that wait for the same thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingRuns {
    pub job_id: JobId,
    pub label: String,
    pub cause: WaitCause,
    pub count: usize,
    /// The run that has waited longest, and since when.
    pub oldest: RunId,
    pub since: Timestamp,
}

/// What waits for longer than it should.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LongWaits {
    /// The longest first.
    pub groups: Vec<WaitingRuns>,
    /// More runs are pending than were looked at: the counts are at least these.
    pub is_cut: bool,
}

impl Engine {
    /// What a pending run waits for; None if it only waits for its time.
    pub fn waits_for(&self, job: &Job, run_id: RunId) -> Option<WaitCause> {
        let run = job.active_run(run_id)?;
        let definition = &job.definition;
        let (group, tool) = (&definition.group, &definition.tool_name);
        match &run.stage {
            Stage::Backoff { .. } | Stage::Running(_) | Stage::Broadcast { .. } => None,
            Stage::Queued if !job.startable().any(|startable| startable.id == run_id) => Some(WaitCause::EarlierRuns),
            Stage::Queued if !self.offers(group, tool) => {
                Some(WaitCause::NoExecutor { group: group.clone(), tool: tool.clone() })
            }
            Stage::Queued if self.registry().offers(group, tool) => {
                Some(WaitCause::Executors { group: group.clone(), limits: within(definition) })
            }
            Stage::Queued => {
                let sizes = self.options().pools;
                let slots = match job.pool() {
                    Pool::Fast => sizes.fast.slots,
                    Pool::Slow => sizes.slow.slots,
                };
                Some(WaitCause::Pool { pool: job.pool(), slots, limits: within(definition) })
            }
        }
    }

    /// The runs that have waited for longer than `patience`. The oldest `limit` pending runs are looked at.
    pub async fn long_waits(&self, now: Timestamp, patience: Millis, limit: usize) -> Result<LongWaits, Fault> {
        let pending = RunStatus::code_of("pending").unwrap_or_default();
        let mut runs = self.queries().oldest_runs(pending, limit + 1).await?;
        let is_cut = runs.len() > limit;
        runs.truncate(limit);
        runs.retain(|run| is_long(run, now, patience));
        let jobs = self.queries().jobs_of_pending(&runs).await?;
        let caused = runs.iter().filter_map(|run| {
            let job = jobs.get(&run.job_id)?;
            Some((run, self.waits_for(job, run.id)?))
        });
        Ok(LongWaits { groups: folded(caused), is_cut })
    }
}

fn is_long(run: &Run, now: Timestamp, patience: Millis) -> bool {
    matches!(run.status, RunStatus::Pending { retry_at: None, .. }) && now.since(run.fired_at) > patience
}

/// Runs come oldest first, so the first of a group has waited longest.
fn folded<'a>(runs: impl Iterator<Item = (&'a Run, WaitCause)>) -> Vec<WaitingRuns> {
    let mut groups: Vec<WaitingRuns> = Vec::new();
    for (run, cause) in runs {
        match groups.iter_mut().find(|group| group.job_id == run.job_id && group.cause == cause) {
            Some(group) => group.count += 1,
            None => groups.push(WaitingRuns {
                job_id: run.job_id,
                label: run.label.clone(),
                cause,
                count: 1,
                oldest: run.id,
                since: run.fired_at,
            }),
        }
    }
    groups
}

/// The limits that a free slot alone does not satisfy.
const fn within(definition: &Definition) -> &'static str {
    match (&definition.concurrency_key, &definition.rate_limit) {
        (None, None) => "",
        (Some(_), None) => ", within its concurrency key",
        (None, Some(_)) => ", within its rate limit",
        (Some(_), Some(_)) => ", within its concurrency key and its rate limit",
    }
}
