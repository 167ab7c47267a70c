//! Python programs of others in environments of their own, below `target/`.
//!
//! Invariant: which versions are used is a decision, not a matter of the day: a changed list makes the environment anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The Python of this machine, if it can make environments.
pub(crate) fn python() -> Option<PathBuf> {
    let probe = Command::new("python3")
        .args(["-c", "import venv, ensurepip"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    probe.is_ok_and(|status| status.success()).then(|| PathBuf::from("python3"))
}

/// The folder of its programs; made on first use, and again when the list was changed.
pub(crate) fn with(python: &Path, folder: &Path, packages: &str) -> Result<PathBuf> {
    let (programs, list) = (folder.join("bin"), folder.join("requirements.txt"));
    if std::fs::read_to_string(&list).is_ok_and(|installed| installed == packages) {
        return Ok(programs);
    }
    println!("installing {} into {}", packages.trim().replace('\n', ", "), folder.display());
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
    let wanted: Vec<&str> = packages.lines().filter(|line| !line.trim().is_empty()).collect();
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(programs.join("python")).args(quiet).args(wanted))?;
    // Written last: an environment that was not finished is made again.
    std::fs::write(&list, packages).with_context(|| format!("writing {}", list.display()))?;
    Ok(programs)
}

/// Runs a program whose output is for whoever looks on.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}
