//! What a new life of an executor must settle before it begins: the attempts its former lives left running.
//!
//! Invariant: reads only. The orders say who came up and when; what becomes of the attempts is the model's rule.

use std::collections::BTreeSet;

use ordo_model::job::{Command, RunStatus};
use ordo_model::{Incarnation, JobId, Millis, RunId};
use ordo_store::{Fault, KeyRange, Order, View};
use uuid::Uuid;

use crate::keys;
use crate::planner::Request;
use crate::queries::Queries;

/// How many running runs are read at a time.
const RECOVERY_PAGE: usize = 500;

/// One order for each job and executor with a running attempt that is to be settled. Each stands alone.
pub async fn orders(queries: &Queries, whose: Whose<'_>, settle_after: Millis) -> Result<Vec<Request>, Fault> {
    let orphan =
        |executor: String| Command::Orphan { executor: Incarnation { executor, life: whose.life() }, settle_after };
    let running = running_attempts(queries).await?;
    let lost = running.into_iter().filter(|(_, executor)| whose.includes(executor));
    Ok(lost.map(|(job, executor)| Request::new(job, orphan(executor))).collect())
}

/// Whose attempts are lost.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// The store has one node: every attempt in it was executed by a former life of this one, under whatever name.
    Everybodys(&'a Incarnation),
    /// Former lives of this node.
    FormerLivesOf(&'a Incarnation),
    /// All lives of this node: it is gone.
    Node(&'a str),
}

impl Whose<'_> {
    fn includes(&self, executor: &str) -> bool {
        match self {
            Whose::Everybodys(_) => true,
            Whose::FormerLivesOf(me) => me.executor == executor,
            Whose::Node(name) => *name == executor,
        }
    }

    /// The life that is not lost.
    fn life(&self) -> Uuid {
        match self {
            Whose::Everybodys(me) | Whose::FormerLivesOf(me) => me.life,
            Whose::Node(_) => Uuid::nil(),
        }
    }
}

async fn running_attempts(queries: &Queries) -> Result<BTreeSet<(JobId, String)>, Fault> {
    let mut attempts = BTreeSet::new();
    let mut range = KeyRange::prefix(&[RunStatus::Running { cancelling: None }.code()]);
    loop {
        let rows = queries.store().rows(View::RunsByStatus, &range, Order::Ascending, RECOVERY_PAGE).await?;
        for row in &rows {
            let Some(id) = keys::trailing_id(&row.key) else { continue };
            let run = queries.run(RunId(id)).await?;
            attempts.extend(run.and_then(|run| Some((run.job_id, run.executor?))));
        }
        let Some(last) = rows.last().filter(|_| rows.len() == RECOVERY_PAGE) else { break };
        range.from = [last.key.as_slice(), &[0]].concat();
    }
    Ok(attempts)
}
