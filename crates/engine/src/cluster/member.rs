//! The heartbeat of a node: it says that it is there, takes its share of the partitions, and settles what the dead left.

use std::collections::BTreeSet;
use std::sync::Arc;

use ordo_model::{Incarnation, Millis, Timestamp};
use ordo_store::{Cluster, Fault, Node, NodeHeartbeat, Partition, Store};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use super::{
    BEAT_EVERY, CLAIM, GOOD_FOR, LEASE_MARGIN, NodeDetails, NodeLoads, OVERDUE, Reviewer, Roster, SWEEP_EVERY,
    SWEEP_MAX,
};
use crate::commit::batcher::chain;
use crate::core::Input;
use crate::engine::Engine;
use crate::time::clock::StoreClock;
use crate::time::partitions::{Ownership, PartitionSet};

/// How long a starting node waits for a former generation of its name to be counted out.
const NAME_PATIENCE: u32 = 20;

pub(crate) struct ClusterMember {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) me: Incarnation,
    pub(crate) about: NodeDetails,
    pub(crate) core: mpsc::UnboundedSender<Input>,
    pub(crate) ours: watch::Sender<Ownership>,
    pub(crate) reviewer: Reviewer,
    pub(crate) roster: Roster,
    /// What is to be said of the executors of this node.
    pub(crate) loads: watch::Receiver<NodeLoads>,
}

/// The first word of a node. A name is one node's: what runs under it is settled when the name falls silent. Returns
/// whether nodes are there that hold no keys.
pub(crate) async fn join(cluster: &dyn Cluster, me: &Incarnation, about: &NodeDetails) -> Result<bool, Fault> {
    for patience in (0..=NAME_PATIENCE).rev() {
        let nodes = cluster.nodes().await?;
        let taken =
            nodes.iter().any(|node| node.name == me.executor && node.generation != me.generation && node.is_alive);
        if !taken {
            return Ok(is_keyless(&cluster.beat(&beat(me, about)).await?));
        }
        if patience == NAME_PATIENCE {
            tracing::info!(node = %me.executor, "waiting until the former generation of this node is counted out");
        }
        tokio::time::sleep(BEAT_EVERY.to_std() / 2).await;
    }
    Err(Fault::Held {
        what: format!("a node called {:?} is alive: give this one another name with --node", me.executor),
    })
}

/// A node that is going down leaves its partitions to the others at once, while what runs on it comes to its end.
pub(crate) async fn hand_over(store: &dyn Store, name: &str) {
    if let Some(cluster) = store.cluster()
        && let Err(fault) = cluster.drain(name, true).await
    {
        tracing::warn!(error = %chain(&fault), "the other nodes could not be asked to take over");
    }
}

/// The last word of a node.
pub(crate) async fn leave(store: &dyn Store, generation: Uuid) {
    if let Some(cluster) = store.cluster()
        && let Err(fault) = cluster.leave(generation).await
    {
        tracing::warn!(error = %chain(&fault), "the other nodes could not be informed; they find out in a few seconds");
    }
}

/// Whether nodes of an earlier version are there, which hold no keys.
fn is_keyless(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.is_alive && !NodeDetails::of(node).holds_keys)
}

fn beat(me: &Incarnation, about: &NodeDetails) -> NodeHeartbeat {
    let about = serde_json::to_vec(&NodeDetails { holds_keys: true, ..about.clone() })
        .expect("what a node says of itself is plain data");
    NodeHeartbeat { generation: me.generation, name: me.executor.clone(), about, good_for: GOOD_FOR }
}

impl ClusterMember {
    pub(crate) async fn run(mut self) {
        let mut every = tokio::time::interval(BEAT_EVERY.to_std());
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut settled = BTreeSet::new();
        for count in 0_u64.. {
            self.speak_until(every.tick()).await;
            if let Err(fault) = self.beat(count, &mut settled).await {
                tracing::warn!(error = %chain(&fault), "the store cannot be reached; trying again");
            }
        }
    }

    /// Between two beats only what the others should know at once is said.
    async fn speak_until<T>(&mut self, tick: impl Future<Output = T>) {
        let mut tick = std::pin::pin!(tick);
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                _ = &mut tick => return,
                changed = self.loads.changed(), if is_open => is_open = changed.is_ok(),
            }
            if self.loads.borrow_and_update().is_urgent
                && let Some(cluster) = self.store.cluster()
                && let Err(fault) = cluster.beat(&beat(&self.me, &self.about())).await
            {
                tracing::warn!(error = %chain(&fault), "how the executors are doing could not be said; the next beat does");
            }
        }
    }

    fn about(&self) -> NodeDetails {
        NodeDetails { loads: self.loads.borrow().loads.clone(), ..self.about.clone() }
    }

    async fn beat(&self, count: u64, settled: &mut BTreeSet<Uuid>) -> Result<(), Fault> {
        let Some(cluster) = self.store.cluster() else { return Ok(()) };
        self.clock.compare(cluster).await?;
        let nodes = cluster.beat(&beat(&self.me, &self.about())).await?;
        let draining = nodes.iter().any(|node| node.generation == self.me.generation && node.draining);
        drop(self.core.send(Input::Resting(draining || !self.about.roles.executor)));
        drop(self.core.send(Input::Keyless(is_keyless(&nodes))));
        if self.about.roles.timekeeper {
            self.take_partitions(cluster, &nodes).await?;
            if count.is_multiple_of(SWEEP_EVERY) {
                let overdue = cluster.sweep_overdue(OVERDUE, CLAIM, SWEEP_MAX).await?;
                if !overdue.is_empty() {
                    tracing::warn!(alarms = overdue.len(), "took over what nobody served");
                    drop(self.core.send(Input::Swept(overdue)));
                }
            }
        }
        self.settle_the_dead(cluster, &nodes, settled).await?;
        // Hints may get lost: what other nodes wrote is looked for now and then all the same.
        drop(self.core.send(Input::Hinted { ours: false, partitions: PartitionSet::default() }));
        self.reviewer.nudge();
        self.roster.nudge();
        Ok(())
    }

    async fn take_partitions(&self, cluster: &dyn Cluster, nodes: &[Node]) -> Result<(), Fault> {
        let owners: Vec<Uuid> = nodes
            .iter()
            .filter(|node| node.is_alive && !node.draining && NodeDetails::of(node).roles.timekeeper)
            .map(|node| node.generation)
            .collect();
        let wanted: Vec<Partition> =
            Partition::all().filter(|partition| partition.owner(&owners) == Some(self.me.generation)).collect();
        let good_for = if ordo_model::is_planted!(LeaseRenewedToNow) { Millis::ZERO } else { GOOD_FOR };
        let held = cluster.take_leases(self.me.generation, &wanted, good_for).await?;
        let (kept, given): (Vec<_>, Vec<_>) = held.into_iter().partition(|lease| wanted.contains(&lease.partition));
        let partitions: PartitionSet = kept.iter().map(|lease| lease.partition).collect();
        let until = kept.iter().map(|lease| lease.until).min().unwrap_or(Timestamp::MIN);
        let ours = Ownership { partitions, until: until.minus(LEASE_MARGIN) };
        let before = self.ours.send_replace(ours);
        if before.partitions != partitions {
            tracing::info!(partitions = partitions.len(), nodes = owners.len(), "looking after partitions");
        }
        drop(self.core.send(Input::Own(ours)));
        if !given.is_empty() {
            // Whoever is to have them need not wait for their end.
            let given: Vec<Partition> = given.into_iter().map(|lease| lease.partition).collect();
            cluster.release_leases(self.me.generation, &given).await?;
        }
        Ok(())
    }

    /// What a node that fell silent was running is settled by one of the others, and the node taken off the list.
    async fn settle_the_dead(
        &self,
        cluster: &dyn Cluster,
        nodes: &[Node],
        settled: &mut BTreeSet<Uuid>,
    ) -> Result<(), Fault> {
        let alive: Vec<Uuid> = nodes.iter().filter(|node| node.is_alive).map(|node| node.generation).collect();
        // One that came back may fall silent again.
        settled.retain(|generation| !alive.contains(generation));
        for dead in nodes.iter().filter(|node| !node.is_alive) {
            let heir = Partition::of_id(dead.generation).owner(&alive) == Some(self.me.generation);
            let reborn = nodes.iter().any(|node| node.is_alive && node.name == dead.name);
            if heir && settled.insert(dead.generation) {
                tracing::warn!(node = %dead.name, "a node fell silent: what it was running is settled");
                if !reborn && let Err(fault) = self.engine.settle_attempts_of(&dead.name).await {
                    settled.remove(&dead.generation);
                    return Err(fault);
                }
                cluster.leave(dead.generation).await?;
            }
        }
        Ok(())
    }
}
