//! Secrets: values that jobs, hooks and senders refer to by name.
//!
//! Invariant: in the store a value is sealed, with its name, under a key that is not in the store. In the clear it is
//! in memory only, while somebody uses it, and never in an event, a row, a log line or a result.

mod key;
mod keyring;
mod mask;
mod scanner;
mod text;
mod vault;

use std::sync::Arc;

use ordo_model::limits::{PAGE_MAX, SECRET_MAX_BYTES};
use ordo_model::secret::{Secret, SecretCommand, SecretRefusal};
use ordo_store::{Chunk, Fault};
use serde_json::Value;

use crate::commit::command::SubmitError;
use crate::commit::entity_command::CommitExtras;
use crate::commit::state::Versioned;
use crate::engine::Engine;
use crate::random::RandomError;
use crate::read::object_queries::IndexRange;
use crate::read::page::{Cursor, ListPage};
use crate::time::clock::new_id;

pub use key::{KEY_BYTES, KeyFingerprint, SealingKey, Unopened, open};
pub use keyring::{FixedKeys, KeyFault, Keyring};
pub use mask::Mask;
pub(crate) use mask::{ASIDE_MIN_BYTES, aside};
pub use text::SecretText;
pub use vault::{Resolved, Vault};

/// Why a secret could not be kept, read or removed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SecretsError {
    #[error(transparent)]
    Submit(#[from] SubmitError<SecretRefusal>),
    #[error("a secret has between 1 and {SECRET_MAX_BYTES} bytes")]
    Length,
    #[error("there is no secret {name:?}: set it with `ordo secret set {name}`")]
    Unknown { name: String },
    #[error("the secret {name:?} cannot be opened: {why}")]
    Unopened { name: String, why: Unopened },
    /// There are secrets, but this node has no key.
    #[error("there are secrets here, but no key for them on this node: put the key file of the other nodes in place")]
    NoKey,
    #[error(transparent)]
    Key(#[from] KeyFault),
    #[error(transparent)]
    Random(#[from] RandomError),
}

impl From<Fault> for SecretsError {
    fn from(fault: Fault) -> SecretsError {
        SecretsError::Submit(fault.into())
    }
}

/// The secrets of one engine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Secrets {
    engine: Engine,
    vault: Vault,
}

impl Secrets {
    pub(crate) fn new(engine: Engine, vault: Vault) -> Secrets {
        Secrets { engine, vault }
    }

    /// Keeps a value under a name, in the place of the one before. A key is made for the first secret of all.
    pub async fn put(&self, name: &str, value: &SecretText) -> Result<Arc<Versioned<Secret>>, SecretsError> {
        if !(1..=SECRET_MAX_BYTES).contains(&value.expose().len()) {
            return Err(SecretsError::Length);
        }
        let sealed = self.sealing_key().await?.seal(&purpose(name), value.expose().as_bytes())?;
        let owner = new_id();
        let chunks = vec![Chunk { owner, seq: 0, bytes: sealed }];
        let command = SecretCommand::Set { name: name.to_owned(), value: owner };
        let extras = CommitExtras { chunks, ..CommitExtras::default() };
        Ok(self.engine.command_with::<Secret>(Secret::id(name).id, command, extras).await?.state)
    }

    /// Whether there is a secret of this name; one that was removed is not there.
    pub async fn is_set(&self, name: &str) -> Result<bool, SecretsError> {
        let found = self.engine.queries().object::<Secret>(Secret::id(name).id).await?;
        Ok(found.is_some_and(|secret| secret.value.value.is_some()))
    }

    /// The value, for whoever is about to use it.
    pub async fn reveal(&self, name: &str) -> Result<Option<SecretText>, SecretsError> {
        self.vault.reveal(name).await
    }

    /// An input with the values in the place of its references, and the mask for what comes back.
    pub async fn resolve(&self, input: &Value) -> Result<Resolved, SecretsError> {
        self.vault.resolve(input).await
    }

    /// Names and times, by name; no values.
    pub async fn list(
        &self,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<Versioned<Secret>>, SecretsError> {
        Ok(self.engine.queries().objects(&IndexRange { after, ..IndexRange::all(0, limit) }).await?)
    }

    pub async fn remove(&self, name: &str) -> Result<Arc<Versioned<Secret>>, SecretsError> {
        Ok(self.engine.command::<Secret>(Secret::id(name).id, SecretCommand::Remove).await?.state)
    }

    /// Seals every value with the key that seals now, so that older keys are needed no more. How many there are.
    pub async fn reseal(&self) -> Result<usize, SecretsError> {
        let key = self.sealing_key().await?;
        let (mut after, mut count) = (None, 0);
        loop {
            let found = self.list(after.as_ref(), PAGE_MAX).await?;
            for secret in &found.items {
                self.reseal_one(&key, &secret.name).await?;
                count += 1;
            }
            after = found.next;
            if after.is_none() {
                return Ok(count);
            }
        }
    }

    async fn reseal_one(&self, key: &SealingKey, name: &str) -> Result<(), SecretsError> {
        let Some((from, sealed)) = self.vault.sealed(name).await? else { return Ok(()) };
        let clear = self.vault.opened(name, &sealed)?;
        let to = new_id();
        let chunks = vec![Chunk { owner: to, seq: 0, bytes: key.seal(&purpose(name), clear.expose().as_bytes())? }];
        let extras = CommitExtras { chunks, ..CommitExtras::default() };
        match self.engine.command_with::<Secret>(Secret::id(name).id, SecretCommand::Reseal { from, to }, extras).await
        {
            // It was removed meanwhile.
            Ok(_) | Err(SubmitError::Refused(SecretRefusal::NoSuchSecret)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The key of this node: its own only if it opens what others sealed, so that no two nodes seal apart.
    pub async fn sealing_key(&self) -> Result<SealingKey, SecretsError> {
        let mut keys = self.vault.keys.keys()?;
        let one = self.list(None, 1).await?.items.pop();
        if let Some(one) = one {
            if keys.is_empty() {
                return Err(SecretsError::NoKey);
            }
            // A damaged one is reported to whoever needs it, and must not stand in the way of a new value.
            let revealed = self.vault.reveal(&one.name).await;
            if let Err(error @ SecretsError::Unopened { why: Unopened::OtherKey(_), .. }) = revealed {
                return Err(error);
            }
        } else if keys.is_empty() {
            keys = self.vault.keys.make()?;
        }
        keys.into_iter().next().ok_or(SecretsError::NoKey)
    }

    /// The keys themselves, for what else is sealed with them.
    pub fn keyring(&self) -> &Arc<dyn Keyring> {
        &self.vault.keys
    }
}

/// What a value is sealed for: moved under another name it does not open.
fn purpose(name: &str) -> String {
    format!("ordo-secret {name}")
}
