//! A process of the binary in a folder of its own, on a host of its own if there is one: `serve` or `executor`.
//!
//! Invariant: what it says goes into one file through all its lives, so nothing it complained about is lost by a kill.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::clock::within;
use super::hosts::command_on;
use super::process::{ChildProcess, UnixSignal};
use super::socket::SocketClient;

const READY_WITHIN_MS: i64 = 60_000;

#[derive(Debug)]
pub(crate) struct OrdoProcess {
    pub(crate) name: String,
    binary: PathBuf,
    folder: PathBuf,
    args: Vec<String>,
    variables: Vec<(String, String)>,
    /// The network namespace it lives in.
    namespace: Option<String>,
    /// Where it says what it has to say.
    log: PathBuf,
    child: Option<ChildProcess>,
}

impl OrdoProcess {
    pub(crate) fn new(name: &str, binary: &Path, folder: &Path, args: &[&str]) -> Result<OrdoProcess> {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(OrdoProcess {
            name: name.to_owned(),
            binary: binary.to_path_buf(),
            folder: folder.to_path_buf(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            variables: Vec::new(),
            namespace: None,
            log: folder.with_extension("log"),
            child: None,
        })
    }

    pub(crate) fn in_namespace(mut self, namespace: Option<String>) -> OrdoProcess {
        self.namespace = namespace;
        self
    }

    /// Elsewhere than beside its folder: what a full disk takes away is not what it says.
    pub(crate) fn logging_to(mut self, log: &Path) -> OrdoProcess {
        self.log = log.to_path_buf();
        self
    }

    pub(crate) fn with(mut self, variable: &str, value: &str) -> OrdoProcess {
        self.set(variable, value);
        self
    }

    /// From its next life on.
    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.variables.retain(|(name, _)| name != variable);
        self.variables.push((variable.to_owned(), value.to_owned()));
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn client(&self) -> SocketClient {
        SocketClient::of(&self.folder)
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(ChildProcess::id)
    }

    /// Starts it without waiting for anything.
    pub(crate) fn begin(&mut self) -> Result<()> {
        let said = self.open_log()?;
        let mut command = command_on(self.namespace.as_deref(), &self.binary);
        command
            .args(&self.args)
            .current_dir(&self.folder)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        self.child = Some(ChildProcess::spawn(command.stdout(Stdio::null()).stderr(said))?);
        Ok(())
    }

    /// Starts a server and waits until it is ready.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.begin()?;
        if !within(READY_WITHIN_MS, || self.is_ready() || self.has_ended()) || self.has_ended() {
            bail!(
                "{} did not become ready:\n{}",
                self.name,
                self.said().lines().rev().take(12).collect::<Vec<_>>().join("\n")
            );
        }
        Ok(())
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.client().ask("GET", "/readyz", None, None).is_ok_and(|answer| answer.status == 200)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.is_some() && !self.has_ended()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(ChildProcess::has_ended)
    }

    pub(crate) fn signal(&mut self, signal: UnixSignal) -> Result<()> {
        let name = self.name.clone();
        self.child.as_mut().with_context(|| format!("{name} does not run"))?.signal(signal)
    }

    /// `kill -9`; a process that has gone already stays gone.
    pub(crate) fn kill(&mut self) {
        self.child = None;
    }

    /// Asks it to end and waits for it; whether it ended well.
    pub(crate) fn stop(&mut self) -> Result<bool> {
        self.child.take().map_or(Ok(true), |child| child.end(UnixSignal::Terminate))
    }

    pub(crate) fn said(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The lines of all its lives that no fault excuses.
    pub(crate) fn panics(&self) -> Vec<String> {
        let said = self.said();
        let lines = said.lines().filter(|line| line.contains("panicked at"));
        lines.map(|line| format!("{}: {line}", self.name)).collect()
    }

    /// Runs a command of the same binary in the same folder, on the same host.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = command_on(self.namespace.as_deref(), &self.binary);
        command.args(args).current_dir(&self.folder);
        command
    }

    fn open_log(&self) -> Result<File> {
        let path = &self.log;
        OpenOptions::new().create(true).append(true).open(path).with_context(|| format!("opening {}", path.display()))
    }
}
