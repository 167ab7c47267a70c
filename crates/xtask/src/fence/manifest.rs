//! What each crate of the workspace depends on, as cargo sees it.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cargo;

#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) folder: String,
    /// Crates of this workspace, by folder.
    pub(super) ours: Vec<Use>,
    /// Crates of others, by name.
    pub(super) others: Vec<Use>,
    pub(super) takes_workspace_lints: bool,
}

#[derive(Debug)]
pub(super) struct Use {
    pub(super) name: String,
    pub(super) only_in_tests: bool,
}

pub(super) fn read(root: &Path) -> Result<Vec<Manifest>> {
    let json = cargo::output(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Value = serde_json::from_slice(&json).context("reading cargo's metadata")?;
    let packages = metadata["packages"].as_array().context("metadata without packages")?;
    packages.iter().map(|package| manifest(root, package)).collect()
}

fn manifest(root: &Path, package: &Value) -> Result<Manifest> {
    let path = Path::new(package["manifest_path"].as_str().context("a package without a manifest")?);
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let empty = Vec::new();
    let dependencies = package["dependencies"].as_array().unwrap_or(&empty);
    let (ours, others): (Vec<_>, Vec<_>) =
        dependencies.iter().partition(|known| known["path"].as_str().is_some_and(|at| Path::new(at).starts_with(root)));
    Ok(Manifest {
        folder: path.parent().map(folder_name).unwrap_or_default(),
        ours: ours.into_iter().map(|known| used(known, folder_of(known))).collect(),
        others: others.into_iter().map(|known| used(known, text_of(known, "name"))).collect(),
        takes_workspace_lints: text.contains("[lints]\nworkspace = true"),
    })
}

fn used(known: &Value, name: String) -> Use {
    Use { name, only_in_tests: known["kind"] == "dev" }
}

fn folder_of(known: &Value) -> String {
    folder_name(Path::new(&text_of(known, "path")))
}

fn folder_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn text_of(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}
