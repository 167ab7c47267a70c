//! Who holds a store: a file beside it, locked by the process that has it open, that says who this is.
//!
//! Invariant: the lock is the operating system's, so it ends with the process; what the file says is only a message.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ordo_model::Timestamp;
use ordo_store::Fault;

use crate::fault::cannot_open_file;

/// Held as long as the store is open.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _locked: File,
    /// The file, if it was not there before.
    made: Option<PathBuf>,
}

impl StoreLock {
    pub(crate) fn take(store: &Path) -> Result<StoreLock, Fault> {
        let path = lock_path(store);
        let (mut file, made) = open(&path).map_err(|error| cannot_open_file(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held_by(store, file)),
            Err(TryLockError::Error(error)) => return Err(cannot_open_file(&path, error)),
        }
        sign(&mut file).map_err(|error| cannot_open_file(&path, error))?;
        Ok(StoreLock { _locked: file, made: made.then_some(path) })
    }

    /// There is no store to hold: beside somebody else's file nothing of ours stays.
    pub(crate) fn let_go(self) {
        if let Some(path) = self.made {
            // Should it stay, it holds nobody up: the lock ends here.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The file, and whether it was made for this.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.create_new(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = options.create_new(false).create(true).truncate(false).open(path)?;
            Ok((file, false))
        }
        Err(error) => Err(error),
    }
}

/// `ordo.redb` → `ordo.redb.lock`
pub(crate) fn lock_path(store: &Path) -> PathBuf {
    let mut name = OsString::from(store);
    name.push(".lock");
    PathBuf::from(name)
}

/// The file system's clock says since when: this crate has none.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}", std::process::id())?;
    if let Some(since) = modified(file) {
        writeln!(file, "since {since}")?;
    }
    file.flush()
}

fn modified(file: &File) -> Option<Timestamp> {
    let since_1970 = file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Timestamp::from_ms(i64::try_from(since_1970.as_millis()).ok()?).ok()
}

pub(crate) fn held_by(store: &Path, mut file: File) -> Fault {
    let mut text = String::new();
    let known = file.read_to_string(&mut text).is_ok() && !text.trim().is_empty();
    let who = if known { text.lines().collect::<Vec<_>>().join(" ") } else { "another process".to_owned() };
    let store = store.display();
    Fault::Held { what: format!("{store} is held by {who}: stop it first, or name another store") }
}
