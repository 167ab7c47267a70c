//! What nodes that share a store need besides: who is alive, who has which partitions, and word of what was written.
//!
//! Invariant: the times are the store's. A lease is had by one generation at a time, and goes to another only when its time
//! is over or it was given back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ordo_model::{EntityId, Millis, Timestamp};
use ordo_store::{Cluster, DueAlarm, Fault, Hint, Hints, Lease, Node, NodeHeartbeat, Partition, Store};
use ordo_store_redb::RedbStore;
use uuid::Uuid;

use super::generation::NodeGeneration;
use super::scene::Scene;
use super::store::reach;

/// How many alarms are looked at at a time.
const PAGE: usize = 500;

/// What the store knows of its nodes.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    state: Mutex<MembershipState>,
}

#[derive(Debug, Default)]
struct MembershipState {
    nodes: BTreeMap<Uuid, (Node, Millis)>,
    leases: BTreeMap<Partition, Lease>,
    epochs: u64,
    /// Overdue alarms that somebody took, and until when they are theirs.
    swept: BTreeMap<EntityId, Timestamp>,
}

impl Membership {
    fn lock(&self) -> MutexGuard<'_, MembershipState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The store's side of one node.
pub(crate) struct NodeMembership {
    scene: Arc<Scene>,
    store: Arc<RedbStore>,
    generation: Arc<NodeGeneration>,
    membership: Arc<Membership>,
}

impl NodeMembership {
    pub(crate) fn new(
        scene: Arc<Scene>,
        store: Arc<RedbStore>,
        generation: Arc<NodeGeneration>,
        membership: Arc<Membership>,
    ) -> NodeMembership {
        NodeMembership { scene, store, generation, membership }
    }

    async fn ask<T>(&self, answer: impl FnOnce(&mut MembershipState, Timestamp) -> T + Send) -> Result<T, Fault> {
        reach(&self.scene, &self.generation, self.scene.plan.read_ms).await?;
        let now = self.scene.store_time();
        let answer = answer(&mut self.membership.lock(), now);
        self.scene.dawdle(self.scene.plan.read_ms / 2).await;
        self.generation.alive(&self.scene).await;
        Ok(answer)
    }
}

fn seen(state: &MembershipState, now: Timestamp) -> Vec<Node> {
    let alive =
        |(node, good_for): &(Node, Millis)| Node { is_alive: node.beat_at.plus(*good_for) > now, ..node.clone() };
    state.nodes.values().map(alive).collect()
}

#[async_trait]
impl Cluster for NodeMembership {
    async fn now(&self) -> Result<Timestamp, Fault> {
        self.ask(|_, now| now).await
    }

    async fn beat(&self, beat: &NodeHeartbeat) -> Result<Vec<Node>, Fault> {
        let beat = beat.clone();
        self.ask(move |state, now| {
            let known = state.nodes.get(&beat.generation).map(|(node, _)| (node.joined_at, node.draining));
            let (joined_at, draining) = known.unwrap_or((now, false));
            let NodeHeartbeat { generation, name, about, good_for } = beat;
            let node = Node { generation, name, about, draining, joined_at, beat_at: now, is_alive: true };
            state.nodes.insert(generation, (node, good_for));
            seen(state, now)
        })
        .await
    }

    async fn nodes(&self) -> Result<Vec<Node>, Fault> {
        self.ask(|state, now| seen(state, now)).await
    }

    async fn drain(&self, name: &str, draining: bool) -> Result<usize, Fault> {
        let name = name.to_owned();
        self.ask(move |state, _| {
            let mut count = 0;
            for (node, _) in state.nodes.values_mut().filter(|(node, _)| node.name == name) {
                node.draining = draining;
                count += 1;
            }
            count
        })
        .await
    }

    async fn leave(&self, generation: Uuid) -> Result<(), Fault> {
        self.ask(move |state, _| {
            state.nodes.remove(&generation);
            state.leases.retain(|_, lease| lease.generation != generation);
        })
        .await
    }

    async fn take_leases(&self, generation: Uuid, wanted: &[Partition], good_for: Millis) -> Result<Vec<Lease>, Fault> {
        let wanted = wanted.to_vec();
        self.ask(move |state, now| {
            let until = now.plus(good_for);
            for partition in wanted {
                let held = state.leases.get(&partition);
                let free = held.is_none_or(|lease| lease.generation == generation || lease.until <= now);
                if free {
                    let same = held.filter(|lease| lease.generation == generation).map(|lease| lease.epoch);
                    let epoch = same.unwrap_or_else(|| {
                        state.epochs += 1;
                        state.epochs
                    });
                    state.leases.insert(partition, Lease { partition, generation, epoch, until });
                }
            }
            let mine = |lease: &&mut Lease| lease.generation == generation;
            state.leases.values_mut().filter(mine).for_each(|lease| lease.until = until);
            state.leases.values().filter(|lease| lease.generation == generation).copied().collect()
        })
        .await
    }

    async fn release_leases(&self, generation: Uuid, partitions: &[Partition]) -> Result<(), Fault> {
        let partitions = partitions.to_vec();
        self.ask(move |state, _| {
            state.leases.retain(|partition, lease| lease.generation != generation || !partitions.contains(partition));
        })
        .await
    }

    async fn leases(&self) -> Result<Vec<Lease>, Fault> {
        self.ask(|state, _| state.leases.values().copied().collect()).await
    }

    async fn due_in(
        &self,
        partitions: &[Partition],
        until: Timestamp,
        after: Option<DueAlarm>,
        limit: usize,
    ) -> Result<Vec<DueAlarm>, Fault> {
        reach(&self.scene, &self.generation, self.scene.plan.read_ms).await?;
        let (mut found, mut after) = (Vec::new(), after);
        loop {
            let page = self.store.due(until, after, PAGE).await?;
            after = page.last().copied();
            let is_last = page.len() < PAGE;
            found.extend(page.into_iter().filter(|alarm| partitions.contains(&Partition::of(alarm.entity))));
            if is_last || found.len() >= limit {
                found.truncate(limit);
                self.generation.alive(&self.scene).await;
                return Ok(found);
            }
        }
    }

    async fn sweep_overdue(&self, by: Millis, claim: Millis, limit: usize) -> Result<Vec<DueAlarm>, Fault> {
        reach(&self.scene, &self.generation, self.scene.plan.read_ms).await?;
        let now = self.scene.store_time();
        let overdue = self.store.due(now.minus(by), None, limit).await?;
        let taken = {
            let mut state = self.membership.lock();
            let free = |alarm: &DueAlarm| state.swept.get(&alarm.entity).is_none_or(|until| *until <= now);
            let free: Vec<DueAlarm> = overdue.into_iter().filter(free).collect();
            state.swept.extend(free.iter().map(|alarm| (alarm.entity, now.plus(claim))));
            free
        };
        self.generation.alive(&self.scene).await;
        Ok(taken)
    }

    /// Hints get lost: here all of them do, and what other nodes wrote is found by looking.
    fn hints(&self) -> Box<dyn Hints> {
        Box::new(NoHints)
    }
}

struct NoHints;

#[async_trait]
impl Hints for NoHints {
    async fn next(&mut self) -> Option<Hint> {
        std::future::pending().await
    }
}
