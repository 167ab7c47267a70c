//! Bugs that are planted on purpose are compiled by the simulator alone, and there only if somebody asks for them.

use std::path::Path;

use anyhow::{Context, Result};

use crate::tree;

const FEATURE: &str = "planted-bugs";

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    for folder in tree::crate_folders(root)? {
        let path = root.join("crates").join(&folder).join("Cargo.toml");
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        breaches.extend(breach(&folder, &text));
    }
    Ok(breaches)
}

/// The model has the feature, the simulator has one of the same name that turns it on, and that is all.
fn breach(folder: &str, manifest: &str) -> Option<String> {
    let allowed = match folder {
        "model" => Some("planted-bugs = []"),
        "sim" => Some(r#"planted-bugs = ["ordo-model/planted-bugs"]"#),
        _ => None,
    };
    let asks =
        |line: &&str| line.contains(FEATURE) && !line.trim_start().starts_with('#') && Some(line.trim()) != allowed;
    let line = manifest.lines().find(asks)?;
    Some(format!("crates/{folder} asks for bugs on purpose, which only the simulator may: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shipped_can_have_a_bug_on_purpose() {
        assert_eq!(breach("sim", "planted-bugs = [\"ordo-model/planted-bugs\"]"), None);
        assert!(breach("sim", "ordo-model = { workspace = true, features = [\"planted-bugs\"] }").is_some());
        assert!(breach("ordo", "planted-bugs = []").is_some());
    }
}
