//! Node programs of others in folders of their own, below `target/`.
//!
//! Invariant: which versions are used is a decision, not a matter of the day: a changed list is installed anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// The folder of its modules; installed on first use, and again when the list was changed.
pub(crate) fn with(folder: &Path, packages: &str) -> Result<PathBuf> {
    let (modules, list) = (folder.join("node_modules"), folder.join("installed.json"));
    if !std::fs::read_to_string(&list).is_ok_and(|installed| installed == packages) {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        std::fs::write(folder.join("package.json"), packages).context("writing package.json")?;
        println!("installing the tools of node into {}", folder.display());
        quiet(Command::new("npm").current_dir(folder).args(["install", "--no-audit", "--no-fund", "--silent"]))?;
        // Written last: what was not finished is installed again.
        std::fs::write(&list, packages).context("writing the list of packages")?;
    }
    Ok(modules)
}

/// What it says matters only when it fails.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    anyhow::bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&said))
}

pub(crate) fn is_there(program: &str) -> bool {
    let version = if program == "java" { "-version" } else { "--version" };
    let mut probe = Command::new(program);
    let probe = probe.arg(version).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
