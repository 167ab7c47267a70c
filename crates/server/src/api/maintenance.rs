//! What the server lets people do with its store, done by whoever knows the driver.

use std::path::PathBuf;

use async_trait::async_trait;
use ordo_api::upkeep::{StoreCheck, StoreCopy, StoreStats};

use ordo_store::Fault;

/// Work on the store as a whole.
#[async_trait]
pub trait Maintenance: Send + Sync + 'static {
    async fn stats(&self) -> Result<StoreStats, MaintenanceError>;

    /// Writes a copy of the store, as of one moment, to a file that does not exist yet.
    async fn backup(&self, to: PathBuf) -> Result<StoreCopy, MaintenanceError>;

    /// Proves that everything derived equals what the events say.
    async fn check(&self) -> Result<StoreCheck, MaintenanceError>;
}

#[derive(Debug, thiserror::Error)]
pub enum MaintenanceError {
    /// It cannot be done as it was asked for: the file exists, the folder does not. The text says what to do.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] Fault),
    /// It was begun and did not come to its end.
    #[error("{0}")]
    Failed(String),
}
