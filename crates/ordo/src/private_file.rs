//! Files for their owner only: a token, a key.
//!
//! Invariant: such a file is never half there, and never readable by others, not even for a moment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
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

/// A file that grows, line by line. One that others can read is closed to them first, or not written.
pub(crate) fn append_to(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    let found = file.metadata()?;
    let mode = found.permissions().mode() & 0o777;
    // A terminal, a pipe: what is read there is not kept.
    if found.is_file() && mode & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(mode & 0o700)).map_err(|error| {
            io::Error::new(error.kind(), format!("others can read it, and it is not ours to change: {error}"))
        })?;
        tracing::warn!(file = %path.display(), "others could read it: it is for its owner only now");
    }
    Ok(file)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_is_for_its_owner_only_also_if_it_was_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (new, old) = (dir.path().join("new"), dir.path().join("old"));
        append_to(&new).unwrap();
        fs::write(&old, "before\n").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o644)).unwrap();
        append_to(&old).unwrap().write_all(b"after\n").unwrap();
        assert_eq!((mode(&new), mode(&old)), (0o600, 0o600));
        assert_eq!(fs::read_to_string(&old).unwrap(), "before\nafter\n");
    }
}
