//! Simulated worlds: one seed is one world, and the same seed is the same world.
//!
//! Built with the dev profile: its assertions are half of what a simulation is for.

use anyhow::Result;

use crate::cargo::cargo;

/// How many worlds CI looks at.
const SEEDS_IN_CI: u32 = 500;

const SIM: &[&str] = &["run", "--quiet", "--package", "ordo-sim", "--bin", "ordo-sim"];

pub(crate) fn run(args: &[String]) -> Result<()> {
    match args {
        [] => anyhow::bail!("which world? `cargo xtask sim SEED` or `cargo xtask sim --seeds N`"),
        [seed] if !seed.starts_with('-') => simulate(&["--seed", seed]),
        options => simulate(&options.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

pub(crate) fn run_for_ci() -> Result<()> {
    simulate(&["--seeds", &SEEDS_IN_CI.to_string()])
}

fn simulate(options: &[&str]) -> Result<()> {
    cargo(&[SIM, &["--"], options].concat())
}
