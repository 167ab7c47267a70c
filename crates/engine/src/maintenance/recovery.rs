//! What a new generation of this process must settle before it begins: the attempts that nobody executes any more.
//!
//! Invariant: reads only. The commands say which generations are over; what becomes of their attempts is the model's rule.

use std::collections::BTreeSet;

use ordo_model::job::{Command, RunStatus};
use ordo_model::{FencingToken, Incarnation, JobId, Millis, RunId, Timestamp};
use ordo_store::{Direction, Fault, KeyRange, View};
use serde_json::Value;
use uuid::Uuid;

use crate::commit::encoding::keys;
use crate::commit::job_command::Request;
use crate::read::queries::Queries;

/// How many running runs are read at a time.
const RECOVERY_PAGE: usize = 500;

/// An attempt that is running as far as the store knows.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningAttempt {
    pub job_id: JobId,
    pub run_id: RunId,
    pub token: FencingToken,
    pub attempt: u32,
    pub executor: Incarnation,
    pub started_at: Timestamp,
    /// The concurrency key it holds.
    pub key: Option<String>,
    pub tool_input: Value,
}

/// Whose attempts are lost.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// The store has one node: every attempt that no remote executor has was executed by a former generation of this one,
    /// under whatever name.
    Everybodys(&'a Incarnation),
    /// Former generations of this node.
    FormerGenerationsOf(&'a Incarnation),
    /// All generations of this node: it is gone.
    Node(&'a str),
}

impl Whose<'_> {
    fn includes(&self, executor: &Incarnation) -> bool {
        match self {
            Whose::Everybodys(me) => executor.generation != me.generation,
            Whose::FormerGenerationsOf(me) => me.executor == executor.executor && me.generation != executor.generation,
            Whose::Node(name) => *name == executor.executor,
        }
    }
}

/// One order for each job and generation with a running attempt that is to be settled, `there` being the remote executors
/// that are still there. Each stands alone.
pub fn orders(
    running: &[RunningAttempt],
    whose: Whose<'_>,
    there: &BTreeSet<Uuid>,
    settle_after: Millis,
) -> Vec<Request> {
    ordo_model::planted!(OrphansForgotten, return Vec::new());
    let lost = |executor: &Incarnation| whose.includes(executor) && !there.contains(&executor.generation);
    let over = running.iter().filter(|attempt| lost(&attempt.executor));
    let generations: BTreeSet<(JobId, &Incarnation)> =
        over.map(|attempt| (attempt.job_id, &attempt.executor)).collect();
    let orphan = |executor: &Incarnation| Command::Orphan { executor: executor.clone(), settle_after };
    generations.into_iter().map(|(job, executor)| Request::new(job, orphan(executor))).collect()
}

pub async fn attempts(queries: &Queries) -> Result<Vec<RunningAttempt>, Fault> {
    let mut attempts = Vec::new();
    for job_id in jobs_with_running_runs(queries).await? {
        let Some(job) = queries.job(job_id).await? else { continue };
        for run in &job.active {
            let Some(attempt) = run.attempt() else { continue };
            // Attempts from before keys were written down hold what the definition says now.
            let key = attempt.concurrency_key.clone().or_else(|| job.concurrency_key_of(run));
            attempts.push(RunningAttempt {
                job_id,
                run_id: run.id,
                token: attempt.token,
                attempt: attempt.number,
                executor: attempt.executor.clone(),
                started_at: attempt.started_at,
                key,
                tool_input: run.tool_input.clone().unwrap_or_else(|| job.definition.tool_input.clone()),
            });
        }
    }
    Ok(attempts)
}

async fn jobs_with_running_runs(queries: &Queries) -> Result<BTreeSet<JobId>, Fault> {
    let mut jobs = BTreeSet::new();
    let mut range = KeyRange::prefix(&[RunStatus::Running { cancelling: None }.code()]);
    loop {
        let rows = queries.store().rows(View::RunsByStatus, &range, Direction::Ascending, RECOVERY_PAGE).await?;
        for row in &rows {
            let Some(id) = keys::trailing_id(&row.key) else { continue };
            jobs.extend(queries.run(RunId(id)).await?.map(|run| run.job_id));
        }
        let Some(last) = rows.last().filter(|_| rows.len() == RECOVERY_PAGE) else { break };
        range.from = [last.key.as_slice(), &[0]].concat();
    }
    Ok(jobs)
}
