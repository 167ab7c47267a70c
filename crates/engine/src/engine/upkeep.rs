//! History is trimmed, and keys that have expired are forgotten: once in a while, and soon after it is needed.

use std::sync::Arc;
use std::time::Duration;

use ordo_store::Fault;
use tokio::sync::Notify;

use crate::commit::batcher::chain;
use crate::commit::command::SubmitError;
use crate::engine::Engine;
use crate::maintenance::retention;

/// How often the maintenance passes run.
const MAINTENANCE_EVERY: Duration = Duration::from_secs(60);
/// Between two passes that somebody asked for: jobs that are trimmed together cost few commits.
const TIDY_PAUSE: Duration = Duration::from_secs(1);

impl Engine {
    /// One pass of maintenance.
    pub async fn keep(&self) -> Result<usize, Fault> {
        let now = self.shared.clock.now();
        let requests = retention::pass(&self.shared.queries, now).await?;
        let mut done = 0;
        for request in requests {
            match self.send(request).await {
                Ok(_) => done += 1,
                // Somebody used the job meanwhile: the next pass looks again.
                Err(SubmitError::Refused(_) | SubmitError::Contended | SubmitError::Overloaded) => {}
                Err(error) => tracing::warn!(%error, "history could not be trimmed"),
            }
        }
        self.shared.queries.store().forget_dedup(now, 10_000).await?;
        self.forget_submissions().await?;
        Ok(done)
    }
}

/// Makes its pass once in a while, and soon after a job was found to keep too much.
pub(super) async fn maintain(engine: Engine, untidy: Arc<Notify>) {
    let mut every = tokio::time::interval(MAINTENANCE_EVERY);
    every.tick().await;
    loop {
        tokio::select! {
            biased;
            _ = every.tick() => {}
            () = untidy.notified() => tokio::time::sleep(TIDY_PAUSE).await,
        }
        match engine.keep().await {
            // There may be more than one pass takes.
            Ok(done) if done >= retention::JOBS_PER_PASS => untidy.notify_one(),
            Ok(_) => {}
            Err(fault) => tracing::warn!(error = %chain(&fault), "a maintenance pass could not be made"),
        }
    }
}
