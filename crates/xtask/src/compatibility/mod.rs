//! Programs made for other services, unchanged, against the real binary: `tests/compatibility`.
//!
//! Invariant: the programs are those that their own users install; nothing of them is imitated here.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tree::target;
use crate::{npm, sdk, tree, venv};

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Returns a note when this machine cannot do it. `ORDO_BIN` names another binary than the one of this build.
pub(crate) fn run(args: &[String]) -> Result<Option<String>> {
    let Some(python) = venv::python() else {
        return Ok(Some("python3 with venv and pip is not installed (`apt-get install python3-venv`)".to_owned()));
    };
    if !npm::is_there("borg") {
        return Ok(Some("borg is not installed (`apt-get install borgbackup`)".to_owned()));
    }
    let folder = std::path::absolute(target().join("compatibility")).context("where the programs are kept")?;
    let programs = venv::with(&python, &folder.join("venv"), REQUIREMENTS)?;
    let status = Command::new(programs.join("python"))
        .arg(tree::root().join("tests/compatibility/run.py"))
        .arg("--ordo")
        .arg(sdk::binary()?)
        .args(args)
        .stdin(Stdio::null())
        .status()
        .context("starting tests/compatibility/run.py")?;
    if !status.success() {
        bail!("a program made for another service does not work: {status}");
    }
    Ok(None)
}
