//! The files of a store are for their owner only.
//!
//! Invariant: whatever is made beside a store is made with these rights; what others may read already is repaired when
//! the store is opened, or refused.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;

/// A file that this makes is for its owner only.
pub(crate) fn for_owner(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(FILE)
}

/// A folder that is its owner's only. There is one level to make.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(FOLDER).create(path)
}

/// Takes away what others may do with the file or folder; whether there was anything to take away. What is not there
/// needs nothing.
pub(crate) fn repair(path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let wanted = if found.is_dir() { FOLDER } else { FILE };
    let mode = found.permissions().mode() & 0o777;
    if found.is_symlink() || mode & !wanted == 0 {
        return Ok(false);
    }
    fs::set_permissions(path, Permissions::from_mode(mode & wanted))?;
    Ok(true)
}
