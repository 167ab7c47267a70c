//! The executor inside the server: runs attempts as tasks, ends them at their timeout, brings their reports back.
//!
//! Invariant: every attempt given to the runner comes back exactly once, whatever its tool does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ordo_model::job::AttemptReport;
use ordo_model::{FencingToken, JobId, Millis, RunId, Timestamp};
use ordo_store::Fault;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::commit::batcher::chain;
use crate::commit::change::{SlotLocation, StartedAttempt};
use crate::commit::queue::BatcherQueue;
use crate::core::{FinishedAttempt, Input};
use crate::run::gate::Gate;
use crate::run::logs::{LogLine, LogSink};
use crate::run::result;
use crate::run::run_log;
use crate::run::secrets::Vault;
use crate::run::tool::{DeliveryPayload, Failure, Tool, Work};
use crate::run::trace;
use crate::run::trace::{RunTrace, Sampling};
use crate::time::clock::{SharedClock, Stopwatch};

/// How long an attempt that was started ahead waits for a slot before it is given back.
const BEGIN_WITHIN: Duration = Duration::from_secs(1);

pub type Tools = BTreeMap<String, Arc<dyn Tool>>;

/// Why an attempt was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Cancelled,
    Shutdown,
}

#[derive(Clone)]
pub(crate) struct Runner {
    pub tools: Arc<Tools>,
    pub(crate) vault: Vault,
    pub clock: SharedClock,
    pub core: mpsc::UnboundedSender<Input>,
    pub batcher: BatcherQueue,
    pub lines: mpsc::UnboundedSender<(RunId, LogLine)>,
    pub flushes: mpsc::UnboundedSender<(RunId, oneshot::Sender<()>)>,
    pub sampling: Sampling,
    pub(crate) gate: Gate,
    pub(crate) running: Arc<Mutex<BTreeMap<RunId, RunningTool>>>,
    /// Everything was stopped: what still begins is stopped at once.
    pub(crate) ending: Arc<AtomicBool>,
}

/// An attempt that runs here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mine {
    pub(crate) run_id: RunId,
    pub(crate) job_id: JobId,
    pub(crate) token: FencingToken,
}

#[derive(Debug)]
pub(crate) struct RunningTool {
    job_id: JobId,
    token: FencingToken,
    cancel: CancellationToken,
    why: Option<Stop>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("tools", &self.tools.keys()).finish_non_exhaustive()
    }
}

impl Runner {
    pub(crate) fn execute(&self, assignment: StartedAttempt) {
        let cancel = CancellationToken::new();
        self.lock().insert(
            assignment.run_id,
            RunningTool { job_id: assignment.job_id, token: assignment.token, cancel: cancel.clone(), why: None },
        );
        if self.ending.load(Ordering::SeqCst) {
            self.stop(assignment.run_id, Stop::Shutdown);
        }
        let runner = self.clone();
        tokio::spawn(async move { runner.attempt(assignment, cancel).await });
    }

    /// Everything that runs here.
    pub(crate) fn mine(&self) -> Vec<Mine> {
        let mine = |(run_id, running): (&RunId, &RunningTool)| Mine {
            run_id: *run_id,
            job_id: running.job_id,
            token: running.token,
        };
        self.lock().iter().map(mine).collect()
    }

    pub(crate) fn kill(&self, run: RunId) {
        self.stop(run, Stop::Cancelled);
    }

    /// The same, unless the run has another attempt by now.
    pub(crate) fn kill_attempt(&self, run: RunId, token: FencingToken) {
        if self.lock().get(&run).is_some_and(|running| running.token == token) {
            self.kill(run);
        }
    }

    /// Ends everything that still runs.
    pub(crate) fn stop_all(&self) {
        self.ending.store(true, Ordering::SeqCst);
        let runs: Vec<RunId> = self.lock().keys().copied().collect();
        for run in runs {
            self.stop(run, Stop::Shutdown);
        }
    }

    fn stop(&self, run: RunId, why: Stop) {
        if let Some(running) = self.lock().get_mut(&run) {
            running.why.get_or_insert(why);
            running.cancel.cancel();
        }
    }

    async fn attempt(self, assignment: StartedAttempt, cancel: CancellationToken) {
        let report = match self.slot(assignment.location, &cancel).await {
            Some(_slot) => self.executed(&assignment, cancel).await,
            None => self.not_begun(&assignment),
        };
        let finished =
            FinishedAttempt { job_id: assignment.job_id, run_id: assignment.run_id, token: assignment.token, report };
        drop(self.core.send(Input::Finished(finished)));
    }

    /// A slot to run in; None if the attempt is stopped before there is one, or waits for too long.
    async fn slot(&self, place: SlotLocation, cancel: &CancellationToken) -> Option<OwnedSemaphorePermit> {
        let SlotLocation::Local(pool) = place else { return None };
        if let Some(slot) = self.gate.try_enter(pool) {
            return Some(slot);
        }
        tokio::select! {
            biased;
            slot = self.gate.enter(pool) => slot,
            () = cancel.cancelled() => None,
            () = tokio::time::sleep(BEGIN_WITHIN) => None,
        }
    }

    /// What is reported of an attempt that did nothing.
    fn not_begun(&self, assignment: &StartedAttempt) -> AttemptReport {
        match self.ended(assignment) {
            Some(Stop::Cancelled) => AttemptReport::Cancelled { started_at: None },
            Some(Stop::Shutdown) => AttemptReport::Unclaimed { reason: "the node went down before it began".into() },
            None => AttemptReport::Unclaimed { reason: format!("no slot became free within {BEGIN_WITHIN:?}") },
        }
    }

    async fn executed(&self, assignment: &StartedAttempt, cancel: CancellationToken) -> AttemptReport {
        run_log::began(assignment);
        let run_trace = RunTrace::of(assignment.run_id, assignment.traceparent, self.sampling);
        let span = trace::begin(assignment, &run_trace);
        let started_at = self.clock.now();
        let watch = Stopwatch::start();
        let sink =
            LogSink::new(assignment.run_id, self.clock.clone(), self.lines.clone()).for_attempt(assignment.attempt);
        let (outcome, sink) = self.work_masked(assignment, run_trace, cancel, sink).await;
        sink.finish();
        if sink.has_lines() {
            self.flush(assignment.run_id).await;
        }
        let why = self.ended(assignment);
        let report = match (outcome, why) {
            (Ok(result), _) => self.completed(assignment, started_at, result).await,
            (Err(_), Some(Stop::Cancelled)) => AttemptReport::Cancelled { started_at: Some(started_at) },
            (Err(_), Some(Stop::Shutdown)) => AttemptReport::Interrupted { started_at: Some(started_at) },
            (Err(failure), None) => AttemptReport::Failed { started_at: Some(started_at), reason: failure.reason },
        };
        run_log::ended(assignment, watch.elapsed(), &report);
        trace::end(&span, &report);
        report
    }

    /// Why the attempt was stopped, if it was. A newer attempt of the run keeps its own entry.
    fn ended(&self, assignment: &StartedAttempt) -> Option<Stop> {
        let mut running = self.lock();
        if running.get(&assignment.run_id).is_some_and(|current| current.token == assignment.token) {
            return running.remove(&assignment.run_id).and_then(|ended| ended.why);
        }
        None
    }

    /// Works with the values of secrets in the place of their references, and covers them in all that comes back.
    async fn work_masked(
        &self,
        assignment: &StartedAttempt,
        trace: RunTrace,
        cancel: CancellationToken,
        sink: LogSink,
    ) -> (Result<Value, Failure>, LogSink) {
        let resolved = match self.vault.resolve(&assignment.tool_input).await {
            Ok(resolved) => resolved,
            Err(error) => return (Err(Failure::new(error.to_string())), sink),
        };
        let (mask, sink) = (resolved.mask.clone(), sink.masking(resolved.mask));
        let outcome = self.work(assignment, resolved.input, trace, cancel, sink.clone()).await;
        let outcome = match outcome {
            Ok(result) => Ok(mask.value_aside(result).await),
            Err(failure) => Err(Failure::new(mask.text(&failure.reason).into_owned())),
        };
        (outcome, sink)
    }

    async fn work(
        &self,
        assignment: &StartedAttempt,
        input: Value,
        trace: RunTrace,
        cancel: CancellationToken,
        log: LogSink,
    ) -> Result<Value, Failure> {
        let Some(tool) = self.tools.get(&assignment.tool_name).cloned() else {
            return Err(Failure::new(format!("there is no tool {:?} here any more", assignment.tool_name)));
        };
        let work = Work {
            job_id: assignment.job_id,
            run_id: assignment.run_id,
            label: assignment.label.clone(),
            attempt: assignment.attempt,
            token: assignment.token,
            scheduled_for: assignment.scheduled_for,
            shard: assignment.shard,
            input,
            trace,
            payload: self.payload(assignment).await?,
            log,
            cancel: cancel.clone(),
        };
        let mut task = tokio::spawn(async move { tool.run(work).await });
        tokio::select! {
            biased;
            done = &mut task => unpanicked(done),
            () = tokio::time::sleep(assignment.timeout.to_std()) => {
                cancel.cancel();
                let ended = unpanicked(task.await);
                Err(timed_out(assignment.timeout, ended.is_ok()))
            }
        }
    }

    /// What came with the run's delivery, if it has one.
    async fn payload(&self, assignment: &StartedAttempt) -> Result<Option<DeliveryPayload>, Failure> {
        let Some(delivery) = assignment.delivery else { return Ok(None) };
        let unread = |fault: Fault| {
            Failure::new(format!("the payload of delivery {delivery} cannot be read: {}", chain(&fault)))
        };
        let payload = self.vault.queries.payload(delivery).await.map_err(unread)?;
        let gone = || Failure::new(format!("the payload of delivery {delivery} is no longer kept"));
        payload.map(Some).ok_or_else(gone)
    }

    async fn completed(&self, assignment: &StartedAttempt, started_at: Timestamp, result: Value) -> AttemptReport {
        result::bounded(&self.batcher, assignment.run_id, started_at, result).await.unwrap_or_else(|_| {
            AttemptReport::Failed { started_at: Some(started_at), reason: "the result could not be stored".into() }
        })
    }

    async fn flush(&self, run: RunId) {
        let (done, flushed) = oneshot::channel();
        drop(self.flushes.send((run, done)));
        // The log writer is gone only while the process is going down.
        drop(flushed.await);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<RunId, RunningTool>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unpanicked(done: Result<Result<Value, Failure>, tokio::task::JoinError>) -> Result<Value, Failure> {
    done.unwrap_or_else(|error| Err(Failure::new(format!("the tool broke down: {error}"))))
}

fn timed_out(timeout: Millis, completed_anyway: bool) -> Failure {
    let how = if completed_anyway { " (and completed while being stopped)" } else { "" };
    Failure::new(format!("timed out after {timeout}{how}"))
}
