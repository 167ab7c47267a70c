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
    /// Of tests, or of the feature `testing`, which nothing that is shipped has.
    pub(super) only_in_tests: bool,
    /// Whether it is asked for with its feature `testing`.
    pub(super) has_testing: bool,
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
        ours: ours.into_iter().map(|known| used(package, known, folder_of(known))).collect(),
        others: others.into_iter().map(|known| used(package, known, text_of(known, "name"))).collect(),
        takes_workspace_lints: text.contains("[lints]\nworkspace = true"),
    })
}

fn used(package: &Value, known: &Value, name: String) -> Use {
    let only_in_tests = known["kind"] == "dev" || is_for_testing(package, &text_of(known, "name"));
    let features = known["features"].as_array();
    let has_testing = features.is_some_and(|features| features.iter().any(|feature| feature == TESTING));
    Use { name, only_in_tests, has_testing }
}

/// The feature of a crate that has what its tests and those of the layers above begin with.
const TESTING: &str = "testing";

/// Whether an optional dependency comes with the feature `testing`, and with no other.
fn is_for_testing(package: &Value, name: &str) -> bool {
    let entry = format!("dep:{name}");
    let Some(features) = package["features"].as_object() else { return false };
    let brings = |enabled: &Value| enabled.as_array().is_some_and(|all| all.iter().any(|one| *one == entry));
    let mut names = features.iter().filter(|(_, enabled)| brings(enabled)).map(|(name, _)| name);
    names.next().is_some_and(|name| name == TESTING) && names.next().is_none()
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
