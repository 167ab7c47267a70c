//! What a tool is: a way to do work, given an input, a place for its log lines and a signal to stop.
//!
//! Invariant: a tool that is cancelled stops all it started before it returns.

use async_trait::async_trait;
use bytes::Bytes;
use ordo_model::job::ShardPosition;
use ordo_model::{FencingToken, JobId, RunId, Timestamp, TraceParent};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::run::logs::LogSink;
use crate::run::trace::RunTrace;

#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Refuses an input that can never work, before a job with it is stored. The message says what to do.
    fn check(&self, input: &Value) -> Result<(), String>;

    /// Does the work of one attempt. Returns soon after `work.cancel` fires.
    async fn run(&self, work: Work) -> Result<Value, Failure>;

    /// Ends what a former generation of this process left running. Called once, before the first attempt.
    async fn sweep(&self) -> Result<usize, std::io::Error> {
        Ok(0)
    }
}

/// One attempt, as a tool sees it. The input holds the values of secrets: it is not shown.
#[derive(Clone)]
pub struct Work {
    pub job_id: JobId,
    pub run_id: RunId,
    pub label: String,
    pub attempt: u32,
    pub token: FencingToken,
    pub scheduled_for: Option<Timestamp>,
    pub shard: Option<ShardPosition>,
    pub input: Value,
    pub trace: RunTrace,
    /// What came with the webhook that brought the run about, as it came.
    pub payload: Option<DeliveryPayload>,
    pub log: LogSink,
    pub cancel: CancellationToken,
}

impl Work {
    /// The trace context of this attempt, for what it calls or starts.
    pub fn traceparent(&self) -> TraceParent {
        self.trace.attempt(self.run_id, self.attempt)
    }
}

/// One call of a hook, as a tool sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct DeliveryPayload {
    pub hook: String,
    pub delivery: Uuid,
    /// Those that the sender sent, without credentials.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl DeliveryPayload {
    /// The first header of that name; case does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        ordo_model::hook::Headers(&self.headers).get(name)
    }
}

/// What others sent may be private: only its size is shown.
impl std::fmt::Debug for DeliveryPayload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DeliveryPayload { hook, delivery, body, .. } = self;
        f.debug_struct("DeliveryPayload")
            .field("hook", hook)
            .field("delivery", delivery)
            .field("bytes", &body.len())
            .finish()
    }
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Work { job_id, run_id, attempt, .. } = self;
        f.debug_struct("Work")
            .field("job_id", job_id)
            .field("run_id", run_id)
            .field("attempt", attempt)
            .finish_non_exhaustive()
    }
}

/// The work was not done. The reason is shown to people as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    pub reason: String,
}

impl Failure {
    pub fn new(reason: impl Into<String>) -> Failure {
        Failure { reason: reason.into() }
    }
}
