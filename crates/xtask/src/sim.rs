//! Simulated worlds: one seed is one world, and the same seed is the same world.
//!
//! Built with the dev profile: its assertions are half of what a simulation is for.

use anyhow::Result;

use crate::cargo::cargo;
use crate::tree;

/// How long CI looks at worlds.
const MINUTES_IN_CI: u32 = 3;

const SIM: &[&str] = &["run", "--quiet", "--package", "ordo-sim", "--bin", "ordo-sim"];

pub(crate) fn run(args: &[String]) -> Result<()> {
    match args {
        [] => anyhow::bail!("which world? `cargo xtask sim SEED` or `cargo xtask sim --seeds N`"),
        [planted, rest @ ..] if planted == "--planted" => plant(rest),
        [seed, rest @ ..] if !seed.starts_with('-') => {
            let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
            simulate(&[&["--seed", seed.as_str()], rest.as_slice()].concat())
        }
        options => simulate(&options.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

pub(crate) fn run_for_ci() -> Result<()> {
    // Whole worlds of a few seeds are among the tests; more of them are looked at by command.
    simulate(&["--minutes", &MINUTES_IN_CI.to_string(), "--world", "jobs"])
}

/// Bugs on purpose are compiled in by a feature that nothing shipped has, in a folder of their own.
fn plant(rest: &[String]) -> Result<()> {
    let folder = tree::root().join("target/planted").display().to_string();
    let build = ["--features", "planted-bugs", "--target-dir", &folder, "--", "--planted"];
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    cargo(&[SIM, &build, &rest].concat())
}

fn simulate(options: &[&str]) -> Result<()> {
    cargo(&[SIM, &["--"], options].concat())
}
