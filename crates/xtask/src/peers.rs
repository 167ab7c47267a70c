//! `benches/peers/run`: Ordo beside other queues on one throw-away PostgreSQL.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tree;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut script = Command::new(tree::root().join("benches/peers/run"));
    let status = script.args(args).stdin(Stdio::null()).status().context("starting benches/peers/run")?;
    if !status.success() {
        bail!("the peers could not be measured: {status}");
    }
    Ok(())
}
