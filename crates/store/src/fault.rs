//! What can go wrong below the contract: not refusals (those are outcomes), but a store that cannot do its work.

/// A store failed. Says what was being done; the cause is in `source`.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The store could not be reached or written now; trying later may help (disk full, connection lost).
    #[error("the store is unavailable while {doing}")]
    Unavailable { doing: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
    /// What is stored contradicts itself or cannot be read by this version.
    #[error("the store is damaged or of another version: {what}")]
    Damaged { what: String },
    /// Somebody else holds the store.
    #[error("{what}")]
    Held { what: String },
}

impl Fault {
    pub fn unavailable(doing: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Fault {
        Fault::Unavailable { doing, source: source.into() }
    }

    pub fn damaged(what: impl Into<String>) -> Fault {
        Fault::Damaged { what: what.into() }
    }
}
