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
    wrong.extend(functions_that_are_gone(root, &text)?);
    Ok(wrong)
}

/// The walks name functions as `Type::function`; each must be defined somewhere.
fn functions_that_are_gone(root: &Path, text: &str) -> Result<Vec<String>> {
    let mut named: BTreeSet<String> = markdown::code_spans(text).iter().filter_map(|span| function(span)).collect();
    for path in tree::files(&root.join("crates"), ".rs")? {
        if named.is_empty() {
            break;
        }
        let source = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        named.retain(|name| !source.contains(&format!("fn {name}")));
    }
    Ok(named.into_iter().map(|name| format!("{MAP} names a function {name}, which is gone")).collect())
}

/// The function that a code span names, as in `Store::commit` or `Core::step(input, now)`.
fn function(span: &str) -> Option<String> {
    let (owner, rest) = span.split_once("::")?;
    let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    let is_function = name.starts_with(|c: char| c.is_ascii_lowercase());
    (is_function && owner.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then(|| name.to_owned())
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
    fn a_walk_through_a_function_that_is_gone_is_found() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crates/engine")).unwrap();
        std::fs::write(root.path().join("crates/engine/lib.rs"), "pub fn submit(&self) {}").unwrap();
        let text = "`Engine::submit` to `Rounds::gather(now)`, not `Command::Orphan`";
        let gone = functions_that_are_gone(root.path(), text).unwrap();
        assert_eq!(gone, ["ARCHITECTURE.md names a function gather, which is gone"]);
    }

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
