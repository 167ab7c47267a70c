//! Files for their owner only: a token, a key.
//!
//! Invariant: such a file is never half there, and never readable by others, not even for a moment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes one line, in the place of what was there.
pub(crate) fn replace(path: &Path, line: &str) -> io::Result<()> {
    let aside = write_aside(path, line)?;
    fs::rename(aside, path)?;
    sync_folder(path)
}

/// Writes one line unless somebody else was first: then theirs stays.
pub(crate) fn create(path: &Path, line: &str) -> io::Result<()> {
    let aside = write_aside(path, line)?;
    let linked = match fs::hard_link(&aside, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    };
    fs::remove_file(aside)?;
    linked?;
    sync_folder(path)
}

fn write_aside(path: &Path, line: &str) -> io::Result<PathBuf> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".new-{}", std::process::id()));
    let aside = PathBuf::from(aside);
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    writeln!(file, "{line}")?;
    file.sync_all()?;
    Ok(aside)
}

/// The name of a new file is durable only with its folder.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}
