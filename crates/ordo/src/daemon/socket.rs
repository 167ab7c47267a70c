//! The Unix socket of a daemon.
//!
//! Invariant: the caller holds the folder, so a socket that is there already belongs to nobody alive; it is
//! replaced by one that nobody but its owner could ever connect to.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use crate::error::{Error, Result};
use crate::folder::shown;

/// Removed when dropped.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn bind(path: &Path) -> Result<(UnixListener, SocketFile)> {
    let listener = bind_aside(path)
        .map_err(|error| Error::failed(format!("cannot listen at {}", shown(path))).detail(error.to_string()))?;
    Ok((listener, SocketFile(path.to_owned())))
}

/// Under another name until its rights are right.
fn bind_aside(path: &Path) -> io::Result<UnixListener> {
    let aside = path.with_extension("sock.new");
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let listener = UnixListener::bind(&aside)?;
    fs::set_permissions(&aside, fs::Permissions::from_mode(0o600))?;
    fs::rename(&aside, path)?;
    Ok(listener)
}
