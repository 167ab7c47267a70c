//! Stays with a started command until it and all that it started have ended.
//!
//! Invariant: the output is read the whole time, so no process that is stopped is stuck writing; every wait
//! after the command's own end is bounded.

use std::process::ExitStatus;

use ordo_engine::logs::LogSink;
use ordo_engine::tool::Failure;
use ordo_model::LogStream;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::ending::Ending;
use crate::limits::{KILL_GRACE, OUTPUT_GRACE};
use crate::process::book::OpenRecord;
use crate::process::supervised::Supervised;

const OUTSIDER: &str = "a process that the command did not start keeps its output open: no longer read";
const LEFT: &str = "the command has ended, but processes it started were still running: ended";

pub(crate) struct RunningCommand {
    process: Supervised,
    capture: Capture,
}

impl RunningCommand {
    pub(crate) fn new(mut process: Supervised, log: LogSink) -> RunningCommand {
        let output = process.output();
        RunningCommand { process, capture: Capture::of(output, log) }
    }

    pub(crate) async fn until_the_end(
        mut self,
        cancel: &CancellationToken,
        entry: &OpenRecord,
    ) -> Result<Value, Failure> {
        let ending = match self.exit_or(cancel).await {
            Ok(Some(status)) => {
                self.settle(cancel).await;
                Ending::Exited(status)
            }
            Ok(None) => self.stop().await,
            Err(error) => {
                entry.kill_strays().await;
                return Err(Failure::new(format!("lost sight of the command: {error}")));
            }
        };
        ending.outcome(&self.capture.finish())
    }

    /// The command's own end, or nothing when it is cancelled first.
    async fn exit_or(&mut self, cancel: &CancellationToken) -> std::io::Result<Option<ExitStatus>> {
        let RunningCommand { process, capture } = self;
        let exit = async {
            tokio::select! {
                biased;
                status = process.ended() => status.map(Some),
                () = cancel.cancelled() => Ok(None),
            }
        };
        capture.read_along(exit).await
    }

    /// The command has ended; what it started has a moment to end too, and is ended then.
    async fn settle(&mut self, cancel: &CancellationToken) {
        let RunningCommand { process, capture } = self;
        let over = async { tokio::join!(process.gone(), capture.read_to_end()) };
        tokio::select! {
            ended = timeout(OUTPUT_GRACE, over) => if ended.is_ok() { return },
            () = cancel.cancelled() => {}
        }
        if !self.process.is_gone() {
            self.say(LEFT);
            self.end_all().await;
        }
        self.drain_what_is_left().await;
    }

    async fn drain_what_is_left(&mut self) {
        if timeout(OUTPUT_GRACE, self.capture.read_to_end()).await.is_err() {
            self.say(OUTSIDER);
        }
    }

    async fn stop(&mut self) -> Ending {
        self.say("cancelled: TERM to the command and all that it started");
        let ending = self.end_all().await;
        self.drain_what_is_left().await;
        ending
    }

    /// First asks, then insists.
    async fn end_all(&mut self) -> Ending {
        self.process.terminate().await;
        if self.is_gone_in_time().await {
            return Ending::Stopped;
        }
        self.say("still running: KILL");
        self.process.kill().await;
        if !self.is_gone_in_time().await {
            self.say("some processes could not be killed");
        }
        Ending::Killed
    }

    /// Whether everything ended in time.
    async fn is_gone_in_time(&mut self) -> bool {
        let RunningCommand { process, capture } = self;
        capture.read_along(timeout(KILL_GRACE, process.gone())).await.is_ok()
    }

    fn say(&self, text: &str) {
        self.capture.log().line(LogStream::System, text);
    }
}
