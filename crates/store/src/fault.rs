//! What can go wrong below the contract: not refusals (those are outcomes), but a store that cannot do its work.
//!
//! Invariant: after a fault of `commit` nothing is acknowledged. Whether the batch became durable all the same is
//! unknown (a full disk says no, a lost answer says nothing): the writer loads again before it decides again.

use std::error::Error;
use std::sync::Arc;

/// A store failed. Says what was being done; the cause is in `source`. Cloned when many wait for one commit.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// The store could not be reached or written now; trying later may help (disk full, connection lost).
    #[error("the store is unavailable while {doing}")]
    Unavailable { doing: &'static str, source: Arc<dyn Error + Send + Sync> },
    /// What is stored contradicts itself or cannot be read by this version.
    #[error("the store is damaged or of another version: {what}")]
    Damaged { what: String },
    /// Somebody else holds the store.
    #[error("{what}")]
    Held { what: String },
    /// A position or cursor that was never given out for this: a client made it up, or it comes from another store or
    /// another list.
    #[error("not a position of this list or store: {given:?}")]
    NotAPosition { given: String },
    /// The writer asked for something the contract rules out. A bug above the store; nothing was written.
    #[error("a batch the store must not be given: {what}")]
    Misuse { what: String },
}

impl Fault {
    pub fn unavailable(doing: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
        Fault::Unavailable { doing, source: Arc::from(source.into()) }
    }

    pub fn misuse(what: impl Into<String>) -> Fault {
        Fault::Misuse { what: what.into() }
    }

    pub fn damaged(what: impl Into<String>) -> Fault {
        Fault::Damaged { what: what.into() }
    }
}
