//! The open store, database and journal, which opens itself anew after a failure of the disk.
//!
//! redb refuses everything after the first I/O error until it is opened again; opening is a crash recovery and
//! takes milliseconds. Invariants: a commit is acknowledged when its record is durable in the journal and the tables
//! hold it; readers see the tables, hence nothing that is not durable. Nothing is written while a failed generation
//! has not been replaced, and whatever reached the journal before the failure is in the tables of the next one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use ordo_store::{Batch, CommitResult, Fault, JournalStats};
use redb::{Database, ReadTransaction, ReadableDatabase, WriteTransaction};

use crate::apply::{CommitLog, apply, begin_durable, put_number};
use crate::fault::during;
use crate::journal::{Counters, Journal, Journaling, Keeping, open};
use crate::open::RedbOptions;
use crate::source::BackendSource;
use crate::tables::{META_JOURNAL, META_JOURNAL_RECORD};
use crate::unfinished::Unfinished;

#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) source: BackendSource,
    options: RedbOptions,
    keeping: Keeping,
    current: RwLock<Generation>,
    /// The newest generation that is known to have failed.
    failed: AtomicU64,
    /// Held by whoever writes or opens anew.
    writing: Mutex<Journaling>,
    counters: Counters,
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
    /// `threaded`: a thread of its own syncs the journal while redb takes the batches.
    pub(crate) fn open(source: BackendSource, options: RedbOptions, threaded: bool) -> Result<Handle, Fault> {
        let keeping = Keeping { bytes_max: options.journal_bytes as u64, threaded };
        let counters = Counters::default();
        let (database, journaling) = open(&source, options, keeping, &counters)?;
        let current = RwLock::new(Generation { number: 1, database: Some(database) });
        let (failed, writing) = (AtomicU64::new(0), Mutex::new(journaling));
        Ok(Handle { source, options, keeping, current, failed, writing, counters })
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
            self.open_anew(&mut self.lock_writing())?;
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

    /// Commits batches together, one answer for each: all of it is durable when this returns, or nothing is
    /// acknowledged.
    pub(crate) fn commit(&self, batches: &[Batch]) -> Result<Vec<CommitResult>, Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        self.make_room(&mut writing)?;
        let mut log = match &mut *writing {
            Journaling::Open(journal) => CommitLog::append_to(journal),
            Journaling::Without | Journaling::Idle { .. } => CommitLog::without(),
        };
        let (number, answers) = self.with_database(|database| apply(database, batches, &mut log));
        if answers.is_err() && log.is_begun() {
            // The journal may hold what the tables do not: opening anew brings them together.
            self.failed.fetch_max(number, Ordering::AcqRel);
        }
        self.count(&writing);
        answers.inspect_err(|fault| self.note(number, fault))
    }

    /// One write transaction of redb's own, which leaves the journal with nothing to add: all of it is durable when
    /// this returns, or nothing is acknowledged.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&WriteTransaction) -> Result<Done<T>, Fault>) -> Result<T, Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        let (number, begun) = self.with_database(begin_durable);
        let answer = begun.and_then(|transaction| match work(&transaction)? {
            Done::Nothing(answer) => Ok(answer),
            Done::Write(answer) => {
                self.commit_durably(number, transaction, &mut writing)?;
                Ok(answer)
            }
        });
        answer.inspect_err(|fault| self.note(number, fault))
    }

    /// Makes redb durable, so that the journal begins anew, if there is anything in it.
    pub(crate) fn checkpoint(&self) -> Result<(), Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        self.checkpoint_locked(&mut writing)
    }

    fn checkpoint_locked(&self, writing: &mut Journaling) -> Result<(), Fault> {
        match writing {
            Journaling::Open(journal) if journal.pending_bytes() > 0 => {}
            Journaling::Open(_) | Journaling::Idle { .. } | Journaling::Without => return Ok(()),
        }
        let (number, begun) = self.with_database(begin_durable);
        let done = begun.and_then(|transaction| self.commit_durably(number, transaction, writing));
        done.inspect_err(|fault| self.note(number, fault))
    }

    /// redb holds everything up to here durably afterwards.
    fn commit_durably(
        &self,
        number: u64,
        transaction: WriteTransaction,
        writing: &mut Journaling,
    ) -> Result<(), Fault> {
        let began = (self.options.micros)();
        put_number(&transaction, META_JOURNAL_RECORD, writing.last())?;
        // Whatever a commit stumbles over, redb wants to be opened again afterwards.
        transaction.commit().map_err(|error| {
            self.failed.fetch_max(number, Ordering::AcqRel);
            during("committing")(error)
        })?;
        if let Journaling::Open(journal) = writing {
            journal.checkpointed();
            self.counters.checkpointed((self.options.micros)().saturating_sub(began));
        }
        self.count(writing);
        Ok(())
    }

    /// There is a journal, and room in it for one more record.
    fn make_room(&self, writing: &mut Journaling) -> Result<(), Fault> {
        match writing {
            Journaling::Open(journal) if journal.is_full() => self.checkpoint_locked(writing),
            Journaling::Open(_) | Journaling::Without => Ok(()),
            Journaling::Idle { last } => {
                let last = *last;
                *writing = Journaling::Open(Box::new(self.start_journal(last)?));
                Ok(())
            }
        }
    }

    /// The journal is ready before redb says that it is to be read.
    fn start_journal(&self, last: u64) -> Result<Journal, Fault> {
        let id = self.source.new_journal_id(last);
        let journal = Journal::start(&self.source, self.keeping, id, last)?;
        self.name_journal(id, last)?;
        Ok(journal)
    }

    /// redb durably says which journal has its later records; 0: there are none.
    fn name_journal(&self, id: u64, last: u64) -> Result<(), Fault> {
        let (number, begun) = self.with_database(begin_durable);
        let named = begun.and_then(|transaction| {
            put_number(&transaction, META_JOURNAL, id)?;
            put_number(&transaction, META_JOURNAL_RECORD, last)?;
            transaction.commit().map_err(|error| {
                self.failed.fetch_max(number, Ordering::AcqRel);
                during("naming the journal")(error)
            })
        });
        named.inspect_err(|fault| self.note(number, fault))
    }

    /// For work that needs the database for itself: nothing else reads or writes meanwhile.
    pub(crate) fn alone<T>(&self, work: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        self.checkpoint_locked(&mut writing)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let number = current.number;
        let done = current.database.as_mut().ok_or_else(closed).and_then(work);
        done.inspect_err(|fault| self.note(number, fault))
    }

    /// Puts another file in the place of redb's, if there is one to put: it holds the same and needs no journal.
    pub(crate) fn replace_file(
        &self,
        make: impl FnOnce(&Database) -> Result<Option<Unfinished>, Fault>,
    ) -> Result<(), Fault> {
        let mut writing = self.lock_writing();
        self.open_anew(&mut writing)?;
        self.checkpoint_locked(&mut writing)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let made = current.database.as_ref().ok_or_else(closed).and_then(make)?;
        let Some(file) = made else { return Ok(()) };
        // From here on whoever comes next opens what is there, should one of these steps fail.
        drop(current.database.take());
        *writing = Journaling::Without;
        file.finish()?;
        self.source.remove_journal()?;
        self.counters.emptied();
        let (database, journaling) = open(&self.source, self.options, self.keeping, &self.counters)?;
        (current.database, *writing) = (Some(database), journaling);
        Ok(())
    }

    fn with_database<T>(&self, work: impl FnOnce(&Database) -> Result<T, Fault>) -> (u64, Result<T, Fault>) {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        (current.number, current.database.as_ref().ok_or_else(closed).and_then(work))
    }

    fn lock_writing(&self) -> MutexGuard<'_, Journaling> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_failed(&self) -> bool {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.database.is_none() || self.failed.load(Ordering::Acquire) >= current.number
    }

    /// Transactions of the failed generation that still read learn that it is closed.
    fn open_anew(&self, writing: &mut Journaling) -> Result<(), Fault> {
        if !self.has_failed() {
            return Ok(());
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        drop(current.database.take());
        let (database, journaling) = open(&self.source, self.options, self.keeping, &self.counters)?;
        current.number += 1;
        current.database = Some(database);
        *writing = journaling;
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

    fn count(&self, writing: &Journaling) {
        if let Journaling::Open(journal) = writing {
            self.counters.holds(journal);
        }
    }

    pub(crate) fn journal_stats(&self) -> Option<JournalStats> {
        self.source.has_journal().then(|| self.counters.stats())
    }

    /// Everything is in redb's file, which needs no journal any more.
    fn close(&self) -> Result<(), Fault> {
        let writing = self.lock_writing();
        match &*writing {
            Journaling::Open(journal) if !self.has_failed() => self.name_journal(0, journal.last()),
            Journaling::Open(_) | Journaling::Idle { .. } | Journaling::Without => Ok(()),
        }
    }
}

/// After a failure the journal has what redb lacks, and the next opening reads it.
impl Drop for Handle {
    fn drop(&mut self) {
        if !std::thread::panicking()
            && let Err(fault) = self.close()
        {
            tracing::warn!(%fault, "the store is closed with records in its journal, which the next opening reads");
        }
    }
}

fn closed() -> Fault {
    Fault::unavailable("using the store", "it could not be opened anew after a failure of the disk")
}
