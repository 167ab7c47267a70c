//! The book of processes: which attempts have started something that a dead executor could not end.
//!
//! Invariant: a record is on disk before its process exists and until the attempt is over. It need not survive
//! a power loss, because no process does: records are renamed into place, never synced.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ordo_engine::tool::Work;
use ordo_model::{RunId, Token};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::proc::{self, Identity, Mark};

/// Written aside under this ending, then renamed.
const UNFINISHED: &str = "new";

#[derive(Debug, Clone)]
pub struct ProcessBook {
    folder: Arc<Path>,
    life: Uuid,
}

/// One attempt that has, or is about to have, a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) run_id: RunId,
    pub(crate) attempt: u32,
    pub(crate) token: Token,
    /// The executor's life that started it, and the process that lived it.
    pub(crate) life: Uuid,
    pub(crate) owner: Option<Identity>,
    pub(crate) boot: Option<String>,
    /// Leader of the process group; absent between the intent and the start.
    pub(crate) leader: Option<Identity>,
}

/// The record of an attempt under way.
#[derive(Debug)]
pub(crate) struct Entry {
    path: PathBuf,
    record: Record,
}

impl ProcessBook {
    /// Opens the book of one life of an executor, making its folder. Other lives may share the folder.
    pub fn open(folder: impl Into<PathBuf>, life: Uuid) -> io::Result<ProcessBook> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder)?;
        Ok(ProcessBook { folder: folder.into(), life })
    }

    pub(crate) fn life(&self) -> Uuid {
        self.life
    }

    /// Writes down that a process is about to be started.
    pub(crate) async fn intend(&self, work: &Work) -> io::Result<Entry> {
        let record = Record {
            run_id: work.run_id,
            attempt: work.attempt,
            token: work.token,
            life: self.life,
            owner: proc::myself().map(|me| me.id),
            boot: proc::boot(),
            leader: None,
        };
        let entry = Entry { path: self.folder.join(format!("{}-{}", work.run_id, work.attempt)), record };
        entry.write().await?;
        Ok(entry)
    }

    /// Every record in the folder with its file, also those not yet renamed. What cannot be read is left alone.
    pub(crate) fn records(&self) -> io::Result<Vec<(PathBuf, Record)>> {
        let mut records = Vec::new();
        for file in std::fs::read_dir(&self.folder)? {
            let path = file?.path();
            match std::fs::read(&path).and_then(|text| Ok(serde_json::from_slice(&text)?)) {
                Ok(record) => records.push((path, record)),
                Err(error) => tracing::warn!(path = %path.display(), %error, "not a record of a process: left alone"),
            }
        }
        Ok(records)
    }
}

impl Record {
    pub(crate) fn mark(&self) -> Mark {
        Mark::of(self.run_id, self.token)
    }
}

impl Entry {
    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Adds the process group, now that there is one. A leader that has already ended and been reaped is not found.
    pub(crate) async fn started(&mut self, pid: i32) -> io::Result<()> {
        self.record.leader = proc::see(pid).map(|seen| seen.id);
        self.write().await
    }

    /// The attempt is over: nothing of it is left to be found.
    pub(crate) async fn close(self) {
        if let Err(error) = tokio::fs::remove_file(&self.path).await {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the record of an attempt that is over");
        }
    }

    async fn write(&self) -> io::Result<()> {
        let aside = self.path.with_added_extension(UNFINISHED);
        tokio::fs::write(&aside, serde_json::to_vec(&self.record)?).await?;
        tokio::fs::rename(&aside, &self.path).await
    }
}
