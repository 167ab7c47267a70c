//! Where signing secrets are kept: under names, in whatever keeps the server's secrets.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::signing::SigningKey;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VaultError(pub String);

#[async_trait]
pub trait Vault: Debug + Send + Sync + 'static {
    async fn put(&self, name: &str, value: &str) -> Result<(), VaultError>;
    /// None: there is no secret of this name.
    async fn reveal(&self, name: &str) -> Result<Option<String>, VaultError>;
    async fn remove(&self, name: &str) -> Result<(), VaultError>;
}

/// The key of this name, or why there is none.
pub(crate) async fn key(vault: &dyn Vault, name: &str) -> Result<SigningKey, VaultError> {
    let value = vault.reveal(name).await?;
    let value =
        value.ok_or_else(|| VaultError(format!("the secret {name:?} is gone: give the subscription a new one")))?;
    SigningKey::parse(&value).map_err(|error| VaultError(format!("the secret {name:?} cannot be used: {error}")))
}

/// Secrets in memory, for tests.
#[derive(Default)]
pub struct MemoryVault(Mutex<BTreeMap<String, String>>);

impl Debug for MemoryVault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryVault")
    }
}

#[async_trait]
impl Vault for MemoryVault {
    async fn put(&self, name: &str, value: &str) -> Result<(), VaultError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    async fn reveal(&self, name: &str) -> Result<Option<String>, VaultError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }

    async fn remove(&self, name: &str) -> Result<(), VaultError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        Ok(())
    }
}
