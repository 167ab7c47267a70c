//! What runs here, or on an executor that dialled in here, may have been cancelled, given up or ended without this process
//! having heard of it: by another node, or by a commit whose answer was lost. It is ended here too, and no longer counted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ordo_model::job::Job;
use ordo_model::{EntityId, FencingToken, JobId, RunId};
use ordo_store::{Fault, Store};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::commit::batcher::chain;
use crate::commit::encoding::codec;
use crate::core::{Input, Reviewed};
use crate::dispatch::executors::registry::{ExecutorRegistry, LeasedAttempt};
use crate::engine::CoreMessage;
use crate::run::runner::{Mine, Runner};

/// Between two reviews when others write all the time.
const SPACING: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub(crate) struct Reviewer {
    store: Arc<dyn Store>,
    runner: Runner,
    registry: Arc<ExecutorRegistry>,
    core: mpsc::UnboundedSender<Input>,
    messages: mpsc::UnboundedSender<CoreMessage>,
    wanted: Arc<Notify>,
}

impl Reviewer {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        runner: Runner,
        registry: Arc<ExecutorRegistry>,
        core: mpsc::UnboundedSender<Input>,
        messages: mpsc::UnboundedSender<CoreMessage>,
    ) -> Reviewer {
        Reviewer { store, runner, registry, core, messages, wanted: Arc::default() }
    }

    /// Something changed somewhere: review soon. Nudges that come during a review become one more review.
    pub(crate) fn nudge(&self) {
        self.wanted.notify_one();
    }

    pub(crate) async fn run(self) {
        loop {
            self.wanted.notified().await;
            if let Err(fault) = self.review().await {
                tracing::warn!(error = %chain(&fault), "what runs here could not be looked up");
            }
            tokio::time::sleep(SPACING).await;
        }
    }

    async fn review(&self) -> Result<(), Fault> {
        let (running, leased) = (self.runner.mine(), self.leased().await);
        let jobs = running.iter().map(|mine| mine.job_id).chain(leased.iter().map(|leased| leased.job_id));
        let jobs: BTreeSet<JobId> = jobs.collect();
        let entities: Vec<EntityId> = jobs.iter().map(|id| (*id).into()).collect();
        if entities.is_empty() {
            return Ok(());
        }
        let mut found = BTreeMap::new();
        for (id, snapshot) in jobs.into_iter().zip(self.store.load(&entities).await?) {
            found.insert(id, snapshot.map(|snapshot| codec::decode_job(&snapshot.state)).transpose()?);
        }
        for mine in running {
            if found.get(&mine.job_id).is_some_and(|job| is_unwanted(job.as_ref(), &mine)) {
                self.runner.kill_attempt(mine.run_id, mine.token);
            }
        }
        self.review_leased(leased, &found);
        Ok(())
    }

    /// What executors that dialled in have or are offered, and what is only counted as theirs.
    async fn leased(&self) -> Vec<LeasedAttempt> {
        let (reply, counted) = oneshot::channel();
        drop(self.messages.send(CoreMessage::RemoteAttempts(reply)));
        // The core is gone only while the process goes down.
        let counted = counted.await.unwrap_or_default();
        let mut leased = self.registry.attempts();
        let known: BTreeSet<(RunId, FencingToken)> = leased.iter().map(|one| (one.run_id, one.token)).collect();
        let others = counted.into_iter().filter(|(_, run_id, token)| !known.contains(&(*run_id, *token)));
        leased.extend(others.map(|(job_id, run_id, token)| LeasedAttempt { job_id, run_id, token, is_ending: true }));
        leased
    }

    /// What executors that dialled in have is ended, or forgotten, by the core.
    fn review_leased(&self, leased: Vec<LeasedAttempt>, found: &BTreeMap<JobId, Option<Job>>) {
        let mut reviewed = Reviewed::default();
        for LeasedAttempt { job_id, run_id, token, is_ending } in leased {
            let run = found.get(&job_id).and_then(Option::as_ref).and_then(|job| job.active_run(run_id));
            let is_current = run.and_then(|run| run.attempt()).is_some_and(|attempt| attempt.token == token);
            if !is_current {
                reviewed.over.push((run_id, token));
            } else if !is_ending && run.is_some_and(|run| run.cancelling.is_some()) {
                reviewed.cancel.push(run_id);
            }
        }
        if !reviewed.over.is_empty() || !reviewed.cancel.is_empty() {
            drop(self.core.send(Input::Reviewed(reviewed)));
        }
    }
}

/// The attempt is not the current one any more, or its end was asked for.
fn is_unwanted(job: Option<&Job>, mine: &Mine) -> bool {
    let run = job.and_then(|job| job.active_run(mine.run_id));
    let current = run.and_then(|run| run.attempt()).is_some_and(|attempt| attempt.token == mine.token);
    !current || run.is_some_and(|run| run.cancelling.is_some())
}
