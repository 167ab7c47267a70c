//! The store as one node reaches it: through a connection that is slow, fails, or says that it failed.
//!
//! Invariant: what a node is told may be wrong; what the store did is in the log, and is read there right after the
//! commit, or before anybody is answered from what a failed one left behind.

use std::sync::Arc;

use async_trait::async_trait;
use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Batch, Chunk, Cluster, CommitResult, Direction, DueAlarm, Fault, KeyRange, Position, Rebuilt, Row, Snapshot, Stats,
    Store, StoredEvent, StreamPage, Version, View,
};
use ordo_store_redb::RedbStore;
use uuid::Uuid;

use super::cluster::{Membership, NodeMembership};
use super::generation::NodeGeneration;
use super::plan::FaultKind;
use super::scene::Scene;

/// How long a node waits for a store that it cannot reach.
const UNREACHABLE_MS: i64 = 2_000;

pub(crate) struct NodeStore {
    pub(crate) scene: Arc<Scene>,
    pub(crate) store: Arc<RedbStore>,
    pub(crate) generation: Arc<NodeGeneration>,
    /// None: the store is this node's alone.
    cluster: Option<NodeMembership>,
}

impl NodeStore {
    pub(crate) fn new(
        scene: Arc<Scene>,
        store: Arc<RedbStore>,
        generation: Arc<NodeGeneration>,
        membership: Option<Arc<Membership>>,
    ) -> NodeStore {
        let cluster = membership
            .map(|membership| NodeMembership::new(scene.clone(), store.clone(), generation.clone(), membership));
        NodeStore { scene, store, generation, cluster }
    }

    async fn read<T>(&self, call: impl Future<Output = Result<T, Fault>> + Send) -> Result<T, Fault> {
        reach(&self.scene, &self.generation, self.scene.plan.read_ms).await?;
        let answer = call.await;
        self.generation.alive(&self.scene).await;
        if answer.is_err() {
            // The disk failed while something was written, and the store could not be opened anew: whoever asks has to wait.
            self.scene.note(format_args!("a read failed"));
            self.scene.trouble(self.scene.mono() + 2_000);
        }
        self.scene.catch_up(&self.store);
        self.scene.dawdle(self.scene.plan.read_ms / 2).await;
        self.generation.alive(&self.scene).await;
        answer
    }
}

/// The way to the store.
pub(super) async fn reach(scene: &Scene, generation: &NodeGeneration, most_ms: i64) -> Result<(), Fault> {
    generation.alive(scene).await;
    scene.dawdle(most_ms).await;
    generation.alive(scene).await;
    if generation.is_cut_off(scene) {
        scene.sleep(UNREACHABLE_MS).await;
        generation.alive(scene).await;
        return Err(Fault::unavailable("reaching the store", "the network is cut"));
    }
    if scene.strikes(FaultKind::StoreError, 4) {
        scene.trouble(scene.mono() + 2_000);
        return Err(Fault::unavailable("asking the store", "it failed"));
    }
    Ok(())
}

#[async_trait]
impl Store for NodeStore {
    async fn commit(&self, batch: Batch) -> CommitResult {
        let slow = if self.scene.strikes(FaultKind::SlowStore, 20) { 1_500 } else { self.scene.plan.commit_ms };
        if slow > 100 {
            self.scene.trouble(self.scene.mono() + slow + 500);
        }
        reach(&self.scene, &self.generation, slow).await?;
        // What an earlier failure left in the log, before anything is added to it.
        self.scene.tail(&self.store);
        self.scene.about_to_write(&batch);
        let outcomes = self.store.commit(batch).await;
        self.generation.alive(&self.scene).await;
        if outcomes.is_ok() {
            self.scene.tail(&self.store);
        } else {
            self.scene.note(format_args!("a commit failed"));
            self.scene.fall_behind();
            self.scene.trouble(self.scene.mono() + 2_000);
        }
        self.scene.dawdle(self.scene.plan.commit_ms / 4).await;
        self.generation.alive(&self.scene).await;
        if self.scene.strikes(FaultKind::DoneButFailed, 8) {
            self.scene.trouble(self.scene.mono() + 2_000);
            self.scene.note(format_args!("a commit is said to have failed"));
            return Err(Fault::unavailable("committing", "the answer was lost"));
        }
        outcomes
    }

    async fn load(&self, entities: &[EntityId]) -> Result<Vec<Option<Snapshot>>, Fault> {
        self.read(self.store.load(entities)).await
    }

    async fn history(&self, entity: EntityId, from: Version, limit: usize) -> Result<StreamPage, Fault> {
        self.read(self.store.history(entity, from, limit)).await
    }

    async fn events(&self, after: &Position, limit: usize) -> Result<Vec<StoredEvent>, Fault> {
        self.read(self.store.events(after, limit)).await
    }

    fn distance(&self, from: &Position, to: &Position) -> Result<u64, Fault> {
        self.store.distance(from, to)
    }

    async fn due(&self, until: Timestamp, after: Option<DueAlarm>, limit: usize) -> Result<Vec<DueAlarm>, Fault> {
        self.read(self.store.due(until, after, limit)).await
    }

    async fn entities(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<(EntityId, Snapshot)>, Fault> {
        self.read(self.store.entities(after, limit)).await
    }

    async fn streams(&self, after: Option<EntityId>, limit: usize) -> Result<Vec<EntityId>, Fault> {
        self.read(self.store.streams(after, limit)).await
    }

    async fn row(&self, view: View, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        self.read(self.store.row(view, key)).await
    }

    async fn rows(&self, view: View, range: &KeyRange, order: Direction, limit: usize) -> Result<Vec<Row>, Fault> {
        self.read(self.store.rows(view, range, order, limit)).await
    }

    async fn rows_by_key(&self, view: View, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        self.read(self.store.rows_by_key(view, keys)).await
    }

    async fn rows_of_ranges(
        &self,
        view: View,
        ranges: &[KeyRange],
        order: Direction,
        limit: usize,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        self.read(self.store.rows_of_ranges(view, ranges, order, limit)).await
    }

    async fn chunks(&self, owner: Uuid, from: u64, limit: usize) -> Result<Vec<Chunk>, Fault> {
        self.read(self.store.chunks(owner, from, limit)).await
    }

    async fn dedup(&self, key: &[u8], now: Timestamp) -> Result<Option<Vec<u8>>, Fault> {
        self.read(self.store.dedup(key, now)).await
    }

    async fn forget_dedup(&self, now: Timestamp, limit: usize) -> Result<usize, Fault> {
        self.read(self.store.forget_dedup(now, limit)).await
    }

    async fn clear_derived(&self) -> Result<(), Fault> {
        self.store.clear_derived().await
    }

    async fn rebuild(&self, found: Vec<Rebuilt>) -> Result<(), Fault> {
        self.store.rebuild(found).await
    }

    async fn end_rebuild(&self) -> Result<(), Fault> {
        self.store.end_rebuild().await
    }

    async fn stats(&self) -> Result<Stats, Fault> {
        self.read(self.store.stats()).await
    }

    async fn try_write(&self) -> Result<(), Fault> {
        self.read(self.store.try_write()).await
    }

    fn damage(&self) -> Option<String> {
        self.store.damage()
    }

    fn cluster(&self) -> Option<&dyn Cluster> {
        self.cluster.as_ref().map(|cluster| cluster as &dyn Cluster)
    }
}
