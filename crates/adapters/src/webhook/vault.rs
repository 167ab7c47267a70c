//! Where signing secrets are kept: under names, in the store of secrets.
//!
//! Invariant: a value is read when a message is signed and kept nowhere else.

use std::fmt::Debug;

use async_trait::async_trait;
use ordo_engine::clock::new_id;
use ordo_engine::queries::Queries;
use ordo_engine::{Along, AskError, Engine};
use ordo_model::secret::{Secret, SecretCommand, SecretRefusal};
use ordo_store::Chunk;

use super::signing::SigningKey;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VaultError(pub String);

/// Reads secrets by name.
#[async_trait]
pub trait Vault: Debug + Send + Sync + 'static {
    /// None: there is no secret of this name.
    async fn reveal(&self, name: &str) -> Result<Option<String>, VaultError>;
}

/// The key of this name, or why there is none.
pub(crate) async fn key(vault: &dyn Vault, name: &str) -> Result<SigningKey, VaultError> {
    let value = vault.reveal(name).await?;
    let gone = || VaultError(format!("the secret {name:?} is gone: give the subscription a new one"));
    let value = value.ok_or_else(gone)?;
    SigningKey::parse(&value).map_err(|error| VaultError(format!("the secret {name:?} cannot be used: {error}")))
}

/// Secrets as they stand in the store.
#[derive(Debug, Clone)]
pub struct StoredSecrets(pub Queries);

#[async_trait]
impl Vault for StoredSecrets {
    async fn reveal(&self, name: &str) -> Result<Option<String>, VaultError> {
        let unread = |error: ordo_store::Fault| VaultError(format!("the secret {name:?} cannot be read: {error}"));
        let secret = self.0.object::<Secret>(Secret::id(name).id).await.map_err(unread)?;
        let Some(owner) = secret.and_then(|secret| secret.value.value) else { return Ok(None) };
        let chunk = self.0.store().chunks(owner, 0, 1).await.map_err(unread)?.pop();
        let text =
            |chunk: Chunk| String::from_utf8(chunk.bytes).map_err(|_| VaultError(format!("{name:?} is no text")));
        chunk.map(text).transpose()
    }
}

/// Keeps a value under a name, in the place of the one before.
pub async fn put(engine: &Engine, name: &str, value: &str) -> Result<(), AskError<SecretRefusal>> {
    let owner = new_id();
    let chunks = vec![Chunk { owner, seq: 0, bytes: value.as_bytes().to_vec() }];
    let command = SecretCommand::Set { name: name.to_owned(), value: owner };
    engine.ask_with::<Secret>(Secret::id(name).id, command, Along { chunks, ..Along::default() }).await.map(drop)
}

/// Forgets a name. One that is not there is as good as forgotten.
pub async fn remove(engine: &Engine, name: &str) -> Result<(), AskError<SecretRefusal>> {
    match engine.ask::<Secret>(Secret::id(name).id, SecretCommand::Remove).await {
        Ok(_) | Err(AskError::Refused(SecretRefusal::NoSuchSecret)) => Ok(()),
        Err(error) => Err(error),
    }
}
