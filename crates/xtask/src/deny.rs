//! Licences, advisories and sources of what we build on; the rules are in `deny.toml`.
//!
//! Invariant: bans, licences and sources are always checked. Advisories come from the network: where their database
//! cannot be reached, that they were not checked is said, and nothing else is.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::program::CargoProgram;
use crate::tree;

/// Without its features it asks the `git` of the machine for the advisories, and is built in a third of the time.
const DENY: CargoProgram = CargoProgram {
    name: "cargo-deny",
    version: "0.20.2",
    says: "cargo-deny 0.20.2",
    options: &["--no-default-features"],
};

/// Returns a note when a part of the check could not be made.
pub(crate) fn check() -> Result<Option<String>> {
    let deny = DENY.installed(&tree::root())?;
    run(&deny, &["check", "--hide-inclusion-graph", "bans", "licenses", "sources"])?;
    if run(&deny, &["fetch", "db"]).is_err() {
        return Ok(Some("bans, licences and sources passed; advisories not run: no database from here".to_owned()));
    }
    run(&deny, &["check", "--disable-fetch", "advisories"])?;
    Ok(None)
}

fn run(deny: &Path, args: &[&str]) -> Result<()> {
    println!("$ cargo-deny --locked {}", args.join(" "));
    let status = Command::new(deny)
        .args(["--locked", "--log-level", "error"])
        .args(args)
        .current_dir(tree::root())
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("starting {}", deny.display()))?;
    if !status.success() {
        bail!("cargo-deny {}: {status}", args.join(" "));
    }
    Ok(())
}
