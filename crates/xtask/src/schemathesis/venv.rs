//! Schemathesis in a Python environment of its own, below `target/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Another version makes up other requests: which one is a decision, not a matter of the day.
const VERSION: &str = "4.32.5";

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

/// Its path; made on first use, and again when the version was changed.
pub(super) fn schemathesis(python: &Path, folder: &Path) -> Result<PathBuf> {
    let command = folder.join("bin/schemathesis");
    if works(&command) {
        return Ok(command);
    }
    println!("installing schemathesis {VERSION} into {}", folder.display());
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
    let pinned = format!("schemathesis=={VERSION}");
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", &pinned];
    run(Command::new(folder.join("bin/python")).args(quiet))?;
    Ok(command)
}

fn works(command: &Path) -> bool {
    let probe = Command::new(command).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    probe.is_ok_and(|said| said.status.success() && names_version(&String::from_utf8_lossy(&said.stdout)))
}

fn names_version(said: &str) -> bool {
    said.split(|notification: char| notification.is_whitespace() || notification == ',').any(|word| word == VERSION)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_that_was_decided_is_used() {
        assert!(names_version(&format!("Schemathesis, version {VERSION}\n")));
        assert!(!names_version(&format!("Schemathesis, version {VERSION}1\n")));
        assert!(!names_version(""));
    }
}
