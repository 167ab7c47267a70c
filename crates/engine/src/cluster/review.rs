//! What runs here may have been cancelled, or given up, by another node: this one ends it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ordo_model::job::Job;
use ordo_model::{EntityId, JobId};
use ordo_store::{Fault, Store};
use tokio::sync::Notify;

use crate::commit::batcher::chain;
use crate::commit::encoding::codec;
use crate::run::runner::{Mine, Runner};

#[derive(Clone)]
pub(crate) struct Reviewer {
    store: Arc<dyn Store>,
    runner: Runner,
    wanted: Arc<Notify>,
}

impl Reviewer {
    pub(crate) fn new(store: Arc<dyn Store>, runner: Runner) -> Reviewer {
        Reviewer { store, runner, wanted: Arc::default() }
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
        }
    }

    async fn review(&self) -> Result<(), Fault> {
        let running = self.runner.mine();
        let jobs: BTreeSet<JobId> = running.iter().map(|mine| mine.job_id).collect();
        let entities: Vec<EntityId> = jobs.iter().map(|id| (*id).into()).collect();
        if entities.is_empty() {
            return Ok(());
        }
        let mut found = std::collections::BTreeMap::new();
        for (id, snapshot) in jobs.into_iter().zip(self.store.load(&entities).await?) {
            found.insert(id, snapshot.map(|snapshot| codec::decode_job(&snapshot.state)).transpose()?);
        }
        for mine in running {
            if found.get(&mine.job_id).is_some_and(|job| is_unwanted(job.as_ref(), &mine)) {
                self.runner.kill(mine.run_id);
            }
        }
        Ok(())
    }
}

/// The attempt is not the current one any more, or its end was asked for.
fn is_unwanted(job: Option<&Job>, mine: &Mine) -> bool {
    let run = job.and_then(|job| job.active_run(mine.run_id));
    let current = run.and_then(|run| run.attempt()).is_some_and(|attempt| attempt.token == mine.token);
    !current || run.is_some_and(|run| run.cancelling.is_some())
}
