//! Every local link leads to a file, and to a heading in it where it names one; every path in a code span exists.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::markdown;
use crate::tree;

/// Where our own files are.
const OUR_FOLDERS: [&str; 8] = ["crates/", "docs/", "tests/", "examples/", "sdk/", "deploy/", "benches/", ".github/"];

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for file in tree::files(root, ".md")? {
        let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file);
        wrong.extend(dead_links(root, &file, &text).iter().map(|to| format!("{}: dead link {to}", name.display())));
        if !is_history(name) {
            wrong.extend(dead_paths(root, &text).iter().map(|at| format!("{}: there is no {at}", name.display())));
        }
    }
    Ok(wrong)
}

fn dead_links(root: &Path, file: &Path, text: &str) -> Vec<String> {
    let targets = markdown::targets(text).into_iter();
    targets.filter(|to| local(root, file, to).is_some_and(|path| !path.exists() || misses_heading(&path, to))).collect()
}

/// Whether the link names a heading that the page does not have.
fn misses_heading(page: &Path, target: &str) -> bool {
    let Some((_, anchor)) = target.split_once('#') else { return false };
    let is_page = page.extension().is_some_and(|end| end == "md");
    is_page && std::fs::read_to_string(page).is_ok_and(|text| !markdown::anchors(&text).iter().any(|own| own == anchor))
}

/// The file a link means, or nothing when it leads to the web.
fn local(root: &Path, file: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split('#').next()?;
    if path.is_empty() {
        return Some(file.to_owned());
    }
    if path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    match path.strip_prefix('/') {
        Some(from_root) => Some(root.join(from_root)),
        None => Some(file.parent()?.join(path)),
    }
}

fn dead_paths(root: &Path, text: &str) -> Vec<String> {
    markdown::code_spans(text).into_iter().filter(|span| is_path(span) && !root.join(span).exists()).collect()
}

/// A path of ours, as opposed to a pattern like `docs/errors/<code>.md`.
fn is_path(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    OUR_FOLDERS.iter().any(|folder| span.starts_with(folder)) && span.chars().all(plain)
}

/// Decisions and changes speak of their day: what they name may be gone since.
fn is_history(name: &Path) -> bool {
    name.starts_with("docs/adr") || name == Path::new("CHANGELOG.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nowhere_is_found_with_its_file() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("b.md"), "## It's *an* `X`, or\n").unwrap();
        let text = "[b](b.md#its-an-x-or) [b](b.md#y) [c](c.md) [w](https://w.org/c.md) [p](#p)";
        std::fs::write(root.path().join("a.md"), text).unwrap();
        let expected = ["a.md: dead link b.md#y", "a.md: dead link c.md", "a.md: dead link #p"];
        assert_eq!(check(root.path()).unwrap(), expected);
    }

    #[test]
    fn a_path_that_is_gone_is_found_unless_a_decision_names_it() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("docs/adr")).unwrap();
        std::fs::write(root.path().join("docs/adr/0001-x.md"), "`crates/gone`").unwrap();
        std::fs::write(root.path().join("README.md"), "`crates/gone`, `docs/adr`, `docs/errors/<code>.md`").unwrap();
        assert_eq!(check(root.path()).unwrap(), ["README.md: there is no crates/gone"]);
    }
}
