//! Programs of others that cargo installs, below `target/tools`.
//!
//! Invariant: which version is used is a decision, not a matter of the day: one of another version is not used.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::cargo::cargo;

/// A program, and how it says which version it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CargoProgram {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// What `NAME --version` prints.
    pub(crate) says: &'static str,
    pub(crate) options: &'static [&'static str],
}

impl CargoProgram {
    /// The one of this machine if it is of the right version, otherwise ours, installed on first use.
    pub(crate) fn installed(&self, root: &Path) -> Result<PathBuf> {
        let ours = root.join("target/tools/bin").join(self.name);
        let candidates = [PathBuf::from(self.name), ours.clone()];
        if let Some(found) = candidates.into_iter().find(|candidate| self.is(candidate)) {
            return Ok(found);
        }
        let folder = root.join("target/tools").display().to_string();
        // Built in a hurry: it runs for seconds now and then, and nobody looks inside.
        let hurry = ["--debug", "--config", "profile.dev.debug=false"];
        let install = ["install", self.name, "--locked", "--version", self.version, "--root", &folder];
        cargo(&[install.as_slice(), &hurry, self.options].concat())?;
        Ok(ours)
    }

    fn is(&self, program: &Path) -> bool {
        let output = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == self.says)
    }
}
