//! What nodes that share one store need besides the contract: the store's clock, who is there, who looks after which
//! shard, and a hint that something changed.
//!
//! Invariant: nothing here is needed for correctness. A lease tells who should look, a hint when; the version guard of
//! the commit decides who wins. All times are the store's own, so that clocks of nodes may differ.

use async_trait::async_trait;
use ordo_model::{Millis, Timestamp};
use uuid::Uuid;

use crate::{Fault, Ringing, Shard};

/// A node as the others see it. `life` is new with every start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub life: Uuid,
    pub name: String,
    /// What it does and where it is reached, as JSON; opaque here.
    pub about: Vec<u8>,
    /// It takes no new shards and gives back those it has.
    pub draining: bool,
    pub joined_at: Timestamp,
    /// When it was last heard of.
    pub beat_at: Timestamp,
    /// It was heard of lately enough to be counted on, when this was read.
    pub is_alive: bool,
}

/// A node says that it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    pub life: Uuid,
    pub name: String,
    pub about: Vec<u8>,
    /// How long it counts as alive without another word.
    pub good_for: Millis,
}

/// Who looks after a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub shard: Shard,
    pub life: Uuid,
    /// Grows each time the shard changes hands: what an older holder says is recognised.
    pub epoch: u64,
    pub until: Timestamp,
}

/// Somebody committed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// In these shards.
    Shards(Vec<Shard>),
    /// Hints may have been lost: look everywhere.
    Lost,
}

/// Hints as they come. Answers None when the store is closed.
#[async_trait]
pub trait Hints: Send {
    async fn next(&mut self) -> Option<Hint>;
}

/// Implemented by stores that several nodes share. `S: Store + Cluster`; a node finds it by [`crate::Store::cluster`].
#[async_trait]
pub trait Cluster: Send + Sync + 'static {
    /// What time it is, for all nodes.
    async fn now(&self) -> Result<Timestamp, Fault>;

    /// Registers a node or renews its registration. Answers all nodes, itself among them, by name and life;
    /// nodes that have been silent for a day are forgotten.
    async fn beat(&self, beat: &Beat) -> Result<Vec<Node>, Fault>;

    async fn nodes(&self) -> Result<Vec<Node>, Fault>;

    /// Tells a node (by name, all its lives) to give its work to others, or to take work again. How many heard it.
    async fn drain(&self, name: &str, draining: bool) -> Result<usize, Fault>;

    /// Takes a node off the list and frees its shards at once: the last word of an orderly shutdown.
    async fn leave(&self, life: Uuid) -> Result<(), Fault>;

    /// Takes or renews leases of those of `wanted` that are free, expired, or held by this life already, for `good_for`
    /// from now. Answers all leases this life holds now, in order of shard: what is not among them is not its own.
    async fn take_leases(&self, life: Uuid, wanted: &[Shard], good_for: Millis) -> Result<Vec<Lease>, Fault>;

    /// Gives leases back, so that others need not wait for their end.
    async fn release_leases(&self, life: Uuid, shards: &[Shard]) -> Result<(), Fault>;

    /// Every lease there is, also those that have ended.
    async fn leases(&self) -> Result<Vec<Lease>, Fault>;

    /// [`crate::Store::due`], of some shards only.
    async fn due_in(
        &self,
        shards: &[Shard],
        until: Timestamp,
        after: Option<Ringing>,
        limit: usize,
    ) -> Result<Vec<Ringing>, Fault>;

    /// Alarms of any shard that are overdue by more than `by`, each given to one asker only for `claim`: whoever is
    /// slow or dead leaves them to the next. A commit of the entity ends the claim.
    async fn sweep_overdue(&self, by: Millis, claim: Millis, limit: usize) -> Result<Vec<Ringing>, Fault>;

    /// Listens for commits of other nodes. The store itself tells them after each commit, at most every few
    /// milliseconds, on a connection of its own.
    fn hints(&self) -> Box<dyn Hints>;
}
