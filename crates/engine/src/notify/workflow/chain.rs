//! A run of a job that others follow has ended: each of them hears of it once.

use ordo_model::job::{Cause, Command, Run, RunStatus, UpstreamEnd};
use ordo_model::{JobId, Millis, RunId};
use ordo_store::Fault;

use crate::commit::command::SubmitError;
use crate::commit::job_command::Claim;
use crate::engine::Engine;

/// How long it is remembered that a job heard of an end.
const CLAIM_KEPT: Millis = Millis::from_days(7);

pub(super) async fn notify_followers(engine: &Engine, job: JobId, run: RunId) -> Result<(), Fault> {
    let followers = engine.queries().followers(job).await?;
    if followers.is_empty() {
        return Ok(());
    }
    // Retention keeps a run until its end is handed on.
    let Some(run) = engine.queries().run(run).await? else { return Ok(()) };
    let until = engine.clock().now().plus(CLAIM_KEPT);
    let order = |follower: JobId| {
        let key = [b"after-run/".as_slice(), run.id.0.as_bytes(), follower.0.as_bytes()].concat();
        let claim = Claim { key, until, value: Vec::new(), names_run: false };
        (follower, Command::Arrive { end: Box::new(end_of(&run)) }, claim)
    };
    let answers = engine.submit_all_once(followers.iter().copied().map(order).collect()).await;
    for (follower, answer) in followers.into_iter().zip(answers) {
        match answer {
            Ok(_) | Err(SubmitError::Duplicate(_)) => {}
            Err(SubmitError::Refused(refusal)) => {
                tracing::warn!(job_id = %follower, after = %run.id, %refusal, "a chain did not go on");
            }
            Err(SubmitError::Store(fault)) => return Err(Fault::clone(&fault)),
            Err(error @ (SubmitError::Contended | SubmitError::Overloaded | SubmitError::Stopped)) => {
                return Err(Fault::unavailable("publishing to the jobs that follow", error));
            }
        }
    }
    Ok(())
}

fn end_of(run: &Run) -> UpstreamEnd {
    let (result, result_bytes, reason) = match &run.status {
        RunStatus::Completed { result, result_bytes: None } => (Some(result.clone()), None, None),
        RunStatus::Completed { result_bytes, .. } => (None, *result_bytes, None),
        RunStatus::Failed { reason } | RunStatus::Cancelled { reason } => (None, None, Some(reason.clone())),
        RunStatus::Skipped { reason, .. } => (None, None, Some(reason.name().to_owned())),
        RunStatus::Pending { .. } | RunStatus::Running { .. } => (None, None, None),
    };
    let depth = match run.cause {
        Cause::After { depth, .. } => depth,
        Cause::Schedule { .. }
        | Cause::Manual
        | Cause::Backfill { .. }
        | Cause::Retry { .. }
        | Cause::Webhook { .. } => 0,
    };
    UpstreamEnd {
        job_id: run.job_id,
        label: run.label.clone(),
        run_id: run.id,
        status: run.status.name().to_owned(),
        result,
        result_bytes,
        reason,
        traceparent: run.traceparent,
        depth,
    }
}
