//! What a new life of an executor must settle before it begins: the attempts its former lives left running.
//!
//! Invariant: reads only. The orders say who came up and when; what becomes of the attempts is the model's rule.

use ordo_model::job::{Command, RunStatus};
use ordo_model::{Incarnation, JobId, Millis, RunId};
use ordo_store::{Fault, KeyRange, Order, View};

use crate::keys;
use crate::planner::Request;
use crate::queries::Queries;

/// How many running runs are read at a time.
const RECOVERY_PAGE: usize = 500;

/// One order for each job that has a running attempt. Each stands alone.
pub async fn orders(queries: &Queries, me: &Incarnation, settle_after: Millis) -> Result<Vec<Request>, Fault> {
    let orphan = || Command::Orphan { executor: me.clone(), settle_after };
    Ok(jobs_with_running_attempts(queries).await?.into_iter().map(|job| Request::new(job, orphan())).collect())
}

async fn jobs_with_running_attempts(queries: &Queries) -> Result<Vec<JobId>, Fault> {
    let mut jobs: Vec<JobId> = Vec::new();
    let mut range = KeyRange::prefix(&[RunStatus::Running { cancelling: None }.code()]);
    loop {
        let rows = queries.store().rows(View::RunsByStatus, &range, Order::Ascending, RECOVERY_PAGE).await?;
        for row in &rows {
            let Some(id) = keys::trailing_id(&row.key) else { continue };
            jobs.extend(queries.run(RunId(id)).await?.map(|run| run.job_id));
        }
        let Some(last) = rows.last().filter(|_| rows.len() == RECOVERY_PAGE) else { break };
        range.from = [last.key.as_slice(), &[0]].concat();
    }
    jobs.sort_unstable();
    jobs.dedup();
    Ok(jobs)
}
