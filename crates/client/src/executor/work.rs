//! One run in this executor: its task, its log, its timeout, its report.

use std::sync::Arc;
use std::time::Duration;

use ordo_model::Millis;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::books::Books;
use super::outgoing::Parcel;
use super::{Assigned, Handler, Outcome};

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

/// Where a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The executor itself.
    System,
}

impl LogStream {
    const fn name(self) -> &'static str {
        match self {
            LogStream::Stdout => "stdout",
            LogStream::Stderr => "stderr",
            LogStream::System => "system",
        }
    }
}

/// Where a run puts its lines; they are sent while it runs.
#[derive(Debug, Clone)]
pub struct Log {
    run_id: String,
    token: u64,
    send: mpsc::UnboundedSender<Parcel>,
}

impl Log {
    /// A line of standard output.
    pub fn line(&self, text: &str) {
        self.put(LogStream::Stdout, text, None);
    }

    /// A line of some stream, with its time (RFC 3339) if it is known; the server's time otherwise.
    pub fn put(&self, stream: LogStream, text: &str, at: Option<&str>) {
        let line = json!({ "at": at, "stream": stream.name(), "text": text });
        drop(self.send.send(Parcel::Line { run_id: self.run_id.clone(), token: self.token, line }));
    }
}

pub(super) fn begin(
    run: Assigned,
    handler: &Arc<dyn Handler>,
    books: &Arc<Books>,
    send: &mpsc::UnboundedSender<Parcel>,
) {
    let (run_id, token, cancel) = (run.run_id.clone(), run.token, run.cancel.clone());
    books.begin(&run_id, token, cancel.clone());
    let log = Log { run_id: run_id.clone(), token, send: send.clone() };
    let (handler, books, send) = (handler.clone(), books.clone(), send.clone());
    tokio::spawn(async move {
        let status = status_of(run, handler, log, &cancel).await;
        let report = json!({ "run_id": run_id, "token": token, "status": status });
        // First the report is on its way, then the run is no longer in the heartbeats.
        drop(send.send(Parcel::Report(report)));
        books.end(&run_id, token);
    });
}

async fn status_of(run: Assigned, handler: Arc<dyn Handler>, log: Log, cancel: &Cancel) -> Value {
    let timeout: Duration = run.timeout.parse::<Millis>().map_or(Duration::MAX, Millis::to_std);
    let said = run.timeout.clone();
    let mut task = tokio::spawn(async move { handler.run(run, log).await });
    let outcome = tokio::select! {
        done = &mut task => done,
        () = tokio::time::sleep(timeout) => {
            cancel.fire();
            drop(task.await);
            return json!({ "type": "failed", "reason": format!("timed out after {said}") });
        }
    };
    match outcome {
        Ok(Outcome::Completed(result)) => json!({ "type": "completed", "result": result }),
        Ok(Outcome::Failed(_)) if cancel.is_cancelled() => json!({ "type": "cancelled" }),
        Ok(Outcome::Failed(reason)) => json!({ "type": "failed", "reason": reason }),
        Ok(Outcome::GivenBack(delay)) => json!({ "type": "nack", "delay": format!("{}ms", delay.as_millis()) }),
        Err(error) => json!({ "type": "failed", "reason": format!("the handler broke down: {error}") }),
    }
}
