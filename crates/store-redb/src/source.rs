//! Where the database lies: in a file, or on a disk made for a test or a simulation.
//!
//! Invariant: a file and a [`Disk`] can be opened again after a failure; a single backend cannot.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ordo_store::Fault;
use redb::{Builder, Database, StorageBackend, StorageError};

use crate::fault::{cannot_open, during};
use crate::open::create_tables;
use crate::unfinished::Unfinished;

/// A disk that can be opened again and again; what was written before is there.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    fn backend(&self) -> Box<dyn StorageBackend>;
}

#[derive(Debug)]
pub(crate) enum Source {
    File(PathBuf),
    Disk { disk: Box<dyn Disk>, len: Arc<AtomicU64> },
    Once { backend: Mutex<Option<Box<dyn StorageBackend>>>, len: Arc<AtomicU64> },
}

impl Source {
    pub(crate) fn disk(disk: impl Disk) -> Source {
        Source::Disk { disk: Box::new(disk), len: Arc::default() }
    }

    pub(crate) fn once(backend: impl StorageBackend) -> Source {
        Source::Once { backend: Mutex::new(Some(Box::new(backend))), len: Arc::default() }
    }

    pub(crate) fn open(&self, cache_bytes: usize) -> Result<Database, Fault> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        match self {
            Source::File(path) => {
                if is_new(path) {
                    make(&builder, path)?;
                }
                builder.open(path).map_err(|error| cannot_open(path, error))
            }
            Source::Disk { disk, len } => {
                let backend = disk.backend();
                wipe_unfinished(&*backend).map_err(|error| during("opening the store")(StorageError::Io(error)))?;
                build_on(&builder, backend, len)
            }
            Source::Once { backend, len } => {
                let taken = backend.lock().unwrap_or_else(PoisonError::into_inner).take();
                let backend = taken.ok_or_else(|| Fault::unavailable("opening the store again", "restart Ordo"))?;
                build_on(&builder, backend, len)
            }
        }
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Source::File(path) => Some(path),
            Source::Disk { .. } | Source::Once { .. } => None,
        }
    }

    pub(crate) fn bytes_on_disk(&self) -> u64 {
        match self {
            Source::File(path) => std::fs::metadata(path).map_or(0, |file| file.len()),
            Source::Disk { len, .. } | Source::Once { len, .. } => len.load(Ordering::Relaxed),
        }
    }
}

/// Not there, or empty as a file that was reserved for it.
fn is_new(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
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
fn wipe_unfinished(backend: &dyn StorageBackend) -> std::io::Result<()> {
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
    fn len(&self) -> std::io::Result<u64> {
        let len = self.inner.len()?;
        self.len.store(len, Ordering::Relaxed);
        Ok(len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.len.store(len, Ordering::Relaxed);
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.inner.write(offset, data)
    }

    fn close(&self) -> std::io::Result<()> {
        self.inner.close()
    }
}
