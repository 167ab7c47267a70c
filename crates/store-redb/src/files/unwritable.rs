//! A store where nothing can be written, as on a file system that is mounted read-only: it is read through a copy of
//! its file and its journal, because reading the journal's tail means taking it into the tables.
//!
//! Invariant: nothing is written beside the original, and a store that somebody has open is not copied.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

use ordo_store::Fault;

use crate::fault::cannot_open_file;
use crate::files::held::{held_by, lock_path};
use crate::files::open::RedbOptions;
use crate::files::source::{journal_folder, segment_path};
use crate::journal::SEGMENTS;
use crate::store::RedbStore;

/// Whether there is a file that this process may read and not write.
pub fn is_unwritable(store: &Path) -> bool {
    let kind = File::options().write(true).open(store).map_err(|error| error.kind());
    matches!(kind, Err(ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)) && File::open(store).is_ok()
}

impl RedbStore {
    /// Opens a copy in `folder`, which is empty and as lasting as the store that is returned.
    pub fn open_copy(store: &Path, folder: &Path, options: RedbOptions) -> Result<RedbStore, Fault> {
        let _alone = hold_to_read(store)?;
        let copy = folder.join(store.file_name().unwrap_or(store.as_os_str()));
        copy_files(store, &copy).map_err(|error| cannot_open_file(store, error))?;
        RedbStore::open(copy, options)
    }
}

/// On another mount of the same files somebody may write: the lock says so, where there is one.
fn hold_to_read(store: &Path) -> Result<Option<File>, Fault> {
    let Ok(lock) = File::open(lock_path(store)) else { return Ok(None) };
    match lock.try_lock_shared() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(held_by(store, &lock_path(store), lock)),
        Err(TryLockError::Error(error)) => Err(cannot_open_file(store, error)),
    }
}

fn copy_files(store: &Path, copy: &Path) -> io::Result<()> {
    std::fs::copy(store, copy)?;
    make_writable(copy)?;
    let (from, to) = (journal_folder(store), journal_folder(copy));
    if !from.is_dir() {
        return Ok(());
    }
    std::fs::create_dir(&to)?;
    for number in 0..SEGMENTS {
        let (from, to) = (segment_path(&from, number), segment_path(&to, number));
        if from.exists() {
            std::fs::copy(from, &to)?;
            make_writable(&to)?;
        }
    }
    Ok(())
}

/// A copy has the rights of its original.
#[allow(clippy::permissions_set_readonly_false, reason = "a copy in a folder of our own")]
fn make_writable(path: &Path) -> io::Result<()> {
    let mut rights = std::fs::metadata(path)?.permissions();
    rights.set_readonly(false);
    std::fs::set_permissions(path, rights)
}
