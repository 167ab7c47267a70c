//! One run in this executor: its task, its log, its timeout, its report.

use std::sync::Arc;

use ordo_api::executors::Assignment;
use ordo_api::reports::{NewLogLine, Report, ReportStatus};
use ordo_model::{FencingToken, LogStream, Millis, RunId, Timestamp};
use tokio::sync::{mpsc, watch};

use super::books::HeldRuns;
use super::outgoing::OutgoingItem;
use super::{Handler, RunOutcome};

/// Says when to stop. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel(Arc::new(watch::Sender::new(false)))
    }
}

impl Cancel {
    pub(super) fn fire(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was said.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is said.
    pub async fn cancelled(&self) {
        let mut said = self.0.subscribe();
        // The sender lives in `self`.
        drop(said.wait_for(|said| *said).await);
    }
}

/// A run that was handed to this executor. It must be done, failed or given back.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// What to do.
    pub assignment: Assignment,
    /// Says when to stop.
    pub cancel: Cancel,
}

impl std::ops::Deref for Assigned {
    type Target = Assignment;

    fn deref(&self) -> &Assignment {
        &self.assignment
    }
}

/// Where a run puts its lines; they are sent while it runs.
#[derive(Debug, Clone)]
pub struct RunLog {
    run_id: RunId,
    token: FencingToken,
    send: mpsc::UnboundedSender<OutgoingItem>,
}

impl RunLog {
    /// A line of standard output.
    pub fn line(&self, text: &str) {
        self.put(LogStream::Stdout, text, None);
    }

    /// A line of some stream, with its time if it is known; the server's time otherwise.
    pub fn put(&self, stream: LogStream, text: &str, at: Option<Timestamp>) {
        let line = NewLogLine { at, stream, text: text.to_owned() };
        drop(self.send.send(OutgoingItem::Line { run_id: self.run_id, token: self.token, line }));
    }
}

/// Runs it; `books` know of it already.
pub(super) fn begin(
    assignment: Assignment,
    cancel: Cancel,
    handler: &Arc<dyn Handler>,
    books: &Arc<HeldRuns>,
    send: &mpsc::UnboundedSender<OutgoingItem>,
) {
    let (run_id, token) = (assignment.run_id, assignment.token);
    let log = RunLog { run_id, token, send: send.clone() };
    let run = Assigned { assignment, cancel: cancel.clone() };
    let (handler, books, send) = (handler.clone(), books.clone(), send.clone());
    tokio::spawn(async move {
        let slot = books.slot().await;
        let status = status_of(run, handler, log, &cancel).await;
        drop(slot);
        let report = Report { run_id, token, status };
        // First the report is on its way, then the run is no longer in the heartbeats.
        drop(send.send(OutgoingItem::Report(report)));
        books.end(run_id, token);
    });
}

async fn status_of(run: Assigned, handler: Arc<dyn Handler>, log: RunLog, cancel: &Cancel) -> ReportStatus {
    let failed = |reason: String| ReportStatus::Failed { reason };
    let timeout = run.timeout;
    let mut task = tokio::spawn(async move { handler.run(run, log).await });
    let outcome = tokio::select! {
        done = &mut task => done,
        () = tokio::time::sleep(timeout.to_std()) => {
            cancel.fire();
            drop(task.await);
            return failed(format!("timed out after {timeout}"));
        }
    };
    match outcome {
        Ok(RunOutcome::Completed(result)) => ReportStatus::Completed { result },
        Ok(RunOutcome::Failed(_)) if cancel.is_cancelled() => ReportStatus::Cancelled {},
        Ok(RunOutcome::Failed(reason)) => failed(reason),
        Ok(RunOutcome::GivenBack(delay)) => {
            let delay = Millis::from_ms(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
            ReportStatus::Nack { delay: Some(delay), reason: None }
        }
        Err(error) => failed(format!("the handler broke down: {error}")),
    }
}
