//! Calls cargo from within cargo.
//!
//! Invariant: the inner cargo sees the environment of the outer one's caller, so that it does not rebuild what it
//! would otherwise find ready.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::tree;

/// Runs `cargo ARGS` at the root of the workspace, its output going where ours goes.
pub(crate) fn cargo<S: AsRef<str>>(args: &[S]) -> Result<()> {
    cargo_with(args, None)
}

/// The same with one more variable.
pub(crate) fn cargo_with<S: AsRef<str>>(args: &[S], variable: Option<(&str, &str)>) -> Result<()> {
    let shown = show(args);
    println!("$ {shown}");
    let status = command(args).envs(variable).status().with_context(|| format!("starting {shown}"))?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

/// What is run beside the tests: built as they are, with the same features and the same profile, so that after the tests there is
/// nothing left to build. Other features would compile half of what all of it is made of once more. (An example is what makes cargo
/// count the features that only tests ask for.)
const BUILT_WITH_TESTS: [&str; 10] = [
    "build",
    "--quiet",
    "--workspace",
    "--all-features",
    "--bin",
    "ordo",
    "--bin",
    "ordo-sim",
    "--example",
    "standard_job",
];

/// A program that is built as the tests are: `ordo`, `ordo-sim`, `examples/standard_job`.
pub(crate) fn built_with_tests(program: &str) -> Result<PathBuf> {
    cargo(&BUILT_WITH_TESTS)?;
    Ok(tree::target().join("debug").join(program))
}

/// What `cargo ARGS` prints on its standard output.
pub(crate) fn output(args: &[&str]) -> Result<Vec<u8>> {
    let shown = show(args);
    let output = command(args).stderr(Stdio::inherit()).output().with_context(|| format!("starting {shown}"))?;
    if !output.status.success() {
        bail!("{shown}: {}", output.status);
    }
    Ok(output.stdout)
}

/// Whether `cargo NAME` is installed here.
pub(crate) fn has(name: &str) -> bool {
    let probe = command(&[name, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

fn command<S: AsRef<str>>(args: &[S]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args.iter().map(AsRef::as_ref)).current_dir(tree::root()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(describes_this_package)) {
        command.env_remove(name);
    }
    command
}

/// What `cargo run` sets for this process; build scripts of others would take it for a change.
fn describes_this_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|start| name.starts_with(start))
}

fn show<S: AsRef<str>>(args: &[S]) -> String {
    args.iter().fold("cargo".to_owned(), |line, arg| line + " " + arg.as_ref())
}
