//! Who waits for the disk: a thread of its own, so that redb takes a batch while its record is synced; or nobody else,
//! where everything must happen in one thread.
//!
//! Invariant: at most one sync is under way.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use ordo_store::Fault;
use redb::StorageBackend;

#[derive(Debug)]
pub(super) enum Syncer {
    /// What became of the last sync, until it is asked for.
    Inline(io::Result<()>),
    Threaded(Thread),
}

#[derive(Debug)]
pub(super) struct Thread {
    /// None once the thread is to end.
    files: Option<SyncSender<Arc<dyn StorageBackend>>>,
    synced: Receiver<io::Result<()>>,
    under_way: bool,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(super) fn new(threaded: bool) -> Result<Syncer, Fault> {
        if !threaded {
            return Ok(Syncer::Inline(Ok(())));
        }
        let (files, asked) = sync_channel::<Arc<dyn StorageBackend>>(1);
        let (tell, synced) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("ordo-journal".into())
            .spawn(move || {
                while let Ok(file) = asked.recv() {
                    if tell.send(file.sync_data()).is_err() {
                        return;
                    }
                }
            })
            .map_err(|error| Fault::unavailable("starting the journal", error))?;
        Ok(Syncer::Threaded(Thread { files: Some(files), synced, under_way: false, thread: Some(thread) }))
    }

    pub(super) fn begin(&mut self, file: &Arc<dyn StorageBackend>) {
        match self {
            Syncer::Inline(became) => *became = file.sync_data(),
            Syncer::Threaded(thread) => {
                assert!(!thread.under_way, "two syncs at once");
                // A thread that is gone is noticed by whoever waits for it.
                thread.under_way = thread.files.as_ref().is_some_and(|files| files.send(Arc::clone(file)).is_ok());
            }
        }
    }

    /// Waits for the sync that was begun.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match self {
            Syncer::Inline(became) => std::mem::replace(became, Ok(())),
            Syncer::Threaded(thread) => {
                if !std::mem::take(&mut thread.under_way) {
                    return Err(gone());
                }
                thread.synced.recv().unwrap_or_else(|_| Err(gone()))
            }
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("nobody waits for the disk")
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.files = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
