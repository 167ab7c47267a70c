//! Who waits for the disk: whoever commits; or, for a large record, a thread of its own, so that its rows go into the
//! overlay meanwhile. Handing a sync over costs more than the work on a small record.
//!
//! Invariant: at most one sync is under way.

use std::io;
use std::sync::Arc;

use ordo_store::Fault;
use redb::StorageBackend;

use crate::sync::mpsc::{Receiver, SyncSender, sync_channel};
use crate::sync::thread::{self, JoinHandle};

#[derive(Debug)]
pub(super) struct Syncer {
    /// None where everything must happen in one thread.
    thread: Option<Thread>,
    under_way: UnderWay,
}

#[derive(Debug)]
enum UnderWay {
    Nothing,
    /// It is over, and nobody has asked what became of it.
    Done(io::Result<()>),
    Beside,
}

#[derive(Debug)]
struct Thread {
    /// None once the thread is to end.
    files: Option<SyncSender<Arc<dyn StorageBackend>>>,
    synced: Receiver<io::Result<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(super) fn new(threaded: bool) -> Result<Syncer, Fault> {
        let thread = if threaded { Some(Thread::start()?) } else { None };
        Ok(Syncer { thread, under_way: UnderWay::Nothing })
    }

    /// `beside`: in the other thread, where there is one.
    pub(super) fn begin(&mut self, file: &Arc<dyn StorageBackend>, beside: bool) {
        assert!(!matches!(self.under_way, UnderWay::Beside), "two syncs at once");
        self.under_way = match self.thread.as_ref().filter(|_| beside) {
            Some(thread) => thread.begin(file),
            None if ordo_model::is_planted!(AckBeforeSync) => UnderWay::Done(Ok(())),
            None => UnderWay::Done(file.sync_data()),
        };
    }

    /// Waits for the sync that was begun.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.under_way, UnderWay::Nothing) {
            UnderWay::Done(became) => became,
            UnderWay::Beside => {
                let synced = self.thread.as_ref().and_then(|thread| thread.synced.recv().ok());
                synced.unwrap_or_else(|| Err(gone()))
            }
            UnderWay::Nothing => Err(io::Error::other("no sync was begun")),
        }
    }
}

impl Thread {
    fn start() -> Result<Thread, Fault> {
        let (files, asked) = sync_channel::<Arc<dyn StorageBackend>>(1);
        let (result, synced) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("ordo-journal".into())
            .spawn(move || {
                while let Ok(file) = asked.recv() {
                    if result.send(file.sync_data()).is_err() {
                        return;
                    }
                }
            })
            .map_err(|error| Fault::unavailable("starting the journal", error))?;
        Ok(Thread { files: Some(files), synced, thread: Some(thread) })
    }

    fn begin(&self, file: &Arc<dyn StorageBackend>) -> UnderWay {
        let sent = self.files.as_ref().is_some_and(|files| files.send(Arc::clone(file)).is_ok());
        if sent { UnderWay::Beside } else { UnderWay::Done(Err(gone())) }
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
