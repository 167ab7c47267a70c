//! The contract, kept by redb: writes go to the writer (or happen at once, inline or because they are small), reads happen
//! where they are asked.
//!
//! Invariant: all ways of writing run the same code; only the thread differs.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Batch, Chunk, CommitOutcome, CommitResult, Direction, DueAlarm, Fault, KeyRange, Position, Rebuilt, Row, Snapshot,
    Stats, Store, StoredEvent, StreamPage, Version, View,
};
use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use uuid::Uuid;

use crate::apply::Lasting;
use crate::files::held::StoreLock;
use crate::files::open::RedbOptions;
use crate::files::source::{BackendSource, Disk, repair_rights};
use crate::follower::Following;
use crate::handle::Handle;
use crate::read;
use crate::tables::keys::position_of;
use crate::upkeep::{probe, rebuild};
use crate::writer::{RedbWriter, commit_one};

/// Up to here, writing and syncing a batch takes about as long as waking the writer and being woken by it. A larger one is
/// synced by a thread of its own anyway.
const COMMITTED_HERE_BYTES_MAX: usize = 128 * 1024;

/// A store: a redb file and its journal. Fields are dropped in this order: the writer ends, the files close, the lock
/// goes.
#[derive(Debug)]
pub struct RedbStore {
    /// None: whoever commits does it on its own thread.
    writer: Option<RedbWriter>,
    pub(crate) handle: Arc<Handle>,
    _held: Option<StoreLock>,
}

impl RedbStore {
    /// Opens the file, or makes it; its folder must exist. Commits go through a writer thread.
    pub fn open(path: impl AsRef<Path>, options: RedbOptions) -> Result<RedbStore, Fault> {
        let (held, handle) = hold(path.as_ref(), options, Following::Beside)?;
        let handle = Arc::new(handle);
        let writer = RedbWriter::start(Arc::clone(&handle))?;
        Ok(RedbStore { writer: Some(writer), handle, _held: Some(held) })
    }

    /// The same file without a writer thread.
    pub fn open_file_inline(path: impl AsRef<Path>, options: RedbOptions) -> Result<RedbStore, Fault> {
        let (held, handle) = hold(path.as_ref(), options, Following::AtOnce)?;
        Ok(RedbStore { writer: None, handle: Arc::new(handle), _held: Some(held) })
    }

    /// On a backend that cannot be opened again, and without a journal: after a failure of it, every call says so.
    pub fn open_inline(backend: impl StorageBackend) -> Result<RedbStore, Fault> {
        RedbStore::inline(BackendSource::once(backend), RedbOptions::default(), Following::AtOnce)
    }

    /// On a disk that can be opened again, as after a failure of the disk.
    pub fn open_inline_on(disk: impl Disk, options: RedbOptions) -> Result<RedbStore, Fault> {
        RedbStore::inline(BackendSource::disk(disk), options, Following::AtOnce)
    }

    /// The same for tests and simulations of a store as a daemon has it: redb lets so many commits pass before it follows, where
    /// its thread lets a while pass, and then takes something before each commit. All of it follows from the commits alone.
    pub fn open_following_on(disk: impl Disk, options: RedbOptions, after_commits: u32) -> Result<RedbStore, Fault> {
        RedbStore::inline(BackendSource::disk(disk), options, Following::AfterCommits(after_commits))
    }

    /// On a disk, with the writer thread: for tests of the writer.
    pub fn open_on(disk: impl Disk, options: RedbOptions) -> Result<RedbStore, Fault> {
        let handle = Arc::new(Handle::open(BackendSource::disk(disk), options, Following::Beside)?);
        let writer = RedbWriter::start(Arc::clone(&handle))?;
        Ok(RedbStore { writer: Some(writer), handle, _held: None })
    }

    /// In memory, inline: gone when dropped.
    pub fn in_memory() -> Result<RedbStore, Fault> {
        RedbStore::open_inline(InMemoryBackend::new())
    }

    fn inline(source: BackendSource, options: RedbOptions, following: Following) -> Result<RedbStore, Fault> {
        let handle = Handle::open(source, options, following)?;
        Ok(RedbStore { writer: None, handle: Arc::new(handle), _held: None })
    }

    /// On this thread.
    fn commit_now(&self, batch: &Batch) -> CommitResult {
        batch.check()?;
        if batch.is_empty() { Ok(Vec::new()) } else { commit_one(&self.handle, batch) }
    }

    pub(crate) async fn task<T: Send + 'static>(
        &self,
        task: impl FnOnce(&Handle) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        match &self.writer {
            Some(writer) => writer.task(task).await,
            None => task(&self.handle),
        }
    }
}

/// The file, opened by this process alone.
fn hold(path: &Path, options: RedbOptions, following: Following) -> Result<(StoreLock, Handle), Fault> {
    let held = StoreLock::take(path)?;
    let open = || Handle::open(BackendSource::File(path.to_owned()), options, following);
    match repair_rights(path).and_then(|()| open()) {
        Ok(handle) => Ok((held, handle)),
        Err(fault) => {
            held.let_go();
            Err(fault)
        }
    }
}

#[async_trait]
impl Store for RedbStore {
    async fn commit(&self, batch: Batch) -> Result<Vec<CommitOutcome>, Fault> {
        match &self.writer {
            Some(writer) if !batch.is_empty() => {
                batch.check()?;
                writer.commit(batch).await
            }
            _ => self.commit_now(&batch),
        }
    }

    fn commit_here(&self, batch: Batch) -> Result<CommitResult, Batch> {
        if batch.bytes() > COMMITTED_HERE_BYTES_MAX {
            return Err(batch);
        }
        Ok(self.commit_now(&batch))
    }

    async fn load(&self, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
        self.handle.read(|layers| read::load(layers, entities))
    }

    async fn history(&self, entity: EntityId, from: Version, limit: usize) -> Result<StreamPage, Fault> {
        self.handle.read(|layers| read::history(layers, entity, from, limit))
    }

    async fn events(&self, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
        self.handle.read(|layers| read::events(layers, after, limit))
    }

    fn distance(&self, from: &Position, to: &Position) -> Result<u64, Fault> {
        Ok(position_of(to)?.saturating_sub(position_of(from)?))
    }

    async fn due(&self, until: Timestamp, after: Option<DueAlarm>, limit: usize) -> Result<Vec<DueAlarm>, Fault> {
        self.handle.read(|layers| read::due(layers, until, after, limit))
    }

    async fn entities(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
        self.handle.read(|layers| read::entities(layers, after, limit))
    }

    async fn streams(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault> {
        self.handle.read(|layers| read::streams(layers, after, limit))
    }

    async fn row(&self, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        self.handle.read(|layers| read::row(layers, view, key))
    }

    async fn rows(&self, view: View, range: &KeyRange, order: Direction, limit: usize) -> Result<Vec<Row>, Fault> {
        self.handle.read(|layers| read::rows(layers, view, range, order, limit))
    }

    async fn rows_by_key(&self, view: View, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        self.handle.read(|layers| keys.iter().map(|key| read::row(layers, view, key)).collect())
    }

    async fn rows_of_ranges(
        &self,
        view: View,
        ranges: &[KeyRange],
        order: Direction,
        limit: usize,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        self.handle.read(|layers| ranges.iter().map(|range| read::rows(layers, view, range, order, limit)).collect())
    }

    async fn chunks(&self, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault> {
        self.handle.read(|layers| read::chunks(layers, owner, from, limit))
    }

    async fn dedup(&self, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
        self.handle.read(|layers| read::dedup(layers, key, now))
    }

    async fn forget_dedup(&self, now: Timestamp, limit: usize) -> Result<usize, Fault> {
        // This comes by from time to time, also when nobody commits: then a crash leaves nothing to replay. Commits go
        // on meanwhile, and have to wait for the keys alone.
        let drained = self.task(|handle| handle.begin_draining(Lasting::Durably)).await?;
        // Nothing is ever sent; it ends.
        let _ended = drained.await;
        self.task(move |handle| handle.write(|writing| writing.forget_dedup(now, limit))).await
    }

    async fn clear_derived(&self) -> Result<(), Fault> {
        self.task(rebuild::clear).await
    }

    async fn rebuild(&self, found: Vec<Rebuilt>) -> Result<(), Fault> {
        self.task(move |handle| rebuild::put(handle, &found)).await
    }

    async fn end_rebuild(&self) -> Result<(), Fault> {
        self.task(rebuild::end).await
    }

    async fn stats(&self) -> Result<Stats, Fault> {
        let (bytes_on_disk, journal) = (self.handle.source.bytes_on_disk(), self.handle.journal_stats());
        self.handle.read(|layers| read::stats(layers, bytes_on_disk, journal))
    }

    async fn estimate(&self) -> Result<Stats, Fault> {
        let (bytes_on_disk, journal) = (self.handle.source.bytes_on_disk(), self.handle.journal_stats());
        self.handle.read(|layers| read::estimate(layers, bytes_on_disk, journal))
    }

    async fn ping(&self) -> Result<(), Fault> {
        self.handle.read(|layers| read::row(layers, View::Runs, &[])).map(drop)
    }

    async fn try_write(&self) -> Result<(), Fault> {
        let proof = self.task(probe::try_append).await?;
        // Commits go on while redb takes what came before.
        while let Some(taken) = self.task(move |handle| handle.begin_proving(proof)).await? {
            // Nothing is ever sent; it ends.
            let _ended = taken.await;
        }
        Ok(())
    }

    fn damage(&self) -> Option<String> {
        self.handle.damage()
    }
}
