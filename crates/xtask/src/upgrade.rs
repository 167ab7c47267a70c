//! A rolling upgrade: three nodes of an earlier commit on one database, replaced one by one by this one while they work.
//!
//! The earlier binary is built in a worktree below `target/`, or named by `--binary`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::cargo_with;
use crate::tree;

const TEST: &str = "nodes_are_upgraded_one_by_one_and_every_occurrence_is_accounted_for";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let binary = match args {
        [flag, path] if flag == "--binary" => std::fs::canonicalize(path).with_context(|| path.clone())?,
        [commit] if !commit.starts_with('-') => build(commit)?,
        _ => bail!("from which commit? `cargo xtask upgrade COMMIT`, or `cargo xtask upgrade --binary PATH`"),
    };
    let binary = binary.to_str().context("a path that is text")?;
    let test =
        ["test", "--package", "ordo", "--all-features", "--test", "cluster", TEST, "--", "--ignored", "--nocapture"];
    cargo_with(&test, Some(("ORDO_EARLIER", binary)))
}

fn build(commit: &str) -> Result<PathBuf> {
    let folder = tree::root().join("target/earlier");
    let _ = std::fs::remove_dir_all(folder.join("tree"));
    git(&["worktree", "prune"])?;
    let tree = folder.join("tree");
    git(&["worktree", "add", "--force", "--detach", tree.to_str().context("a path that is text")?, commit])?;
    let built = Command::new("cargo")
        .args(["build", "--locked", "--package", "ordo", "--bin", "ordo", "--target-dir"])
        .arg(folder.join("target"))
        .current_dir(&tree)
        .status()
        .context("cargo")?;
    ensure!(built.success(), "{commit} does not build");
    Ok(folder.join("target/debug/ordo"))
}

fn git(args: &[&str]) -> Result<()> {
    let done = Command::new("git").args(args).current_dir(tree::root()).status().context("git")?;
    ensure!(done.success(), "git {} failed", args.join(" "));
    Ok(())
}
