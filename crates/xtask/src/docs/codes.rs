//! Every error code has a page under `docs/errors/`, and every page there belongs to a code.
//!
//! The codes stand in the table of the file called `code.rs`: one line `Name { status, "code", "title" }` each.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tree;

const PAGES: &str = "docs/errors";

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let codes = codes(root)?;
    let pages = pages(root)?;
    println!("{} error codes, {} pages in {PAGES}", codes.len(), pages.len());
    let undocumented = codes.difference(&pages).map(|code| format!("error code {code} has no page {PAGES}/{code}.md"));
    let orphaned = pages.difference(&codes).map(|page| format!("{PAGES}/{page}.md belongs to no error code"));
    Ok(undocumented.chain(orphaned).collect())
}

fn codes(root: &Path) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for file in tree::files(&root.join("crates"), "code.rs")? {
        if file.file_name().is_some_and(|name| name == "code.rs") {
            let source = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            found.extend(source.lines().filter_map(code_in));
        }
    }
    Ok(found)
}

/// The code in a line like `UnknownTool { 422, "unknown_tool", "No such tool" }`.
fn code_in(line: &str) -> Option<String> {
    let (_, row) = line.split_once(" { ")?;
    let (_, rest) = row.split_once(", \"")?;
    let (code, _) = rest.split_once('"')?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    (!code.is_empty() && code.chars().all(plain)).then(|| code.to_owned())
}

fn pages(root: &Path) -> Result<BTreeSet<String>> {
    let folder = root.join(PAGES);
    if !folder.is_dir() {
        return Ok(BTreeSet::new());
    }
    let names =
        tree::files(&folder, ".md")?.into_iter().filter_map(|path| path.file_stem()?.to_str().map(str::to_owned));
    Ok(names.filter(|name| name != "README").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_without_a_page_and_a_page_without_a_code_are_both_found() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crates/server/src")).unwrap();
        std::fs::create_dir_all(root.path().join(PAGES)).unwrap();
        let source = "    UnknownTool { 422, \"unknown_tool\", \"No\" }\n    Conflict { 409, \"conflict\", \"Yes\" }";
        std::fs::write(root.path().join("crates/server/src/code.rs"), source).unwrap();
        for page in ["README", "conflict", "old"] {
            std::fs::write(root.path().join(PAGES).join(format!("{page}.md")), "").unwrap();
        }
        let expected = [
            "error code unknown_tool has no page docs/errors/unknown_tool.md",
            "docs/errors/old.md belongs to no error code",
        ];
        assert_eq!(check(root.path()).unwrap(), expected);
    }
}
