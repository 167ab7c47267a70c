//! What nodes that share one store need besides the contract: the store's clock, which nodes are alive, which serves which
//! partition, and a hint that something changed.
//!
//! Invariant: nothing here is needed for correctness. A lease says which node should scan, a hint when; the version guard of
//! the commit decides who wins. All times are the store's own, so that clocks of nodes may differ.

use async_trait::async_trait;
use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

use crate::{DueAlarm, Fault, Partition};

/// A node as the others see it. `generation` is new with every start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub generation: Uuid,
    pub name: String,
    /// What it does and where it is reached, as JSON; opaque here.
    pub about: Vec<u8>,
    /// It takes no new partitions and gives back those it has.
    pub draining: bool,
    pub joined_at: Timestamp,
    /// When it was last heard of.
    pub beat_at: Timestamp,
    /// It was heard of lately enough to be counted on, when this was read.
    pub is_alive: bool,
}

/// A node says that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeHeartbeat {
    pub generation: Uuid,
    pub name: String,
    pub about: Vec<u8>,
    /// How long it counts as alive without another word.
    pub good_for: Millis,
}

/// The node that serves a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub partition: Partition,
    pub generation: Uuid,
    /// Grows each time the partition changes hands: what an older holder says is recognised.
    pub epoch: u64,
    pub until: Timestamp,
}

/// Somebody committed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// In these partitions.
    Partitions(Vec<Partition>),
    /// A program has inserted submissions.
    Submissions,
    /// Hints may have been lost: look everywhere.
    Lost,
}

/// Hints as they come. Returns None when the store is closed.
#[async_trait]
pub trait Hints: Send {
    async fn next(&mut self) -> Option<Hint>;
}

/// Implemented by stores that several nodes share. `S: Store + Cluster`; a node finds it by [`crate::Store::cluster`].
#[async_trait]
pub trait Cluster: Send + Sync + 'static {
    /// What time it is, for all nodes.
    async fn now(&self) -> Result<Timestamp, Fault>;

    /// Registers a node or renews its registration. Returns all nodes, itself among them, by name and generation;
    /// nodes that have been silent for a day are forgotten.
    async fn beat(&self, beat: &NodeHeartbeat) -> Result<Vec<Node>, Fault>;

    async fn nodes(&self) -> Result<Vec<Node>, Fault>;

    /// Asks a node (by name, all its generations) to leave work to others, or to take it again. Returns how many there are.
    async fn drain(&self, name: &str, draining: bool) -> Result<usize, Fault>;

    /// Takes a node off the list and frees its partitions at once: the last word of an orderly shutdown.
    async fn leave(&self, generation: Uuid) -> Result<(), Fault>;

    /// Takes or renews leases of those of `wanted` that are free, expired, or held by this generation already, for `good_for`
    /// from now. Returns all leases this generation holds now, in order of partition: what is not among them is not its own.
    async fn take_leases(&self, generation: Uuid, wanted: &[Partition], good_for: Millis) -> Result<Vec<Lease>, Fault>;

    /// Gives leases back, so that others need not wait for their end.
    async fn release_leases(&self, generation: Uuid, partitions: &[Partition]) -> Result<(), Fault>;

    /// Every lease there is, also those that have ended.
    async fn leases(&self) -> Result<Vec<Lease>, Fault>;

    /// [`crate::Store::due`], of some partitions only.
    async fn due_in(
        &self,
        partitions: &[Partition],
        until: Timestamp,
        after: Option<DueAlarm>,
        limit: usize,
    ) -> Result<Vec<DueAlarm>, Fault>;

    /// Alarms of any partition that are overdue by more than `by`, each given to one asker only for `claim`: whoever is
    /// slow or dead leaves them to the next. A commit of the entity ends the claim.
    async fn sweep_overdue(&self, by: Millis, claim: Millis, limit: usize) -> Result<Vec<DueAlarm>, Fault>;

    /// Listens for commits of other nodes. The store itself notifies them after each commit, at most every few
    /// milliseconds, on a connection of its own.
    fn hints(&self) -> Box<dyn Hints>;
}
