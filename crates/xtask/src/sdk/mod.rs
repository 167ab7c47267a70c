//! The packages in `sdk/`, one for each language, held to one suite against the real binary: `sdk/conformance`.
//!
//! Invariant: what is tested is what would be published: each package is built, installed and used from there.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::built_with_tests;
use crate::tree::target;
use crate::{npm, tree, venv};

const REQUIREMENTS: &str = include_str!("requirements.txt");
const PACKAGES: &str = include_str!("package.json");

/// Returns a note when this machine cannot do it. `ORDO_BIN` names another binary than the one of this build.
pub(crate) fn run(args: &[String]) -> Result<Option<String>> {
    let Some(python) = venv::python() else {
        return Ok(Some("python3 with venv and pip is not installed (`apt-get install python3-venv`)".to_owned()));
    };
    if let Some(missing) = ["node", "npm"].into_iter().find(|program| !npm::is_there(program)) {
        return Ok(Some(format!("{missing} is not installed")));
    }
    let folder = std::path::absolute(target().join("sdk")).context("where the tools are kept")?;
    let tools = venv::with(&python, &folder.join("venv"), REQUIREMENTS)?;
    let modules = npm::with(&folder.join("npm"), PACKAGES)?;
    let status = Command::new(tools.join("python"))
        .arg(tree::root().join("sdk/conformance/run.py"))
        .arg("--ordo")
        .arg(binary()?)
        .arg("--tools-python")
        .arg(tools.join("python"))
        .arg("--node-modules")
        .arg(modules)
        .args(args)
        .stdin(Stdio::null())
        .status()
        .context("starting sdk/conformance/run.py")?;
    if !status.success() {
        bail!("the packages do not keep what they promise: {status}");
    }
    Ok(None)
}

/// The binary to try: the one of this build, unless another is named.
pub(crate) fn binary() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("ORDO_BIN") {
        return Ok(PathBuf::from(named));
    }
    built_with_tests("ordo")
}
