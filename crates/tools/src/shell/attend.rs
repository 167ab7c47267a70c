//! Stays with a started command until it and its group have ended.
//!
//! Invariant: the output is read the whole time, so no process that is stopped is stuck writing; every wait
//! after the command's own end is bounded.

use std::process::ExitStatus;

use ordo_engine::logs::LogSink;
use ordo_engine::tool::Failure;
use ordo_model::LogStream;
use rustix::process::Signal;
use serde_json::Value;
use tokio::process::Child;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::ending::Ending;
use crate::limits::{KILL_GRACE, OUTPUT_GRACE};
use crate::process::book::OpenRecord;
use crate::process::group::Group;

const OUTSIDER: &str = "a process outside the command's group keeps its output open: no longer read";

pub(crate) struct Attended {
    process: Process,
    capture: Capture,
}

struct Process {
    /// Dropped first: it may still have to be killed, by a number that the child holds until it is reaped.
    group: Group,
    child: Child,
}

impl Attended {
    pub(crate) fn new(mut child: Child, group: Group, log: LogSink) -> Attended {
        let capture = Capture::of(&mut child, log);
        Attended { process: Process { group, child }, capture }
    }

    pub(crate) async fn until_the_end(
        mut self,
        cancel: &CancellationToken,
        entry: &OpenRecord,
    ) -> Result<Value, Failure> {
        let ending = match self.exit_or(cancel).await? {
            Some(status) => {
                self.drain(cancel).await;
                Ending::Exited(status)
            }
            None => self.stop(entry).await,
        };
        self.process.group.release();
        ending.outcome(&self.capture.finish())
    }

    /// The command's own end, or nothing when it is cancelled first.
    async fn exit_or(&mut self, cancel: &CancellationToken) -> Result<Option<ExitStatus>, Failure> {
        let Attended { process, capture } = self;
        let exit = async {
            tokio::select! {
                biased;
                status = process.wait() => status.map(Some),
                () = cancel.cancelled() => Ok(None),
            }
        };
        let exit = capture.read_along(exit).await;
        exit.map_err(|error| Failure::new(format!("lost sight of the command: {error}")))
    }

    /// The command has ended; what it started may keep its output open, but not keep us.
    async fn drain(&mut self, cancel: &CancellationToken) {
        tokio::select! {
            ended = timeout(OUTPUT_GRACE, self.capture.read_to_end()) => if ended.is_ok() { return },
            () = cancel.cancelled() => {}
        }
        if !self.process.group.has_members() {
            return self.say(OUTSIDER);
        }
        self.say("the command has ended, but processes it started kept its output open: killed");
        self.process.group.signal(Signal::KILL);
        self.drain_what_is_left().await;
    }

    async fn drain_what_is_left(&mut self) {
        if timeout(OUTPUT_GRACE, self.capture.read_to_end()).await.is_err() {
            self.say(OUTSIDER);
        }
    }

    async fn stop(&mut self, entry: &OpenRecord) -> Ending {
        let known = entry.descendants().await;
        self.say("cancelled: TERM to the process group");
        let ending = if self.signal_and_wait(Signal::TERM).await {
            Ending::Stopped
        } else {
            self.say("still running: KILL to the process group");
            if !self.signal_and_wait(Signal::KILL).await {
                self.say("some processes could not be killed");
            }
            Ending::Killed
        };
        if entry.kill_strays(known).await > 0 {
            self.say("killed processes that had left the process group");
        }
        self.drain_what_is_left().await;
        ending
    }

    /// Whether the whole group ended in time.
    async fn signal_and_wait(&mut self, signal: Signal) -> bool {
        let Attended { process, capture } = self;
        process.group.signal(signal);
        capture.read_along(timeout(KILL_GRACE, process.gone())).await.is_ok()
    }

    fn say(&self, text: &str) {
        self.capture.log().line(LogStream::System, text);
    }
}

impl Process {
    async fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.group.leader_was_reaped();
        Ok(status)
    }

    async fn gone(&mut self) {
        if let Err(error) = self.wait().await {
            tracing::warn!(%error, "cannot wait for a command that was cancelled");
        }
        self.group.gone().await;
    }
}
