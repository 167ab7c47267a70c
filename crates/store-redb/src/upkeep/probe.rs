//! Whether a commit would succeed now.
//!
//! It would if the disk has room, the journal takes a record and redb durably takes what the journal has. Invariant: what
//! is written to find out means nothing, and is gone afterwards with the journal's other records. A disk that takes it has
//! room for the journal and for redb's file to grow a little; one that does not would refuse the next commit just the same.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ordo_store::Fault;

use crate::files::rights::for_owner;
use crate::handle::{Handle, Proof};
use crate::journal::failed;

/// What a disk must have room for: a large commit.
const ROOM_BYTES: usize = 256 * 1024;

/// The first half; redb is asked with [`Handle::begin_proving`].
pub(crate) fn try_append(handle: &Handle) -> Result<Proof, Fault> {
    if let Some(path) = handle.source.path() {
        find_room(path).map_err(|error| failed("looking whether the disk can be written", error))?;
    }
    handle.try_append()
}

fn find_room(store: &Path) -> io::Result<()> {
    let mut name = OsString::from(store);
    name.push(".room");
    let room = Room(PathBuf::from(name));
    let mut file = for_owner(File::options().write(true).create(true).truncate(true)).open(&room.0)?;
    file.write_all(&[0; ROOM_BYTES])
}

/// A file that is gone when dropped.
struct Room(PathBuf);

impl Drop for Room {
    fn drop(&mut self) {
        // Should it stay, the next probe writes over it.
        let _ = std::fs::remove_file(&self.0);
    }
}
