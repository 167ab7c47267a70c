//! Calls `benches/peers/drive`, which starts a system, gives it one workload, ends it and prints one line of JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::plan::{Case, System};
use crate::tree;

fn program() -> PathBuf {
    tree::root().join("benches/peers/drive")
}

/// What the system needs, unless it is there already.
pub(super) fn install(system: &System) -> Result<()> {
    let status = Command::new(program()).args(["install", system.name]).stdin(Stdio::null()).status();
    let status = status.context("starting benches/peers/drive")?;
    if !status.success() {
        bail!("{} cannot be installed: {status}", system.name);
    }
    Ok(())
}

pub(super) fn drive(system: &System, case: &Case, ordo: &Path) -> Result<Value> {
    let mut command = Command::new(program());
    command.args([system.name, case.workload.name]);
    command.args(case.numbers.iter().map(|(name, number)| format!("{name}={number}")));
    let output =
        command.env("ORDO_BINARY", ordo).stdin(Stdio::null()).output().context("starting benches/peers/drive")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{}: {}", output.status, complaint.trim());
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let line = printed.trim().lines().last().with_context(|| format!("nothing was printed: {}", complaint.trim()))?;
    serde_json::from_str(line).with_context(|| format!("this is not JSON: {line}"))
}
