//! One meaning per type name: every struct, enum, trait, union and alias of the workspace, in sources and in tests, is
//! defined once. Whoever reads a name knows what it is without looking where it comes from.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tree;

/// A name that may have several definitions.
struct SharedName {
    name: &'static str,
    definitions: usize,
    why: &'static str,
}

const SHARED: [SharedName; 2] = [
    SharedName { name: "Error", definitions: 3, why: "the usual name of what a public function of a crate returns" },
    SharedName {
        name: "World",
        definitions: 3,
        why: "one for each layer that tests begin with: engine, server, binary",
    },
];

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in tree::files(&root.join("crates"), ".rs")? {
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        for name in text.lines().filter_map(defined) {
            places.entry(name.to_owned()).or_default().push(shown.clone());
        }
    }
    Ok(wrong(&places))
}

fn wrong(places: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, places) in places {
        let shared = SHARED.iter().find(|shared| shared.name == name);
        let allowed = shared.map_or(1, |shared| shared.definitions);
        if places.len() > allowed {
            let why = shared.map(|shared| format!(" ({allowed} are allowed: {})", shared.why)).unwrap_or_default();
            found.push(format!("{name} is defined {} times{why}: {}", places.len(), places.join(", ")));
        }
    }
    found
}

/// The type that a line of code defines. A test may hold code as text: only what begins a line counts.
fn defined(line: &str) -> Option<&str> {
    // What a trait calls its types is the trait's business: those stand inside a block.
    let is_alias = !line.starts_with(' ') && line.split_whitespace().any(|word| word == "type");
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    match words.next()? {
        "struct" | "enum" | "trait" | "union" => {}
        "type" if is_alias => {}
        _ => return None,
    }
    let name = words.next()?.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_found_whoever_may_see_it() {
        assert_eq!(defined("pub(crate) struct Ring {"), Some("Ring"));
        assert_eq!(defined("    enum Choice<T> {"), Some("Choice"));
        assert_eq!(defined("pub trait Tool: Send {"), Some("Tool"));
        assert_eq!(defined("struct Flaky(u32);"), Some("Flaky"));
        assert_eq!(defined("pub type Voice = Sender<String>;"), Some("Voice"));
        assert_eq!(defined("    type Error = Fault;"), None);
        assert_eq!(defined("/// a struct Ring"), None);
        assert_eq!(defined("let structs = 3;"), None);
    }

    #[test]
    fn a_name_with_two_meanings_is_refused_unless_there_is_a_reason() {
        let places = |name: &str, count: usize| BTreeMap::from([(name.to_owned(), vec!["a.rs".to_owned(); count])]);
        assert!(wrong(&places("Ring", 1)).is_empty());
        assert_eq!(wrong(&places("Ring", 2)), ["Ring is defined 2 times: a.rs, a.rs"]);
        assert!(wrong(&places("World", 3)).is_empty());
        assert_eq!(wrong(&places("World", 4)).len(), 1);
    }
}
