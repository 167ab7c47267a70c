//! Where things lie in the workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("xtask lies two folders below the root").to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The names of the folders in `crates/`, sorted.
pub(crate) fn crate_folders(root: &Path) -> Result<Vec<String>> {
    let crates = root.join("crates");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&crates).with_context(|| format!("listing {}", crates.display()))? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
            names.push(file_name(&path));
        }
    }
    names.sort();
    Ok(names)
}

/// Every file below `folder` whose name ends in `ending`, sorted; hidden folders and build output left out.
pub(crate) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(folder, ending, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        let name = file_name(&entry.path());
        if entry.file_type()?.is_dir() {
            if !is_foreign(&name) {
                collect(&entry.path(), ending, found)?;
            }
        } else if name.ends_with(ending) {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn is_foreign(folder: &str) -> bool {
    folder.starts_with('.') || folder == "target" || folder == "node_modules"
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
