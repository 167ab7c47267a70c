//! The store's file, while no daemon has it.

use std::path::{Path, PathBuf};

use ordo_engine::check;
use ordo_store::{Fault, Store};
use ordo_store_redb::{CACHE_BYTES_DEFAULT, Compacted, RedbStore, is_unwritable};
use serde_json::Value;
use tempfile::TempDir;

use crate::commands::talk::wire;
use crate::error::{Error, Result};
use crate::folder::{DATABASE, StateFolder, shown};
use crate::maintenance;
use crate::output::progress::Progress;
use crate::store_location::file_options;

#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
}

impl File {
    /// Opening would make a file that is not there.
    pub(super) fn at(path: PathBuf) -> Result<File> {
        match path.exists() {
            true => Ok(File { path }),
            false => Err(Error::failed(format!("there is no store at {}", shown(&path)))),
        }
    }

    pub(super) fn nearby() -> Result<File> {
        match StateFolder::nearest_with(DATABASE) {
            Some(folder) => Ok(File { path: folder.database() }),
            None => Err(Error::unreachable("no daemon is running, and there is no store here")
                .hint("name one with --store PATH, or start a daemon with: ordo serve")),
        }
    }

    fn open(&self) -> Result<RedbStore> {
        open(&self.path)
    }

    pub(super) async fn check(&self) -> Result<Value> {
        let readable = open_to_read(&self.path)?;
        let progress = Progress::counted("checking");
        let checked = maintenance::check(&readable.store, &mut |done, total| progress.at(done, total)).await?;
        Ok(wire(&checked.view()))
    }

    pub(super) async fn stats(&self) -> Result<Value> {
        let readable = open_to_read(&self.path)?;
        Ok(wire(&maintenance::stats_view(&readable.store.stats().await?)))
    }

    pub(super) fn backup(&self, to: &Path) -> Result<()> {
        let readable = open_to_read(&self.path)?;
        let progress = Progress::counted("copying");
        Ok(readable.store.backup(to, &mut |done, total| progress.at(done, total))?)
    }

    pub(super) async fn reindex(&self) -> Result<u64> {
        let store = self.open()?;
        let total = store.stats().await?.entities;
        let progress = Progress::counted("rebuilding");
        Ok(check::reindex(&store, &mut |done| progress.at(done, total.max(done))).await?)
    }

    pub(super) fn compact(&self) -> Result<Compacted> {
        let store = self.open()?;
        let _progress = Progress::silent("compacting");
        Ok(store.compact()?)
    }
}

/// A store that is open to be read, where it lies or as a copy that goes with it.
#[derive(Debug)]
pub(super) struct Readable {
    pub(super) store: RedbStore,
    _copy: Option<TempDir>,
}

/// A file that cannot be written, as on a read-only mount, is read through a copy.
pub(super) fn open_to_read(path: &Path) -> Result<Readable> {
    if !is_unwritable(path) {
        return Ok(Readable { store: open(path)?, _copy: None });
    }
    let folder = tempfile::tempdir()
        .map_err(|error| Error::failed("there is no room for a copy of the store").detail(error.to_string()))?;
    let store = RedbStore::open_copy(path, folder.path(), file_options(CACHE_BYTES_DEFAULT)).map_err(unchanged)?;
    Ok(Readable { store, _copy: Some(folder) })
}

pub(super) fn open(path: &Path) -> Result<RedbStore> {
    RedbStore::open(path, file_options(CACHE_BYTES_DEFAULT)).map_err(unchanged)
}

fn unchanged(fault: Fault) -> Error {
    match fault {
        Fault::Held { .. } => Error::from(fault),
        fault => Error::from(fault).hint("nothing was changed"),
    }
}
