//! Schemathesis in a Python environment of its own, below `target/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The Python of this machine, if it can make environments.
pub(super) fn python() -> Option<PathBuf> {
    let probe = Command::new("python3")
        .args(["-c", "import venv, ensurepip"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    probe.is_ok_and(|status| status.success()).then(|| PathBuf::from("python3"))
}

/// Its path; made on first use.
pub(super) fn schemathesis(python: &Path, folder: &Path) -> Result<PathBuf> {
    let command = folder.join("bin/schemathesis");
    if works(&command) {
        return Ok(command);
    }
    println!("installing schemathesis into {}", folder.display());
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "schemathesis"];
    run(Command::new(folder.join("bin/python")).args(quiet))?;
    Ok(command)
}

fn works(command: &Path) -> bool {
    let probe = Command::new(command).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}
