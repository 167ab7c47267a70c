//! Are the documents true? What they point at exists, what exists is on the map, every error code has its page,
//! every threat the tests that prove what stops it.

mod codes;
mod decisions;
mod links;
mod map;
mod markdown;
mod site;
mod summary;
mod threats;

use std::path::Path;

use anyhow::{Result, bail};

use crate::rust;

/// Set for the test that makes the reference: it writes the pages instead of comparing them.
const WRITE: &str = "ORDO_WRITE_REFERENCE";

pub(crate) fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => check(root),
        ["--write"] => write(root),
        ["--site"] => site::build(root),
        ["--play"] => rust::documents(None),
        ["--play", page] => rust::documents(Some(page)),
        _ => bail!("cargo xtask docs [--write | --site | --play [PAGE]]"),
    }
}

/// Makes what is made from the code: the reference, and the index for programs.
fn write(root: &Path) -> Result<()> {
    rust::reference(WRITE)?;
    summary::write(root)
}

pub(crate) fn check(root: &Path) -> Result<()> {
    let mut wrong = links::check(root)?;
    wrong.extend(summary::check(root)?);
    wrong.extend(map::check(root)?);
    wrong.extend(codes::check(root)?);
    wrong.extend(decisions::check(root)?);
    wrong.extend(threats::check(root)?);
    if !wrong.is_empty() {
        bail!("{} statements are not true\n  {}", wrong.len(), wrong.join("\n  "));
    }
    println!("the documents are true");
    Ok(())
}
