//! Formatting, lints and tests.

use anyhow::{Context, Result, bail};

use crate::cargo::{cargo, cargo_with, has};
use crate::tree;

pub(crate) fn format() -> Result<()> {
    cargo(&["fmt", "--all"])
}

pub(crate) fn check_format() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])
}

pub(crate) fn lint() -> Result<()> {
    cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])
}

/// All tests, or those the arguments choose.
pub(crate) fn test(more: &[String]) -> Result<()> {
    let chosen = more.iter().any(|arg| arg == "-p" || arg == "--package");
    let which: &[&str] = if chosen { &["--all-features"] } else { &["--workspace", "--all-features"] };
    run_tests(which, more)
}

pub(crate) fn end_to_end(more: &[String]) -> Result<()> {
    run_tests(&["--package", "ordo", "--all-features", "--tests"], more)
}

pub(crate) fn doc_test() -> Result<()> {
    cargo(&["test", "--doc", "--workspace", "--all-features"])
}

/// Where threads share state: tests in modules called `races`, built for shuttle (`--cfg shuttle`) in a folder of their own.
const RACING: [&str; 2] = ["ordo-store-redb", "ordo-engine"];

/// `[--orders N]`: how many orders each test tries, in each of two ways.
pub(crate) fn races(args: &[String]) -> Result<()> {
    let orders = match args {
        [] => None,
        [option, orders] if option == "--orders" => Some(orders.parse::<u64>().context("how many orders?")?),
        [other, ..] => bail!("unknown option {other}"),
    };
    let folder = tree::root().join("target/races").display().to_string();
    let packages: Vec<&str> = RACING.iter().flat_map(|package| ["--package", package]).collect();
    let test = ["--config", "build.rustflags=['--cfg', 'shuttle']", "test", "--lib", "--target-dir", &folder];
    let orders = orders.map(|orders| orders.to_string());
    let variable = orders.as_deref().map(|orders| ("ORDO_RACES", orders));
    cargo_with(&[&test, packages.as_slice(), &["races::"]].concat(), variable)
}

/// The documentation of the two crates that programs use: every link in it leads somewhere.
pub(crate) fn document() -> Result<()> {
    let libraries = ["doc", "--no-deps", "--lib", "--package", "ordo", "--package", "ordo-client", "--all-features"];
    cargo_with(&libraries, Some(("RUSTDOCFLAGS", "-D warnings")))
}

/// Types every command of the documents, or of the pages whose path has this in it.
pub(crate) fn documents(page: Option<&str>) -> Result<()> {
    let set = page.map(|page| ("ORDO_DOCS_PAGE", page));
    cargo_with(&["test", "--package", "ordo", "--test", "docs", "every_command"], set)
}

/// Each optional part of the binary is there once and missing once.
const PARTS: [&str; 3] = ["", "postgres,mail", "dashboard,otlp"];

/// Does the binary build without its optional parts? Only checked: what they do is tested with all of them.
pub(crate) fn check_features() -> Result<()> {
    PARTS.iter().try_for_each(|parts| {
        cargo(&["check", "--package", "ordo", "--bins", "--lib", "--no-default-features", "--features", parts])
    })
}

/// Makes the reference from the code; `write` is the variable that says so.
pub(crate) fn reference(write: &str) -> Result<()> {
    cargo_with(&["test", "--package", "ordo", "--test", "docs", "the_reference"], Some((write, "1")))
}

/// nextest runs each test in its own process and all of them at once; plain cargo does where it is missing. One run
/// names every test that fails, not the first alone.
fn run_tests(which: &[&str], more: &[String]) -> Result<()> {
    let runner: &[&str] = match has("nextest") {
        true => &["nextest", "run", "--no-fail-fast"],
        false => &["test", "--lib", "--bins", "--tests", "--no-fail-fast"],
    };
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    cargo(&[runner, which, more.as_slice()].concat())
}
