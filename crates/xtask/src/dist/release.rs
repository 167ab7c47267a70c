//! Is this commit a release? Everything that must be true of one is looked at; only then is it tagged.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::{read, said, version};
use crate::cargo;
use crate::tree;

const USAGE: &str = "cargo xtask release [--dry-run]";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let is_dry = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--dry-run"] => true,
        _ => bail!("{USAGE}"),
    };
    let root = tree::root();
    let version = version(&root)?;
    let wrong = obstacles(&root, &version)?;
    if !wrong.is_empty() {
        bail!("{version} cannot be released:\n  {}", wrong.join("\n  "));
    }
    println!("{version} can be released");
    let tag = format!("v{version}");
    if is_dry {
        println!("would tag this commit {tag}; then: git push origin {tag}, and the forge runs cargo xtask dist --try");
        return Ok(());
    }
    said(
        Command::new("git")
            .args(["tag", "--annotate", &tag, "--message", &format!("Ordo {version}")])
            .current_dir(&root),
    )?;
    println!("tagged {tag}: push it with git push origin {tag}");
    Ok(())
}

fn obstacles(root: &Path, version: &str) -> Result<Vec<String>> {
    let git = |args: &[&str]| said(Command::new("git").args(args).current_dir(root));
    let mut wrong = changelog(&read(&root.join("CHANGELOG.md"))?, version);
    if !read(&root.join("docs/guides/upgrade.md"))?.contains(&format!("## To {version}")) {
        wrong.push(format!("docs/guides/upgrade.md has no chapter \"To {version}\""));
    }
    if !git(&["status", "--porcelain"])?.is_empty() {
        wrong.push("there are changes that are not committed".to_owned());
    }
    if !git(&["tag", "--list", &format!("v{version}")])?.is_empty() {
        wrong.push(format!("v{version} is tagged already: raise the version in Cargo.toml"));
    }
    if cargo::output(&["metadata", "--format-version", "1", "--locked"]).is_err() {
        wrong.push("Cargo.lock does not fit the manifests".to_owned());
    }
    wrong.extend(packages(root, version)?);
    Ok(wrong)
}

/// The packages in other languages are released with the server.
fn packages(root: &Path, version: &str) -> Result<Vec<String>> {
    let (python, node) = (format!("version = \"{version}\""), format!("\"version\": \"{version}\""));
    let named = [("sdk/python/pyproject.toml", python), ("sdk/typescript/package.json", node)];
    let mut wrong = Vec::new();
    for (file, line) in named {
        if !read(&root.join(file))?.contains(&line) {
            wrong.push(format!("{file} does not say {line}"));
        }
    }
    Ok(wrong)
}

/// The newest chapter is of this version and has a date, and nothing waits for a release that has not been.
fn changelog(text: &str, version: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut chapters = text.split("\n## ").skip(1);
    let mut newest = chapters.next().unwrap_or_default();
    if newest.starts_with("Unreleased") {
        let waits = newest.lines().skip(1).any(|line| !line.trim().is_empty());
        if waits {
            wrong.push(format!("CHANGELOG.md: what is unreleased belongs to {version}"));
        }
        newest = chapters.next().unwrap_or_default();
    }
    let title = newest.lines().next().unwrap_or_default();
    let date = title.strip_prefix(version).and_then(|rest| rest.trim().strip_prefix("- "));
    if !date.is_some_and(is_date) {
        wrong.push(format!("CHANGELOG.md: the newest chapter is {title:?}, not \"{version} - YYYY-MM-DD\""));
    }
    wrong
}

fn is_date(text: &str) -> bool {
    let shape: Vec<usize> = text.split('-').map(str::len).collect();
    shape == [4, 2, 2] && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_a_dated_chapter_and_leaves_nothing_unreleased() {
        let log = |chapters: &str| changelog(&format!("# Changelog\n\n{chapters}"), "0.2.0");
        assert!(log("\n## 0.2.0 - 2026-11-17\n\n- it works\n").is_empty());
        assert!(log("\n## Unreleased\n\n## 0.2.0 - 2026-11-17\n\n- it works\n").is_empty());
        assert_eq!(log("\n## Unreleased\n\n- new\n\n## 0.2.0 - 2026-11-17\n").len(), 1);
        assert_eq!(log("\n## 0.2.0\n").len(), 1);
        assert_eq!(log("\n## 0.1.0 - 2026-01-01\n").len(), 1);
    }
}
