//! Does every threat in docs/security.md name tests that prove what stops it, and are they there?
//!
//! Invariant: a test is named `module::test`, where `module` is the file or the inline module that it stands in. A row
//! without a test, and a test that nobody finds, are wrong.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tree;

const PAGE: &str = "docs/security.md";
const HEADING: &str = "| threat | what stops it | proven by |";

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let page = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let rows = rows(&page);
    let mut wrong = Vec::new();
    if rows.is_empty() {
        wrong.push(format!("{PAGE} has no table of threats: it begins with {HEADING:?}"));
    }
    let there = tests(root)?;
    for (threat, proofs) in rows {
        if proofs.is_empty() {
            wrong.push(format!("{PAGE}: nothing proves what stops {threat:?}"));
        }
        let missing = proofs.into_iter().filter(|proof| !there.contains(proof));
        wrong.extend(missing.map(|proof| format!("{PAGE}: {threat:?} is proven by {proof}, which is no test")));
    }
    Ok(wrong)
}

/// Each threat, and the tests that its row names in backticks.
fn rows(page: &str) -> Vec<(String, Vec<String>)> {
    let table = page.lines().skip_while(|line| *line != HEADING).skip(2).take_while(|line| line.starts_with('|'));
    table.map(row).collect()
}

fn row(line: &str) -> (String, Vec<String>) {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let proofs = cells.get(2).copied().unwrap_or_default().split('`').skip(1).step_by(2);
    let threat = cells.first().copied().unwrap_or_default().to_owned();
    (threat, proofs.filter(|text| text.contains("::")).map(str::to_owned).collect())
}

/// Every test there is.
fn tests(root: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for file in tree::files(&root.join("crates"), ".rs")? {
        let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let module = module(&file);
        found.extend(names(&text).map(|name| format!("{module}::{name}")));
    }
    Ok(found)
}

/// A file is its module; `mod.rs` and `main.rs` are that of their folder.
fn module(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match stem.as_str() {
        "mod" | "main" | "tests" => {
            let folder = file.parent().and_then(Path::file_name);
            folder.map_or(stem.clone(), |folder| folder.to_string_lossy().into_owned())
        }
        _ => stem,
    }
}

/// The functions that stand below an attribute of a test.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_test = |line: &str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let tests = lines.iter().enumerate().filter(move |(_, line)| is_test(line)).map(|(at, _)| at);
    let found: Vec<&str> = tests.filter_map(|at| lines[at..].iter().find_map(|line| function(line))).collect();
    found.into_iter()
}

fn function(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
    rest.split('(').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_names_its_tests() {
        let page = "x\n| threat | what stops it | proven by |\n|---|---|---|\n\
                    | Mice | `cat` | `house::mice_are_caught` and `barn::so_are_rats` |\n| Rain | a roof | hope |\n\nend";
        let wanted = vec![
            ("Mice".to_owned(), vec!["house::mice_are_caught".to_owned(), "barn::so_are_rats".to_owned()]),
            ("Rain".to_owned(), vec![]),
        ];
        assert_eq!(rows(page), wanted);
    }

    #[test]
    fn only_what_is_a_test_proves_anything() {
        let text =
            "fn helper() {}\n#[test]\nfn one() {}\n#[tokio::test(start_paused = true)]\n// why\nasync fn two() {}\n";
        assert_eq!(names(text).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(module(Path::new("crates/server/tests/api/auth/access.rs")), "access");
        assert_eq!(module(Path::new("crates/engine/src/dispatch/tests.rs")), "dispatch");
    }
}
