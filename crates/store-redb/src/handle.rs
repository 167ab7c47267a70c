//! The open database, which opens itself anew after a failure of the disk.
//!
//! redb refuses everything after the first I/O error until it is opened again; opening is a crash recovery and
//! takes milliseconds. Invariant: a write transaction is acknowledged only by `commit` returning without an error,
//! and nothing is written while a failed generation has not been replaced.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use ordo_store::Fault;
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};

use crate::fault::during;
use crate::open::prepare;
use crate::source::Source;

#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) source: Source,
    cache_bytes: usize,
    current: RwLock<Generation>,
    /// The newest generation that is known to have failed.
    failed: AtomicU64,
    /// Held by whoever writes or opens anew.
    writing: Mutex<()>,
}

#[derive(Debug)]
struct Generation {
    number: u64,
    database: Option<Database>,
}

/// Whether a piece of work has something to make durable.
pub(crate) enum Done<T> {
    Write(T),
    Nothing(T),
}

impl Handle {
    pub(crate) fn open(source: Source, cache_bytes: usize) -> Result<Handle, Fault> {
        let database = source.open(cache_bytes)?;
        prepare(&database, source.path())?;
        let current = RwLock::new(Generation { number: 1, database: Some(database) });
        Ok(Handle { source, cache_bytes, current, failed: AtomicU64::new(0), writing: Mutex::new(()) })
    }

    /// A second try meets a database that was opened anew: nobody is troubled by a failure that is over.
    pub(crate) fn read<T>(&self, work: impl Fn(&ReadTransaction) -> Result<T, Fault>) -> Result<T, Fault> {
        match self.read_once(&work) {
            Err(Fault::Unavailable { .. }) => self.read_once(&work),
            answer => answer,
        }
    }

    fn read_once<T>(&self, work: impl FnOnce(&ReadTransaction) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.has_failed() {
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            self.open_anew()?;
        }
        let (number, begun) = self.with_database(|database| database.begin_read().map_err(during("beginning to read")));
        let read = begun.and_then(|read| work(&read));
        read.inspect_err(|fault| self.note(number, fault))
    }

    /// A moment of the store to read from at leisure; what goes wrong with it is not taken for the disk's failure.
    pub(crate) fn moment(&self) -> Result<ReadTransaction, Fault> {
        self.read(|_| Ok(()))?;
        let (_, begun) = self.with_database(|database| database.begin_read().map_err(during("beginning to read")));
        begun
    }

    /// One write transaction: all of it is durable when this answers, or nothing is acknowledged.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&WriteTransaction) -> Result<Done<T>, Fault>) -> Result<T, Fault> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.open_anew()?;
        let (number, begun) = self.with_database(begin_write);
        let answer = begun.and_then(|transaction| {
            match work(&transaction)? {
                Done::Nothing(answer) => Ok(answer),
                // Whatever a commit stumbles over, redb wants to be opened again afterwards.
                Done::Write(answer) => match transaction.commit() {
                    Ok(()) => Ok(answer),
                    Err(error) => {
                        self.failed.fetch_max(number, Ordering::AcqRel);
                        Err(during("committing")(error))
                    }
                },
            }
        });
        answer.inspect_err(|fault| self.note(number, fault))
    }

    /// For work that needs the database for itself: nothing else reads or writes meanwhile.
    pub(crate) fn alone<T>(&self, work: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, Fault> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.open_anew()?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let number = current.number;
        let done = current.database.as_mut().ok_or_else(closed).and_then(work);
        done.inspect_err(|fault| self.note(number, fault))
    }

    fn with_database<T>(&self, work: impl FnOnce(&Database) -> Result<T, Fault>) -> (u64, Result<T, Fault>) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (current.number, current.database.as_ref().ok_or_else(closed).and_then(work))
    }

    fn has_failed(&self) -> bool {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.database.is_none() || self.failed.load(Ordering::Acquire) >= current.number
    }

    /// The caller holds `writing`. Transactions of the failed generation that still read are told that it is closed.
    fn open_anew(&self) -> Result<(), Fault> {
        if !self.has_failed() {
            return Ok(());
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        drop(current.database.take());
        let database = self.source.open(self.cache_bytes)?;
        prepare(&database, self.source.path())?;
        current.number += 1;
        current.database = Some(database);
        tracing::warn!(generation = current.number, "the store was opened anew after a failure of the disk");
        Ok(())
    }

    fn note(&self, number: u64, fault: &Fault) {
        match fault {
            Fault::Unavailable { .. } => {
                self.failed.fetch_max(number, Ordering::AcqRel);
            }
            Fault::Damaged { .. } | Fault::Held { .. } | Fault::NotAPosition { .. } | Fault::Misuse { .. } => {}
        }
    }
}

fn begin_write(database: &Database) -> Result<WriteTransaction, Fault> {
    let mut transaction = database.begin_write().map_err(during("beginning to write"))?;
    // Two-phase commits and an opening after a crash that does not walk the whole file.
    transaction.set_quick_repair(true);
    Ok(transaction)
}

fn closed() -> Fault {
    Fault::unavailable("using the store", "it could not be opened anew after a failure of the disk")
}
