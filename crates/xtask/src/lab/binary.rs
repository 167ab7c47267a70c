//! The binary that is put to the proof: built like that of the other chores, or named.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo::built_with_tests;

/// A copy in `folder`: another build may put another binary in its place meanwhile.
pub(crate) fn copy_of(named: Option<&Path>, folder: &Path) -> Result<PathBuf> {
    let from = match named {
        Some(path) => path.to_path_buf(),
        None => built_with_tests("ordo")?,
    };
    let own = folder.join("ordo");
    std::fs::copy(&from, &own).with_context(|| format!("copying {}", from.display()))?;
    Ok(own)
}
