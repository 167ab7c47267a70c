//! The map in ARCHITECTURE.md names every crate there is, none that is gone, and says of each what the fence lets it know.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use super::markdown;
use crate::{fence, tree};

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    if !root.join(MAP).is_file() {
        return Ok(vec![format!("there is no {MAP}")]);
    }
    let text = std::fs::read_to_string(root.join(MAP)).with_context(|| format!("reading {MAP}"))?;
    let there: BTreeSet<String> = tree::crate_folders(root)?.into_iter().collect();
    let spans: BTreeSet<String> = markdown::code_spans(&text).into_iter().collect();
    let on_map = named_in_paths(&text);
    let missing = there.iter().filter(|name| !spans.contains(*name) && !on_map.contains(*name));
    let gone = on_map.iter().filter(|name| !there.contains(*name));
    let missing = missing.map(|name| format!("{MAP} does not name crates/{name}"));
    let mut wrong: Vec<String> =
        missing.chain(gone.map(|name| format!("{MAP} names crates/{name}, which is gone"))).collect();
    wrong.extend(there.iter().filter_map(|name| row_differs(&text, name)));
    Ok(wrong)
}

/// The row of a crate whose last column is not what the fence's rule says.
fn row_differs(text: &str, name: &str) -> Option<String> {
    let may_know = fence::may_know(name)?;
    let row = text.lines().find(|line| line.starts_with(&format!("| `crates/{name}` |")))?;
    let said = row.trim_end_matches('|').rsplit('|').next().map(str::trim)?;
    let right = said == may_know || (said == "all" && fence::knows_all(name));
    (!right).then(|| format!("{MAP} says that crates/{name} may know {said}; the fence lets it know {may_know}"))
}

/// Every NAME in `crates/NAME`, wherever it stands.
fn named_in_paths(text: &str) -> BTreeSet<String> {
    let name = |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().map(str::to_owned);
    text.split("crates/").skip(1).filter_map(name).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_off_the_map_and_a_name_without_a_crate_are_both_found() {
        let root = tempfile::tempdir().unwrap();
        for name in ["model", "engine", "sim"] {
            std::fs::create_dir_all(root.path().join("crates").join(name)).unwrap();
            std::fs::write(root.path().join("crates").join(name).join("Cargo.toml"), "").unwrap();
        }
        std::fs::write(root.path().join(MAP), "`model` and crates/engine/src, not crates/old").unwrap();
        let expected = ["ARCHITECTURE.md does not name crates/sim", "ARCHITECTURE.md names crates/old, which is gone"];
        assert_eq!(check(root.path()).unwrap(), expected);
    }
}
