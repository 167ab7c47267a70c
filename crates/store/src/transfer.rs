//! Transfer a whole store to another engine: what the contract does not list otherwise, and writing it as it was.
//!
//! Invariant: events keep their versions; positions are the new store's own. What is derived is not moved but made
//! anew, so a move ends with a rebuild, and until that end the new store refuses commits.

use async_trait::async_trait;
use ordo_model::{EntityId, Timestamp};
use uuid::Uuid;

use crate::{Chunk, Fault, NewEvent, Store, Version};

/// A piece of one stream, in order of version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferredEvents {
    pub entity: EntityId,
    pub events: Vec<(Version, NewEvent)>,
}

/// A dedup key as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferredKey {
    pub key: Vec<u8>,
    pub until: Timestamp,
    pub value: Vec<u8>,
}

/// What is put together; durable together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TransferBatch {
    pub events: Vec<TransferredEvents>,
    pub keys: Vec<TransferredKey>,
    pub chunks: Vec<Chunk>,
}

#[async_trait]
pub trait Transfer: Store {
    /// Whether a rebuild or a move was begun and did not come to its end.
    async fn is_incomplete(&self) -> Result<bool, Fault>;

    /// All chunks, in order of owner and number.
    async fn all_chunks(&self, after: Option<(Uuid, u64)>, limit: usize) -> Result<Vec<Chunk>, Fault>;

    /// All dedup keys, in their order, expired ones too.
    async fn all_keys(&self, after: Option<&[u8]>, limit: usize) -> Result<Vec<TransferredKey>, Fault>;

    /// Puts what another store had. Twice is the same as once: of a stream, what is here from the first given version
    /// on goes first.
    async fn put(&self, batch: TransferBatch) -> Result<(), Fault>;
}
