//! The store's file, while no daemon has it.

use std::path::{Path, PathBuf};

use ordo_engine::check;
use ordo_store::{Fault, Store};
use ordo_store_redb::{Compacted, Options, RedbStore};
use serde_json::Value;

use crate::commands::talk::wire;
use crate::error::{Error, Result};
use crate::folder::{DATABASE, Folder, shown};
use crate::maintenance;
use crate::output::progress::Progress;

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
        match Folder::nearest_with(DATABASE) {
            Some(folder) => Ok(File { path: folder.database() }),
            None => Err(Error::unreachable("no daemon is running, and there is no store here")
                .hint("name one with --store PATH, or start a daemon with: ordo serve")),
        }
    }

    fn open(&self) -> Result<RedbStore> {
        open(&self.path)
    }

    pub(super) async fn check(&self) -> Result<Value> {
        let store = self.open()?;
        let progress = Progress::counted("checking");
        let checked = maintenance::check(&store, &mut |done, total| progress.at(done, total)).await?;
        Ok(wire(&checked.view()))
    }

    pub(super) async fn stats(&self) -> Result<Value> {
        Ok(wire(&maintenance::stats_view(&self.open()?.stats().await?)))
    }

    pub(super) fn backup(&self, to: &Path) -> Result<()> {
        let store = self.open()?;
        let progress = Progress::counted("copying");
        Ok(store.backup(to, &mut |done, total| progress.at(done, total))?)
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

pub(super) fn open(path: &Path) -> Result<RedbStore> {
    RedbStore::open(path, Options::default()).map_err(|fault| match fault {
        Fault::Held { .. } => Error::from(fault),
        fault => Error::from(fault).hint("nothing was changed"),
    })
}
