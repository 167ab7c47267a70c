//! A folder is small enough to be read at a glance: whoever looks for something sees at once where it can be.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use crate::tree;

/// Source files beside each other, folders not counted. What grows beyond is grouped by subject.
const FILES_MAX: usize = 15;

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in tree::files(&root.join("crates"), ".rs")? {
        let folder = path.parent().map(|folder| folder.strip_prefix(root).unwrap_or(folder).display().to_string());
        *counts.entry(folder.unwrap_or_default()).or_default() += 1;
    }
    Ok(crowded(&counts))
}

fn crowded(counts: &BTreeMap<String, usize>) -> Vec<String> {
    let beyond = counts.iter().filter(|(_, files)| **files > FILES_MAX);
    beyond
        .map(|(folder, files)| format!("{folder} has {files} source files, {FILES_MAX} are allowed: group them"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_too_many_files_is_refused() {
        let counts = |files: usize| BTreeMap::from([("crates/a/src".to_owned(), files)]);
        assert!(crowded(&counts(FILES_MAX)).is_empty());
        let wanted = ["crates/a/src has 16 source files, 15 are allowed: group them"];
        assert_eq!(crowded(&counts(FILES_MAX + 1)), wanted);
    }
}
