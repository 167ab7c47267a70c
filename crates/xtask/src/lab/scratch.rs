//! A folder on the local disk that is gone at the end.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(crate) fn make(name: &str) -> Result<ScratchFolder> {
        let path = std::env::temp_dir().join(format!("ordo-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(ScratchFolder(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
