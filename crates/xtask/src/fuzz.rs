//! Made-up inputs for whatever reads what others wrote: the targets are tests whose names begin with `fuzz_`.
//!
//! In CI each of them takes a moment, with the other tests. Here they go on for as long as they are given.

use anyhow::{Context, Result, bail};

use crate::cargo::cargo_with;

const MINUTES: u64 = 10;
/// Where there are targets.
const PACKAGES: [&str; 8] = [
    "ordo-model",
    "ordo-api",
    "ordo-store-redb",
    "ordo-store-postgres",
    "ordo-engine",
    "ordo-import",
    "ordo-server",
    "ordo",
];

/// `[TARGET] [--minutes N]`
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut target, mut minutes) = (String::new(), MINUTES);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--minutes" => minutes = args.next().and_then(|given| given.parse().ok()).context("how many minutes?")?,
            option if option.starts_with('-') => bail!("unknown option {option}"),
            name => target = name.to_owned(),
        }
    }
    let packages: Vec<&str> = PACKAGES.iter().flat_map(|package| ["--package", package]).collect();
    let filter = format!("fuzz_{target}");
    let test = ["test", "--lib", "--bins", "--tests"];
    let options = ["--", filter.as_str(), "--nocapture"];
    cargo_with(&[&test, packages.as_slice(), &options].concat(), Some(("ORDO_FUZZ_MINUTES", &minutes.to_string())))
}
