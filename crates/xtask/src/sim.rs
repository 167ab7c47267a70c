//! Simulated worlds: one seed is one world, and the same seed is the same world.
//!
//! Assertions are half of what a simulation is for. One seed is built with the dev profile, what CI looks at with the tests, which
//! are there anyway; many seeds are built with the profile `sim`, optimised and with the same assertions.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::{built_with_tests, cargo};
use crate::tree;

/// How long CI looks at each kind of world.
const MINUTES_IN_CI: &str = "1.5";

const SIM: &[&str] = &["run", "--quiet", "--package", "ordo-sim", "--bin", "ordo-sim"];
const LONG: &[&str] = &["--profile", "sim"];

pub(crate) fn run(args: &[String]) -> Result<()> {
    match args {
        [] => anyhow::bail!("which world? `cargo xtask sim SEED` or `cargo xtask sim --seeds N`"),
        [planted, rest @ ..] if planted == "--planted" => plant(rest),
        [seed, rest @ ..] if !seed.starts_with('-') => {
            let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
            simulate(&[], &[&["--seed", seed.as_str()], rest.as_slice()].concat())
        }
        options => simulate(LONG, &options.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

/// A world is one thread: both kinds at once.
pub(crate) fn run_for_ci() -> Result<()> {
    let program = built_with_tests("ordo-sim")?;
    std::thread::scope(|scope| {
        let whole = scope.spawn(|| look_for_ci(&program, "whole"));
        look_for_ci(&program, "jobs")?;
        whole.join().map_err(|_| anyhow::anyhow!("looking at whole worlds ended in a panic"))?
    })
}

fn look_for_ci(program: &Path, world: &str) -> Result<()> {
    let mut look = Command::new(program);
    look.args(["--minutes", MINUTES_IN_CI, "--world", world]).stdin(Stdio::null());
    let status = look.status().with_context(|| format!("starting {}", program.display()))?;
    if !status.success() {
        bail!("the {world} worlds: {status}");
    }
    Ok(())
}

/// Bugs on purpose are compiled in by a feature that nothing shipped has, in a folder of their own.
fn plant(rest: &[String]) -> Result<()> {
    let folder = tree::root().join("target/planted").display().to_string();
    let build = ["--features", "planted-bugs", "--target-dir", &folder, "--", "--planted"];
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    cargo(&[SIM, LONG, &build, &rest].concat())
}

fn simulate(profile: &[&str], options: &[&str]) -> Result<()> {
    cargo(&[SIM, profile, &["--"], options].concat())
}
