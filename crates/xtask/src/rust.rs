//! Formatting, lints and tests.

use anyhow::Result;

use crate::cargo::{cargo, cargo_with, has};

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
