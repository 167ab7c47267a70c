//! The executor's side of a supervisor: the order it gets, and what it reports of its command.
//!
//! Invariant: dropping it ends everything below the supervisor, which sees the end of the socket.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::output::CommandOutput;
use crate::launcher::protocol::{KILL, LaunchOrder, LaunchReport, NotStarted, TERMINATE};

#[derive(Debug)]
pub(crate) struct Supervised {
    supervisor: Child,
    output: Option<CommandOutput>,
    orders: OwnedWriteHalf,
    reports: Lines<BufReader<OwnedReadHalf>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("{0:?}")]
    NotStarted(NotStarted),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Supervised {
    /// Starts the supervisor; it has no order yet.
    pub(crate) fn spawn(mut command: Command) -> io::Result<Supervised> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (output, ends) = CommandOutput::pipes()?;
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(ends.stdout).stderr(ends.stderr);
        let supervisor = command.process_group(0).spawn()?;
        let (reports, orders) = UnixStream::from_std(ours)?.into_split();
        Ok(Supervised { supervisor, output: Some(output), orders, reports: BufReader::new(reports).lines() })
    }

    pub(crate) fn pid(&self) -> Option<i32> {
        self.supervisor.id().and_then(|pid| i32::try_from(pid).ok())
    }

    /// What the command writes; it is taken once.
    pub(crate) fn output(&mut self) -> Option<CommandOutput> {
        self.output.take()
    }

    /// Returns when the command has begun, with whether it is in its cgroup.
    pub(crate) async fn launch(&mut self, order: &LaunchOrder, stdin: &[u8]) -> Result<bool, LaunchError> {
        self.orders.write_all(&order.written(stdin)?).await?;
        match self.report().await? {
            LaunchReport::Started { in_cgroup } => Ok(in_cgroup),
            LaunchReport::NotStarted(why) => Err(LaunchError::NotStarted(why)),
            LaunchReport::Ended { .. } => Err(LaunchError::Io(io::Error::other("it ended before it began"))),
        }
    }

    /// The end of the command itself; what it started may go on. May be dropped and called again.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        match self.report().await? {
            LaunchReport::Ended { status } => Ok(ExitStatus::from_raw(status)),
            other @ (LaunchReport::Started { .. } | LaunchReport::NotStarted(_)) => {
                Err(io::Error::other(format!("its launcher said {other:?}")))
            }
        }
    }

    pub(crate) async fn terminate(&mut self) {
        self.order(TERMINATE).await;
    }

    pub(crate) async fn kill(&mut self) {
        self.order(KILL).await;
    }

    /// Returns when nothing is left of the command and of whatever it started.
    pub(crate) async fn gone(&mut self) {
        if let Err(error) = self.supervisor.wait().await {
            tracing::warn!(%error, "cannot wait for the launcher of a command");
        }
    }

    pub(crate) fn is_gone(&mut self) -> bool {
        self.supervisor.try_wait().is_ok_and(|ended| ended.is_some())
    }

    async fn report(&mut self) -> io::Result<LaunchReport> {
        let line = self.reports.next_line().await?;
        let line = line.ok_or_else(|| io::Error::other("its launcher is gone"))?;
        Ok(serde_json::from_str(&line)?)
    }

    /// One that has ended needs no order.
    async fn order(&mut self, order: u8) {
        drop(self.orders.write_all(&[order]).await);
    }
}
