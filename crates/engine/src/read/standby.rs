//! Reads that may be a moment old: from a standby of the database, so that whoever looks does not slow down whoever works.
//!
//! Invariant: nothing is decided on what is read here. A standby that cannot be read is left alone for a while, and the database
//! itself is read instead.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ordo_model::{EntityId, Millis, Timestamp};
use ordo_store::{
    Batch, Chunk, Cluster, CommitOutcome, Direction, DueAlarm, Fault, KeyRange, Position, Rebuilt, Row, Snapshot,
    Stats, Store, StoredEvent, StreamPage, SubmissionQueue, TableCell, Version, View,
};
use uuid::Uuid;

use crate::commit::batcher::chain;
use crate::time::clock::Stopwatch;

/// How long a standby that could not be read is left alone.
const LEFT_ALONE: Millis = Millis::from_secs(5);

pub(crate) struct StandbyReads {
    standby: Arc<dyn Store>,
    primary: Arc<dyn Store>,
    /// When it could not be read.
    failed: Mutex<Option<Stopwatch>>,
}

impl StandbyReads {
    pub(crate) fn new(standby: Arc<dyn Store>, primary: Arc<dyn Store>) -> StandbyReads {
        StandbyReads { standby, primary, failed: Mutex::default() }
    }

    fn is_left_alone(&self) -> bool {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.as_ref().is_some_and(|failed| failed.elapsed() < LEFT_ALONE)
    }

    fn note(&self, failed: Option<&Fault>) {
        let mut known = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed {
            None if known.take().is_some() => tracing::info!("the standby can be read again"),
            None => {}
            Some(fault) => {
                if known.is_none() {
                    tracing::warn!(error = %chain(fault), "the standby cannot be read: pages read the database itself");
                }
                *known = Some(Stopwatch::start());
            }
        }
    }
}

/// From the standby if it can be read, otherwise from the database.
macro_rules! read {
    ($self:ident, $method:ident($($given:expr),*)) => {{
        if !$self.is_left_alone() {
            let found = $self.standby.$method($($given),*).await;
            $self.note(found.as_ref().err());
            if found.is_ok() {
                return found;
            }
        }
        $self.primary.$method($($given),*).await
    }};
}

#[async_trait]
impl Store for StandbyReads {
    async fn commit(&self, batch: Batch) -> Result<Vec<CommitOutcome>, Fault> {
        self.primary.commit(batch).await
    }

    async fn load(&self, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
        read!(self, load(entities))
    }

    async fn history(&self, entity: EntityId, from: Version, limit: usize) -> Result<StreamPage, Fault> {
        read!(self, history(entity, from, limit))
    }

    async fn events(&self, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
        read!(self, events(after, limit))
    }

    fn distance(&self, from: &Position, to: &Position) -> Result<u64, Fault> {
        self.primary.distance(from, to)
    }

    async fn due(&self, until: Timestamp, after: Option<DueAlarm>, limit: usize) -> Result<Vec<DueAlarm>, Fault> {
        read!(self, due(until, after, limit))
    }

    async fn entities(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
        read!(self, entities(after, limit))
    }

    async fn streams(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault> {
        read!(self, streams(after, limit))
    }

    async fn row(&self, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        read!(self, row(view, key))
    }

    async fn rows(&self, view: View, range: &KeyRange, order: Direction, limit: usize) -> Result<Vec<Row>, Fault> {
        read!(self, rows(view, range, order, limit))
    }

    async fn rows_by_key(&self, view: View, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        read!(self, rows_by_key(view, keys))
    }

    async fn rows_of_ranges(
        &self,
        view: View,
        ranges: &[KeyRange],
        order: Direction,
        limit: usize,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        read!(self, rows_of_ranges(view, ranges, order, limit))
    }

    async fn chunks(&self, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault> {
        read!(self, chunks(owner, from, limit))
    }

    async fn dedup(&self, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
        self.primary.dedup(key, now).await
    }

    async fn forget_dedup(&self, now: Timestamp, limit: usize) -> Result<usize, Fault> {
        self.primary.forget_dedup(now, limit).await
    }

    async fn clear_derived(&self) -> Result<(), Fault> {
        self.primary.clear_derived().await
    }

    async fn rebuild(&self, found: Vec<Rebuilt>) -> Result<(), Fault> {
        self.primary.rebuild(found).await
    }

    async fn end_rebuild(&self) -> Result<(), Fault> {
        self.primary.end_rebuild().await
    }

    async fn stats(&self) -> Result<Stats, Fault> {
        read!(self, stats())
    }

    async fn estimate(&self) -> Result<Stats, Fault> {
        read!(self, estimate())
    }

    fn has_tables(&self) -> bool {
        self.primary.has_tables()
    }

    async fn cells(&self, view: View, key: &[u8]) -> Result<Option<Vec<TableCell>>, Fault> {
        read!(self, cells(view, key))
    }

    async fn ping(&self) -> Result<(), Fault> {
        self.primary.ping().await
    }

    async fn try_write(&self) -> Result<(), Fault> {
        self.primary.try_write().await
    }

    fn damage(&self) -> Option<String> {
        self.primary.damage()
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        self.primary.cluster()
    }

    fn submissions(&self) -> Option<&dyn SubmissionQueue> {
        self.primary.submissions()
    }
}
