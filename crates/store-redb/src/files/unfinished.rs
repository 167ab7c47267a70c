//! A file that gets its name only once it is complete and on disk.
//!
//! redb leaves a file it cannot open again when the power goes while it makes it. Invariant: under its own name
//! a file is whole or not there; what a crash leaves carries `.unfinished` and is removed by the next try.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ordo_store::Fault;

use crate::fault::cannot_open_file;
use crate::files::rights;

#[derive(Debug)]
pub(crate) struct Unfinished {
    path: PathBuf,
    name: PathBuf,
    finished: bool,
}

impl Unfinished {
    pub(crate) fn of(name: &Path) -> Result<Unfinished, Fault> {
        let mut path = OsString::from(name);
        path.push(".unfinished");
        let path = PathBuf::from(path);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot_open_file(&path, error)),
            Ok(()) | Err(_) => {}
        }
        // Made here, and not by redb: it is for its owner only from the beginning.
        let made = rights::for_owner(File::options().write(true).create_new(true)).open(&path);
        made.map_err(|error| cannot_open_file(name, error))?;
        Ok(Unfinished { path, name: name.to_owned(), finished: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn finish(mut self) -> Result<(), Fault> {
        self.finished = true;
        give_name(&self.path, &self.name).map_err(|error| cannot_open_file(&self.name, error))
    }
}

/// What is left of a failure is of no use; that it may stay is of no harm.
impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The folder must remember the name, too.
fn give_name(path: &Path, name: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    std::fs::rename(path, name)?;
    sync_folder_of(name)
}

pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}
