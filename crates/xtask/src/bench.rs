//! `ordo bench`, built the way it is shipped.

use anyhow::Result;

use crate::cargo::cargo;

pub(crate) fn run(args: &[String]) -> Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    cargo(&[&["run", "--quiet", "--release", "--package", "ordo", "--", "bench"], args.as_slice()].concat())
}
