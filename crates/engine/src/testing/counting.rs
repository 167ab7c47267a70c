//! A store that counts what is asked of it, and that can look like one of an older version.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use ordo_model::{EntityId, Kind, Timestamp};
use ordo_store::{
    Batch, Chunk, CommitOutcome, Direction, DueAlarm, Fault, KeyRange, Position, Rebuilt, Row, Snapshot, Stats, Store,
    StoredEvent, StreamPage, TableCell, Version, View,
};
use uuid::Uuid;

pub struct CountingStore {
    inner: Arc<dyn Store>,
    reads: AtomicUsize,
    /// Whether there is no row of the index of jobs by trigger.
    is_old: AtomicBool,
}

impl std::fmt::Debug for CountingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CountingStore").field("reads", &self.reads).finish_non_exhaustive()
    }
}

impl CountingStore {
    pub fn around(inner: &Arc<dyn Store>) -> Arc<CountingStore> {
        let (reads, is_old) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(CountingStore { inner: inner.clone(), reads, is_old })
    }

    /// Reads since the last call of this.
    pub fn take_reads(&self) -> usize {
        self.reads.swap(0, Ordering::SeqCst)
    }

    pub fn pretend_to_be_old(&self) {
        self.is_old.store(true, Ordering::SeqCst);
    }

    fn read(&self) -> &Arc<dyn Store> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        &self.inner
    }

    fn hides(&self, view: View, key: &[u8]) -> bool {
        self.is_old.load(Ordering::SeqCst)
            && view == View::Index
            && [3, 4].iter().any(|index| key.starts_with(&[Kind::Job.code(), *index]))
    }
}

#[async_trait]
impl Store for CountingStore {
    async fn commit(&self, batch: Batch) -> Result<Vec<CommitOutcome>, Fault> {
        self.inner.commit(batch).await
    }

    async fn load(&self, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
        self.read().load(entities).await
    }

    async fn history(&self, entity: EntityId, from: Version, limit: usize) -> Result<StreamPage, Fault> {
        self.read().history(entity, from, limit).await
    }

    async fn events(&self, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
        self.read().events(after, limit).await
    }

    fn distance(&self, from: &Position, to: &Position) -> Result<u64, Fault> {
        self.inner.distance(from, to)
    }

    async fn due(&self, until: Timestamp, after: Option<DueAlarm>, limit: usize) -> Result<Vec<DueAlarm>, Fault> {
        self.read().due(until, after, limit).await
    }

    async fn entities(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
        self.read().entities(after, limit).await
    }

    async fn streams(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault> {
        self.read().streams(after, limit).await
    }

    async fn row(&self, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let found = self.read().row(view, key).await?;
        Ok(found.filter(|_| !self.hides(view, key)))
    }

    async fn rows(&self, view: View, range: &KeyRange, order: Direction, limit: usize) -> Result<Vec<Row>, Fault> {
        let mut rows = self.read().rows(view, range, order, limit).await?;
        rows.retain(|row| !self.hides(view, &row.key));
        Ok(rows)
    }

    async fn rows_by_key(&self, view: View, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        let rows = self.read().rows_by_key(view, keys).await?;
        Ok(rows.into_iter().zip(keys).map(|(row, key)| row.filter(|_| !self.hides(view, key))).collect())
    }

    async fn rows_of_ranges(
        &self,
        view: View,
        ranges: &[KeyRange],
        order: Direction,
        limit: usize,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        let mut found = self.read().rows_of_ranges(view, ranges, order, limit).await?;
        found.iter_mut().for_each(|rows| rows.retain(|row| !self.hides(view, &row.key)));
        Ok(found)
    }

    async fn chunks(&self, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault> {
        self.read().chunks(owner, from, limit).await
    }

    async fn dedup(&self, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
        self.read().dedup(key, now).await
    }

    async fn forget_dedup(&self, now: Timestamp, limit: usize) -> Result<usize, Fault> {
        self.inner.forget_dedup(now, limit).await
    }

    async fn clear_derived(&self) -> Result<(), Fault> {
        self.inner.clear_derived().await
    }

    async fn rebuild(&self, found: Vec<Rebuilt>) -> Result<(), Fault> {
        self.inner.rebuild(found).await
    }

    async fn end_rebuild(&self) -> Result<(), Fault> {
        self.inner.end_rebuild().await
    }

    async fn stats(&self) -> Result<Stats, Fault> {
        self.read().stats().await
    }

    fn has_tables(&self) -> bool {
        self.inner.has_tables()
    }

    async fn cells(&self, view: View, key: &[u8]) -> Result<Option<Vec<TableCell>>, Fault> {
        self.read().cells(view, key).await
    }

    async fn estimate(&self) -> Result<Stats, Fault> {
        self.read().estimate().await
    }

    async fn try_write(&self) -> Result<(), Fault> {
        self.inner.try_write().await
    }
}
