//! An executor goes to another node: it takes with it what it has.
//!
//! Invariant: the node that an executor belongs to is durable, and changes under expected version. A node that is no longer
//! the one gives back what it had not handed out, and forgets the rest.

use std::collections::BTreeSet;

use ordo_model::RunId;
use ordo_model::executor::{Executor, ExecutorCommand, Presence, Speaker};
use ordo_store::Fault;
use uuid::Uuid;

use super::protocol::{HostError, NotThere};
use super::restore;
use crate::commit::command::SubmitError;
use crate::core::{Input, News};
use crate::engine::Engine;
use crate::maintenance::recovery;

impl Engine {
    /// Makes sure that the executor is with this node, if whoever asks may speak for it. One that was with another node
    /// is taken over, with what it has.
    pub(super) async fn host(&self, speaker: Speaker, id: Uuid) -> Result<(), HostError> {
        if self.registry().is_spoken_for(speaker, id) {
            return Ok(());
        }
        if !self.queries().store().is_shared() || self.registry().load(id).is_some() {
            return Err(NotThere.into());
        }
        // One at a time: a heartbeat and a poll come together.
        let _turn = self.registry().registering().await;
        if self.registry().is_spoken_for(speaker, id) {
            return Ok(());
        }
        let found = self.queries().object::<Executor>(id).await?.ok_or(NotThere)?;
        if !found.is_there() || !speaker.may_speak_for(found.owner.as_ref().map(|owner| owner.token)) {
            return Err(NotThere.into());
        }
        let node = self.me().executor.clone();
        match self.command::<Executor>(id, ExecutorCommand::Move { node }).await {
            Ok(_) => {}
            Err(SubmitError::Refused(_)) => return Err(NotThere.into()),
            Err(SubmitError::Store(fault)) => return Err(HostError::Store(fault)),
            Err(error) => return Err(Fault::unavailable("taking an executor over", error).into()),
        }
        tracing::info!(executor = %id, name = found.offer.name, from = found.node, "an executor came from another node");
        Ok(self.take_over(id, found.value).await?)
    }

    async fn take_over(&self, id: Uuid, executor: Executor) -> Result<(), Fault> {
        let draining = executor.presence == Presence::Draining;
        let owner = executor.owner.as_ref().map(|owner| owner.token);
        let running = recovery::attempts(self.queries()).await?;
        let its_own: Vec<_> = running.into_iter().filter(|attempt| attempt.executor.generation == id).collect();
        let mut leases = Vec::with_capacity(its_own.len());
        for attempt in &its_own {
            leases.push((attempt.run_id, restore::lease(self, attempt).await));
        }
        // At one stroke: a heartbeat that comes meanwhile must not hear that its runs are lost, and nothing is begun in a slot
        // that is taken.
        let offer = executor.offer;
        self.registry().enroll_with(id, offer.clone(), owner, draining, leases, self.clock().now());
        let attempts = its_own.iter().map(restore::restored).collect();
        self.send_input(Input::TakenOver { executor: id, offer, draining, attempts });
        restore::readopt(self, &its_own).await
    }

    /// Makes sure that whoever has these runs is with this node.
    pub(super) async fn host_holders(&self, speaker: Speaker, runs: impl Iterator<Item = RunId>) {
        if !self.queries().store().is_shared() {
            return;
        }
        let unknown: BTreeSet<RunId> = runs.filter(|run| self.registry().lease_of(speaker, *run).is_none()).collect();
        for run_id in unknown {
            if let Some(executor) = self.holder(run_id).await {
                // Whoever is not there, or may not be spoken for, has its report refused.
                drop(self.host(speaker, executor).await);
            }
        }
    }

    async fn holder(&self, run_id: RunId) -> Option<Uuid> {
        let run = self.queries().run(run_id).await.ok()??;
        let job = self.job(run.job_id).await.ok()??;
        Some(job.active_run(run_id)?.attempt()?.executor.generation)
    }

    /// The executor is with another node now: what was not handed out here waits for somebody, the rest goes on there.
    pub(crate) fn let_move(&self, id: Uuid, node: &str) {
        if self.registry().load(id).is_none() {
            return;
        }
        tracing::info!(executor = %id, node, "an executor went to another node");
        self.release(id, "went to another node before it took the run");
    }

    /// Another node wrote down that these are not there any more, and settled what they had: none of them gets work here.
    /// One that lives all the same hears so when it asks, and registers again.
    pub(crate) fn let_go_of_all_but(&self, there: &BTreeSet<Uuid>) {
        for id in self.registry().ids().difference(there) {
            tracing::info!(executor = %id, "an executor was given up by another node");
            self.release(*id, "was given up by another node before it took the run");
        }
    }

    fn release(&self, id: Uuid, why: &str) {
        self.notify_core(id, News::Gone);
        let left = self.registry().remove(id);
        self.give_back(left.undelivered, why);
    }

    /// Somebody asked by another node that the executor leaves.
    pub(crate) fn follow_drain(&self, id: Uuid, presence: &Presence) {
        if *presence == Presence::Draining
            && self.registry().load(id).is_some()
            && !self.registry().is_draining(id)
            && let Some(left) = self.registry().ask_to_leave(id)
        {
            self.notify_core(id, News::Draining);
            self.give_back(left.undelivered, "was asked to leave before it took the run");
        }
    }
}
