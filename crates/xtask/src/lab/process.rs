//! Processes that are begun, signalled by their id, and ended when they are dropped.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::clock::within;

/// Longer than the grace that a daemon gives to what runs.
const END_WITHIN_MS: i64 = 45_000;

#[derive(Debug, Clone, Copy)]
pub(crate) enum UnixSignal {
    Stop,
    Continue,
    Terminate,
    /// What PostgreSQL calls an immediate shutdown.
    Quit,
}

impl UnixSignal {
    const fn option(self) -> &'static str {
        match self {
            UnixSignal::Stop => "-STOP",
            UnixSignal::Continue => "-CONT",
            UnixSignal::Terminate => "-TERM",
            UnixSignal::Quit => "-QUIT",
        }
    }
}

#[derive(Debug)]
pub(crate) struct ChildProcess(Child);

impl ChildProcess {
    pub(crate) fn spawn(command: &mut Command) -> Result<ChildProcess> {
        let name = command.get_program().to_string_lossy().into_owned();
        Ok(ChildProcess(command.spawn().with_context(|| format!("starting {name}"))?))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().is_ok_and(|status| status.is_some())
    }

    pub(crate) fn signal(&mut self, signal: UnixSignal) -> Result<()> {
        if self.has_ended() {
            bail!("process {} has ended by itself", self.id());
        }
        done(Command::new("kill").arg(signal.option()).arg(self.id().to_string()))
    }

    /// Sends the signal and waits for the end; whether it ended well. One that does not end at all is killed.
    pub(crate) fn end(mut self, signal: UnixSignal) -> Result<bool> {
        self.signal(signal)?;
        within(END_WITHIN_MS, || self.has_ended());
        let status = self.0.try_wait().context("waiting for a process to end")?;
        Ok(status.is_some_and(|status| status.success()))
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Already gone when it was ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Runs a command to its end; what it said is part of the failure.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    output(command).map(drop)
}

pub(crate) fn output(command: &mut Command) -> Result<Output> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}

pub(crate) fn is_root() -> bool {
    let asked = Command::new("id").arg("-u").output();
    asked.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == "0")
}

/// A command without the settings of whoever runs the proof.
pub(crate) fn clean_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if ["ORDO_", "OTEL_", "TRACEPARENT"].iter().any(|ours| name.to_string_lossy().starts_with(ours)) {
            command.env_remove(name);
        }
    }
    command.env("TZ", "UTC").env("NO_COLOR", "1").stdin(Stdio::null());
    command
}
