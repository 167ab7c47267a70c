//! What a new process must know of remote executors before it begins: who was there, and what they have.
//!
//! Invariant: leases count anew from now. A restart of the server alone costs no healthy run.

use std::collections::BTreeSet;

use ordo_model::executor::{ExecutorCommand, Presence};
use ordo_model::job::Command;
use ordo_store::Fault;
use uuid::Uuid;

use super::lease::ask;
use super::run_lease::RunLease;
use crate::commit::command::SubmitError;
use crate::commit::job_command::Request;
use crate::core::{Input, News};
use crate::dispatch::Restored;
use crate::engine::Engine;
use crate::maintenance::recovery::RunningAttempt;

/// The executors that are there, whichever node they registered with.
pub(crate) async fn living(engine: &Engine) -> Result<BTreeSet<Uuid>, Fault> {
    let listed = engine.executors().await?.into_iter();
    Ok(listed.filter(|listed| listed.executor.is_there()).map(|listed| listed.id).collect())
}

/// Brings the executors back that had registered with this node; returns all that are there.
pub(crate) async fn executors(engine: &Engine) -> Result<BTreeSet<Uuid>, Fault> {
    let shared = engine.queries().store().is_shared();
    let mut there = BTreeSet::new();
    for listed in engine.executors().await?.into_iter().filter(|listed| listed.executor.is_there()) {
        there.insert(listed.id);
        if shared && listed.executor.node != engine.me().executor {
            continue;
        }
        ask(engine, listed.id, ExecutorCommand::Renew { heard_at: engine.clock().now() }).await?;
        let draining = listed.executor.presence == Presence::Draining;
        let offer = listed.executor.offer;
        let owner = listed.executor.owner.map(|owner| owner.token);
        engine.registry().enroll(listed.id, offer.clone(), owner, draining, engine.clock().now());
        engine.notify_core(listed.id, News::Enrolled(offer));
        if draining {
            engine.notify_core(listed.id, News::Draining);
        }
    }
    Ok(there)
}

/// Puts what they run back into their leases, and gives it its whole time again.
pub(crate) async fn attempts(engine: &Engine, running: &[RunningAttempt]) -> Result<(), Fault> {
    let is_here = |attempt: &&RunningAttempt| engine.registry().load(attempt.executor.generation).is_some();
    let here: Vec<RunningAttempt> = running.iter().filter(is_here).cloned().collect();
    for attempt in &here {
        engine.registry().restore_lease(attempt.executor.generation, attempt.run_id, lease(engine, attempt).await);
    }
    readopt(engine, &here).await?;
    if !here.is_empty() {
        engine.send_input(Input::Restored(here.iter().map(restored).collect()));
    }
    Ok(())
}

/// The lease of an attempt that its executor has since before.
pub(super) async fn lease(engine: &Engine, attempt: &RunningAttempt) -> RunLease {
    let mut held = RunLease::new(attempt.job_id, attempt.token, attempt.attempt, attempt.started_at);
    // What it was given then is covered now; a secret that is gone by now cannot be.
    if let Ok(resolved) = engine.secrets().resolve(&attempt.tool_input).await {
        held.mask = resolved.mask;
    }
    held
}

pub(super) fn restored(attempt: &RunningAttempt) -> Restored {
    let RunningAttempt { job_id, run_id, token, ref executor, ref key, .. } = *attempt;
    Restored { job_id, run_id, token, executor: executor.generation, key: key.clone() }
}

/// Gives what they have its whole time again.
pub(super) async fn readopt(engine: &Engine, running: &[RunningAttempt]) -> Result<(), Fault> {
    let readopted: BTreeSet<_> = running.iter().map(|attempt| (attempt.job_id, attempt.executor.clone())).collect();
    let requests = readopted.into_iter().map(|(job, executor)| Request::new(job, Command::Readopt { executor }));
    for answer in engine.send_all(requests.collect()).await {
        match answer {
            // Whoever is refused has no such job any more.
            Ok(_) | Err(SubmitError::Refused(_)) => {}
            Err(SubmitError::Store(fault)) => return Err(Fault::clone(&fault)),
            Err(error) => return Err(Fault::damaged(format!("recovery stopped: {error}"))),
        }
    }
    Ok(())
}
