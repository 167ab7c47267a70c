//! Where the database lies: in a file, or on a disk made for a test or a simulation.
//!
//! Invariant: a file and a [`Disk`] can be opened again after a failure; a single backend cannot.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ordo_store::Fault;
use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageBackend, StorageError};

use crate::fault::{cannot_open, cannot_open_file, during};
use crate::files::held::lock_path;
use crate::files::open::create_tables;
use crate::files::rights;
use crate::files::unfinished::{Unfinished, sync_folder_of};
use crate::journal::SEGMENTS;

/// A disk that can be opened again and again; what was written before is there. A file that is new is empty.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>>;
}

/// The files of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreFile {
    /// redb's file.
    Data,
    /// A segment of the journal, by its number.
    Segment(usize),
}

impl StoreFile {
    pub const ALL: [StoreFile; 1 + SEGMENTS] =
        [StoreFile::Data, StoreFile::Segment(0), StoreFile::Segment(1), StoreFile::Segment(2), StoreFile::Segment(3)];
}

#[derive(Debug)]
pub(crate) enum BackendSource {
    File(PathBuf),
    Disk { disk: Box<dyn Disk>, len: Arc<AtomicU64> },
    Once { backend: Mutex<Option<Box<dyn StorageBackend>>>, len: Arc<AtomicU64> },
}

impl BackendSource {
    pub(crate) fn disk(disk: impl Disk) -> BackendSource {
        BackendSource::Disk { disk: Box::new(disk), len: Arc::default() }
    }

    pub(crate) fn once(backend: impl StorageBackend) -> BackendSource {
        BackendSource::Once { backend: Mutex::new(Some(Box::new(backend))), len: Arc::default() }
    }

    pub(crate) fn open(&self, cache_bytes: usize) -> Result<Database, Fault> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        match self {
            BackendSource::File(path) => {
                if is_new(path) {
                    make(&builder, path)?;
                }
                open_free(&builder, path).map_err(|error| cannot_open(path, error))
            }
            BackendSource::Disk { disk, len } => {
                let opened = disk.open(StoreFile::Data).and_then(|backend| {
                    wipe_unfinished(&*backend)?;
                    Ok(backend)
                });
                let backend = opened.map_err(|error| during("opening the store")(StorageError::Io(error)))?;
                build_on(&builder, backend, len)
            }
            BackendSource::Once { backend, len } => {
                let taken = backend.lock().unwrap_or_else(PoisonError::into_inner).take();
                let backend = taken.ok_or_else(|| Fault::unavailable("opening the store again", "restart Ordo"))?;
                build_on(&builder, backend, len)
            }
        }
    }

    /// Whether commits go through a journal: where the store can be opened again.
    pub(crate) fn has_journal(&self) -> bool {
        match self {
            BackendSource::File(_) | BackendSource::Disk { .. } => true,
            BackendSource::Once { .. } => false,
        }
    }

    /// A segment of the journal; made if it is not there.
    pub(crate) fn segment(&self, number: usize) -> Result<Box<dyn StorageBackend>, Fault> {
        match self {
            BackendSource::File(path) => open_segment(&journal_folder(path), number),
            BackendSource::Disk { disk, .. } => disk
                .open(StoreFile::Segment(number))
                .map_err(|error| during("opening the journal")(StorageError::Io(error))),
            BackendSource::Once { .. } => Err(Fault::damaged("a journal without a place")),
        }
    }

    /// Whether there is a journal to be read; only a folder can be missing.
    pub(crate) fn journal_exists(&self) -> bool {
        match self {
            BackendSource::File(path) => journal_folder(path).is_dir(),
            BackendSource::Disk { .. } | BackendSource::Once { .. } => true,
        }
    }

    /// For a message.
    pub(crate) fn journal_name(&self) -> String {
        match self {
            BackendSource::File(path) => format!("the journal {}", journal_folder(path).display()),
            BackendSource::Disk { .. } | BackendSource::Once { .. } => "the journal".to_owned(),
        }
    }

    /// Takes the journal away from a file that needs none; it is made anew.
    pub(crate) fn remove_journal(&self) -> Result<(), Fault> {
        let BackendSource::File(path) = self else { return Ok(()) };
        let folder = journal_folder(path);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot_open_file(&folder, error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// What distinguishes a new journal from those before it. Nobody who writes jobs knows it, so that no text of theirs can
    /// look like a record; a disk made for a test has no such enemies, and the same every time.
    pub(crate) fn new_journal_id(&self, last: u64) -> u64 {
        match self {
            BackendSource::File(_) => RandomState::new().hash_one(last).max(1),
            BackendSource::Disk { .. } | BackendSource::Once { .. } => last + 1,
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            BackendSource::File(path) => Some(path),
            BackendSource::Disk { .. } | BackendSource::Once { .. } => None,
        }
    }

    pub(crate) fn bytes_on_disk(&self) -> u64 {
        match self {
            BackendSource::File(path) => {
                let folder = journal_folder(path);
                let segments = (0..SEGMENTS).map(|number| segment_path(&folder, number));
                let len = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
                len(path) + segments.map(|segment| len(&segment)).sum::<u64>()
            }
            BackendSource::Disk { len, .. } | BackendSource::Once { len, .. } => len.load(Ordering::Relaxed),
        }
    }
}

/// `orchestrator.db` → `orchestrator.db-journal`
pub(crate) fn journal_folder(store: &Path) -> PathBuf {
    let mut name = OsString::from(store);
    name.push("-journal");
    PathBuf::from(name)
}

/// Removes what lies beside a store that is no more: its journal, its lock, what a crash left of making it. What
/// cannot be removed is in nobody's way.
pub fn remove_beside(store: &Path) {
    for ending in [".lock", ".unfinished"] {
        let mut name = OsString::from(store);
        name.push(ending);
        let _ = std::fs::remove_file(name);
    }
    let _ = std::fs::remove_dir_all(journal_folder(store));
}

pub(crate) fn segment_path(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("segment-{number}"))
}

/// The folders must remember the new names, too, before anything in them counts.
fn open_segment(folder: &Path, number: usize) -> Result<Box<dyn StorageBackend>, Fault> {
    let path = segment_path(folder, number);
    let open = || -> io::Result<File> {
        if !folder.is_dir() {
            rights::make_folder(folder)?;
            sync_folder_of(folder)?;
        }
        let is_new = !path.exists();
        let mut options = File::options();
        let file = rights::for_owner(options.read(true).write(true).create(true).truncate(false)).open(&path)?;
        if is_new {
            file.sync_all()?;
            sync_folder_of(&path)?;
        }
        Ok(file)
    };
    let file = open().map_err(|error| cannot_open_file(&path, error))?;
    Ok(Box::new(FileBackend::new(file).map_err(|error| cannot_open(&path, error))?))
}

/// Whoever had the store before may have left redb's lock to a tool that is just being started: see `held`.
const LEFT_BEHIND: u32 = 25;
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[expect(clippy::disallowed_methods, reason = "another process cannot be awaited, only asked again")]
fn open_free(builder: &Builder, path: &Path) -> Result<Database, DatabaseError> {
    let mut looks = 0;
    loop {
        match builder.open(path) {
            Err(DatabaseError::DatabaseAlreadyOpen) if looks < LEFT_BEHIND => {
                looks += 1;
                std::thread::sleep(LOOK_EVERY);
            }
            opened => return opened,
        }
    }
}

/// Takes from others what they may do with the files of a store.
pub(crate) fn repair_rights(store: &Path) -> Result<(), Fault> {
    let folder = journal_folder(store);
    let segments = (0..SEGMENTS).map(|number| segment_path(&folder, number));
    let files = [store.to_owned(), lock_path(store), folder.clone()].into_iter().chain(segments);
    for file in files {
        match rights::repair(&file) {
            Ok(false) => {}
            Ok(true) => tracing::warn!(file = %file.display(), "others could read it: it is for its owner only now"),
            Err(error) => {
                let what = format!(
                    "{} can be read by others, and its rights cannot be changed ({error}): make it yours alone \
                     (chown, chmod go=), or name another store",
                    file.display()
                );
                return Err(Fault::Held { what });
            }
        }
    }
    Ok(())
}

/// Not there, or empty as a file that was reserved for it.
fn is_new(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn make(builder: &Builder, path: &Path) -> Result<(), Fault> {
    let unfinished = Unfinished::of(path)?;
    let database = builder.create(unfinished.path()).map_err(|error| cannot_open(path, error))?;
    create_tables(&database)?;
    drop(database);
    unfinished.finish()
}

/// A disk has no names to give: where a crash cut the making of the store short, before redb's magic number
/// was written, nothing was ever acknowledged and the making begins again.
fn wipe_unfinished(backend: &dyn StorageBackend) -> io::Result<()> {
    const MAGIC_BYTES: usize = 9;
    let mut magic = [0; MAGIC_BYTES];
    let len = backend.len()?;
    if len >= MAGIC_BYTES as u64 {
        backend.read(0, &mut magic)?;
    }
    if len > 0 && magic == [0; MAGIC_BYTES] { backend.set_len(0) } else { Ok(()) }
}

fn build_on(builder: &Builder, inner: Box<dyn StorageBackend>, len: &Arc<AtomicU64>) -> Result<Database, Fault> {
    let backend = Measured { inner, len: Arc::clone(len) };
    builder.create_with_backend(backend).map_err(during("opening the store"))
}

/// A backend whose length can be asked for from outside.
#[derive(Debug)]
struct Measured {
    inner: Box<dyn StorageBackend>,
    len: Arc<AtomicU64>,
}

impl StorageBackend for Measured {
    fn len(&self) -> io::Result<u64> {
        let len = self.inner.len()?;
        self.len.store(len, Ordering::Relaxed);
        Ok(len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.len.store(len, Ordering::Relaxed);
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }
}
