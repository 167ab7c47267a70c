//! Leases: an executor that falls silent is lost, and so is an attempt that its executor no longer speaks of.
//!
//! Invariant: first everything an executor had is settled, then it is written down as lost. Should the process die in
//! between, the alarm rings again and the rest is settled. What another node gave it before it heard of that is settled a
//! lease later, and once more before the executor is forgotten.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ordo_model::executor::{Executor, ExecutorCommand, Presence};
use ordo_model::job::{AttemptReport, Command};
use ordo_model::limits::LEASE;
use ordo_model::{EntityId, Kind};
use ordo_store::Fault;
use uuid::Uuid;

use super::registry::Silent;
use crate::cluster::Reviewer;
use crate::commit::batcher::chain;
use crate::commit::command::SubmitError;
use crate::commit::job_command::Request;
use crate::core::News;
use crate::engine::Engine;
use crate::maintenance::recovery;
use crate::time::clock::Stopwatch;

/// How often leases are checked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The alarm of an executor rang.
pub(crate) async fn reconcile(engine: &Engine, id: Uuid) -> Result<(), Fault> {
    let Some(executor) = engine.queries().object::<Executor>(id).await? else { return Ok(()) };
    if executor.node != engine.me().executor {
        // Whether it is heard of, another node knows better, unless that is written down no more.
        engine.let_move(id, &executor.node);
    }
    match executor.presence {
        Presence::Lost { .. } => {
            settle_attempts(engine, id, &executor.offer.name).await?;
            ask(engine, id, ExecutorCommand::Forget).await
        }
        Presence::Left => Ok(()),
        // The wall clock may have been set; whether it was heard of is known better here.
        Presence::Alive | Presence::Draining if engine.registry().is_overdue(id) => lose(engine, id, &executor).await,
        Presence::Alive | Presence::Draining if !executor.is_overdue(engine.clock().now()) => Ok(()),
        Presence::Alive | Presence::Draining => match engine.registry().silence(id) {
            // To the moment it was heard of: should this node die too, nobody waits longer than a lease from then.
            Some(silence) => {
                let heard_at = engine.clock().now().minus(silence);
                ask(engine, id, ExecutorCommand::Renew { heard_at }).await
            }
            None => lose(engine, id, &executor).await,
        },
    }
}

async fn lose(engine: &Engine, id: Uuid, executor: &Executor) -> Result<(), Fault> {
    engine.notify_core(id, News::Gone);
    let left = engine.registry().remove(id);
    engine.give_back(left.undelivered, "was lost before it took the run");
    let name = &executor.offer.name;
    let runs = settle_attempts(engine, id, name).await?;
    tracing::warn!(executor = %id, name, runs, "an executor was lost");
    ask(engine, id, ExecutorCommand::Lose).await?;
    engine.lost_executors().add(id, name.clone());
    Ok(())
}

/// Settles what is running on an executor that is lost. Returns how many attempts that were.
async fn settle_attempts(engine: &Engine, id: Uuid, name: &str) -> Result<usize, Fault> {
    let attempts = recovery::attempts(engine.queries()).await?;
    let reports = attempts.into_iter().filter(|attempt| attempt.executor.generation == id).map(|attempt| {
        let reason = format!("the executor {name} was lost: not heard of for {LEASE}");
        let report = AttemptReport::Lost { reason };
        Request::new(attempt.job_id, Command::Report { run_id: attempt.run_id, token: attempt.token, report })
    });
    let reports: Vec<Request> = reports.collect();
    let count = reports.len();
    for answer in engine.send_all(reports).await {
        if let Err(crate::SubmitError::Store(fault)) = answer {
            return Err(Fault::clone(&fault));
        }
    }
    Ok(count)
}

/// Executors that were lost, and since when: what another node gave one of them before it heard of that is settled when a
/// lease is over.
#[derive(Debug, Default)]
pub(crate) struct LostExecutors(Mutex<VecDeque<(Stopwatch, Uuid, String)>>);

impl LostExecutors {
    fn add(&self, id: Uuid, name: String) {
        self.lock().push_back((Stopwatch::start(), id, name));
    }

    /// The next whose time has come.
    fn take_due(&self) -> Option<(Uuid, String)> {
        let mut lost = self.lock();
        lost.front().filter(|(since, ..)| since.elapsed() >= LEASE)?;
        lost.pop_front().map(|(_, id, name)| (id, name))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Stopwatch, Uuid, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn settle_due(engine: &Engine) {
    while let Some((id, name)) = engine.lost_executors().take_due() {
        if let Err(fault) = settle_attempts(engine, id, &name).await {
            tracing::warn!(executor = %id, error = %chain(&fault), "what a lost executor had could not be settled: tried again");
            engine.lost_executors().add(id, name);
            return;
        }
    }
}

/// The executor has nothing left and goes.
pub(super) async fn let_go(engine: &Engine, id: Uuid) {
    engine.notify_core(id, News::Gone);
    let left = engine.registry().remove(id);
    engine.give_back(left.undelivered, "left before it took the run");
    if let Err(fault) = ask(engine, id, ExecutorCommand::Leave).await {
        // Its lease expires instead.
        tracing::warn!(executor = %id, error = %chain(&fault), "that it left could not be written down");
    }
}

/// Settles attempts whose leases expired, for as long as the engine lives. Once in the time of a lease what runs is looked up:
/// that it ended may have been written by a commit whose answer was lost.
pub(crate) async fn watch(engine: Engine, reviewer: Reviewer) {
    let mut reviewed = Stopwatch::start();
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        if reviewed.elapsed() >= LEASE {
            reviewed = Stopwatch::start();
            reviewer.nudge();
        }
        for silent in engine.registry().silent() {
            report_lost(&engine, silent);
        }
        for id in engine.registry().overdue() {
            // Its alarm counts from when it was last written down that it is there, on a clock that may have been set
            // back: here nobody waits for that.
            engine.nudge(EntityId { kind: Kind::Executor, id });
        }
        settle_due(&engine).await;
        for id in engine.registry().drained() {
            let_go(&engine, id).await;
        }
    }
}

fn report_lost(engine: &Engine, silent: Silent) {
    let Silent { executor, job_id, run_id, token } = silent;
    tracing::warn!(%job_id, %run_id, executor, "its executor no longer speaks of it");
    let reason = format!("the executor {executor} no longer has the run: not in its heartbeats for {LEASE}");
    let command = Command::Report { run_id, token, report: AttemptReport::Lost { reason } };
    drop(engine.queue(Request::new(job_id, command)));
}

/// What is refused has been done by somebody else.
pub(super) async fn ask(engine: &Engine, id: Uuid, command: ExecutorCommand) -> Result<(), Fault> {
    match engine.command::<Executor>(id, command).await {
        Ok(_)
        | Err(
            SubmitError::Refused(_)
            | SubmitError::Duplicate(_)
            | SubmitError::Contended
            | SubmitError::Overloaded
            | SubmitError::Stopped,
        ) => Ok(()),
        Err(SubmitError::Store(fault)) => Err(Fault::clone(&fault)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::Millis;

    #[test]
    fn what_a_lost_executor_was_given_late_is_settled_when_a_lease_is_over() {
        let lost = LostExecutors::default();
        let [one, other] = [1, 2].map(Uuid::from_u128);
        lost.lock().push_back((Stopwatch::started_ago(LEASE), one, "one".into()));
        lost.lock().push_back((Stopwatch::started_ago(Millis::from_secs(1)), other, "other".into()));
        assert_eq!(lost.take_due(), Some((one, "one".into())));
        assert_eq!(lost.take_due(), None, "the other has been lost for a second");
    }
}
