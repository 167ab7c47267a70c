//! `ordo serve` in a folder of its own, on a port of its own, until it is stopped.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const READY: &str = "ordo is ready at ";

#[derive(Debug)]
pub(crate) struct DaemonProcess {
    binary: PathBuf,
    folder: PathBuf,
    url: String,
    child: Child,
    /// Reads what the daemon says to its end; returns what it should not have logged.
    listener: Option<JoinHandle<Vec<String>>>,
}

impl DaemonProcess {
    pub(crate) fn start(binary: &Path) -> Result<DaemonProcess> {
        let folder = std::env::temp_dir().join(format!("ordo-xtask-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        // Another build may put another binary in its place meanwhile.
        let own = folder.join("ordo");
        std::fs::copy(binary, &own).with_context(|| format!("copying {}", binary.display()))?;
        let mut child = command(&own, &folder)
            .args(["serve", "--listen", "127.0.0.1:0"])
            // Requests are made up: they must not become commands.
            .env("ORDO_TOOLS__SHELL__ENABLED", "false")
            .env("NO_COLOR", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("starting ordo serve")?;
        let said = child.stderr.take().context("ordo serve has no standard error")?;
        let mut daemon = DaemonProcess { binary: own, folder, url: String::new(), child, listener: None };
        let mut lines = BufReader::new(said);
        daemon.url = ready(&mut lines)?;
        daemon.listener = Some(std::thread::spawn(move || complaints(lines)));
        Ok(daemon)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn token(&self) -> Result<String> {
        let token = std::fs::read_to_string(self.folder.join(".ordo/token")).context("reading the token")?;
        Ok(token.trim().to_owned())
    }

    /// Asks by the command line; what stands at `pointer` in the answer.
    pub(crate) fn ordo(&self, args: &[&str], pointer: &str) -> Result<String> {
        let output = command(&self.binary, &self.folder).args(args).args(["--output", "json"]).output()?;
        let answer: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("ordo {args:?}"))?;
        let found = answer.pointer(pointer).and_then(Value::as_str);
        found.map(str::to_owned).with_context(|| format!("ordo {args:?} answered {answer}"))
    }

    /// Asks the daemon to end and waits for it; a daemon that complained or does not end well is a failure.
    pub(crate) fn stop(mut self) -> Result<()> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status().context("starting kill")?;
        if !asked.success() {
            bail!("the daemon was gone before it was stopped");
        }
        let status = self.child.wait().context("waiting for the daemon")?;
        let listener = self.listener.take().map(JoinHandle::join);
        let complaints = listener.and_then(Result::ok).unwrap_or_default();
        if !status.success() || !complaints.is_empty() {
            bail!("the daemon ended with {status} and said:\n{}", complaints.join("\n"));
        }
        Ok(())
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        // Already gone when it was stopped.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Settings of whoever runs the tests are not the daemon's.
fn command(binary: &Path, folder: &Path) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(folder).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ORDO_")) {
        command.env_remove(name);
    }
    command
}

fn ready(said: &mut BufReader<ChildStderr>) -> Result<String> {
    let mut line = String::new();
    while said.read_line(&mut line).context("listening to ordo serve")? > 0 {
        if let Some(url) = line.trim_end().strip_prefix(READY) {
            return Ok(url.to_owned());
        }
        line.clear();
    }
    bail!("ordo serve ended before it was ready");
}

fn complaints(said: impl Read) -> Vec<String> {
    let lines = BufReader::new(said).lines().map_while(Result::ok);
    lines.filter(|line| line.contains(" ERROR ") || line.contains("panicked at")).collect()
}
