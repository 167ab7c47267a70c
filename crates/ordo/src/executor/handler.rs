//! The tools of this machine, as a remote executor uses them.
//!
//! Invariant: all lines of a run have been handed on before its outcome is.

use std::sync::Arc;

use ordo_client::executor::{Assigned, Cancel, Handler, HookPayload, RunFuture, RunLog, RunOutcome};
use ordo_engine::Tools;
use ordo_engine::clock::SystemClock;
use ordo_engine::logs::{LogLine, LogSink};
use ordo_engine::tool::{DeliveryPayload, Work};
use ordo_engine::trace::{RunTrace, Sampling};
use ordo_model::RunId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

pub(crate) struct ToolHandler {
    tools: Arc<Tools>,
}

impl ToolHandler {
    pub(crate) fn new(tools: Tools) -> ToolHandler {
        ToolHandler { tools: Arc::new(tools) }
    }
}

impl Handler for ToolHandler {
    fn run(&self, run: Assigned, log: RunLog) -> RunFuture {
        let tools = self.tools.clone();
        Box::pin(async move { outcome(&tools, run, log).await })
    }
}

async fn outcome(tools: &Tools, run: Assigned, log: RunLog) -> RunOutcome {
    let Some(tool) = tools.get(&run.tool_name).cloned() else {
        return RunOutcome::Failed(format!("there is no tool {:?} here", run.tool_name));
    };
    let (lines, receive) = mpsc::unbounded_channel();
    let forwarding = tokio::spawn(forward(receive, log));
    let cancel = CancellationToken::new();
    let _bridge = AbortOnDropHandle::new(tokio::spawn(bridge(run.cancel.clone(), cancel.clone())));
    let Some(work) = work(run, lines, cancel) else {
        return RunOutcome::Failed("the server sent a run that this version cannot read".to_owned());
    };
    let sink = work.log.clone();
    let done = tool.run(work).await;
    sink.finish();
    drop(sink);
    drop(forwarding.await);
    match done {
        Ok(result) => RunOutcome::Completed(result),
        Err(failure) => RunOutcome::Failed(failure.reason),
    }
}

fn work(run: Assigned, lines: mpsc::UnboundedSender<(RunId, LogLine)>, cancel: CancellationToken) -> Option<Work> {
    let run = run.assignment;
    Some(Work {
        job_id: run.job_id,
        run_id: run.run_id,
        label: run.label,
        attempt: run.attempt,
        token: run.token,
        scheduled_for: run.scheduled_for,
        shard: run.shard,
        input: run.tool_input,
        trace: trace(run.run_id, run.traceparent.as_deref()),
        payload: match run.payload {
            Some(sent) => Some(payload(sent)?),
            None => None,
        },
        log: LogSink::new(run.run_id, Arc::new(SystemClock), lines).for_attempt(run.attempt),
        cancel,
    })
}

/// The trace that the server named; the run's own, where it named none. The span of the attempt follows from it.
fn trace(run_id: RunId, traceparent: Option<&str>) -> RunTrace {
    RunTrace::of(run_id, traceparent.and_then(|traceparent| traceparent.parse().ok()), Sampling::ALL)
}

/// What a webhook brought, as the server wrote it down for the way.
fn payload(sent: HookPayload) -> Option<DeliveryPayload> {
    let body = sent.bytes()?.into();
    Some(DeliveryPayload { delivery: sent.delivery, hook: sent.hook, headers: sent.headers, body })
}

async fn forward(mut receive: mpsc::UnboundedReceiver<(RunId, LogLine)>, log: RunLog) {
    while let Some((_, line)) = receive.recv().await {
        log.put(line.stream, &line.text, Some(line.at));
    }
}

async fn bridge(said: Cancel, cancel: CancellationToken) {
    said.cancelled().await;
    cancel.cancel();
}
