//! Reads secrets: one by its name, or all that an input refers to.

use std::collections::BTreeMap;
use std::sync::Arc;

use ordo_model::secret::{Secret, is_shared_name};
use ordo_model::secret_reference::{referred, resolved};
use serde_json::Value;
use uuid::Uuid;

use super::key::{SealingKey, open};
use super::keyring::Keyring;
use super::mask::Mask;
use super::text::SecretText;
use super::{SecretsError, purpose};
use crate::commit::command::SubmitError;
use crate::read::queries::Queries;

/// How often a value that is replaced while it is read is read again.
const TRIES: u32 = 5;

/// Reads secrets of a store with these keys, also where no engine runs yet. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Vault {
    pub(crate) queries: Queries,
    pub(crate) keys: Arc<dyn Keyring>,
}

/// An input as a tool gets it. It holds the values of secrets: it is neither stored nor shown.
#[derive(Clone)]
pub struct Resolved {
    pub input: Value,
    /// Covers those values in whatever comes back.
    pub mask: Mask,
}

impl std::fmt::Debug for Resolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolved").field("mask", &self.mask).finish_non_exhaustive()
    }
}

impl Vault {
    pub fn new(queries: Queries, keys: Arc<dyn Keyring>) -> Vault {
        Vault { queries, keys }
    }

    pub async fn reveal(&self, name: &str) -> Result<Option<SecretText>, SecretsError> {
        self.sealed(name).await?.map(|(_, bytes)| self.opened(name, &bytes)).transpose()
    }

    /// The sealed value, and the chunk in which it stands.
    pub(crate) async fn sealed(&self, name: &str) -> Result<Option<(Uuid, Vec<u8>)>, SecretsError> {
        for _ in 0..TRIES {
            let found = self.queries.object::<Secret>(Secret::id(name).id).await?;
            let Some(owner) = found.and_then(|secret| secret.value.value) else { return Ok(None) };
            if let Some(chunk) = self.queries.store().chunks(owner, 0, 1).await?.pop() {
                return Ok(Some((owner, chunk.bytes)));
            }
        }
        Err(SubmitError::Contended.into())
    }

    pub(crate) fn opened(&self, name: &str, sealed: &[u8]) -> Result<SecretText, SecretsError> {
        let keys: Vec<SealingKey> = self.keys.keys()?;
        let unopened = |why| SecretsError::Unopened { name: name.to_owned(), why };
        let clear = open(&keys, &purpose(name), sealed).map_err(unopened)?;
        String::from_utf8(clear).map(SecretText::new).map_err(|_| unopened(super::key::Unopened::Changed))
    }

    /// The input with the values in place of the references. The first name that is missing is the error.
    pub(crate) async fn resolve(&self, input: &Value) -> Result<Resolved, SecretsError> {
        let mut values: BTreeMap<&str, SecretText> = BTreeMap::new();
        for name in referred(input) {
            let missing = || SecretsError::Unknown { name: name.to_owned() };
            // What belongs to a hook or a subscription is not for jobs.
            let found = if is_shared_name(name) { self.reveal(name).await? } else { None };
            values.insert(name, found.ok_or_else(missing)?);
        }
        let find = |name: &str| values.get(name).map(SecretText::expose);
        let input = resolved(input, &find);
        Ok(Resolved { input, mask: Mask::of_all(values.into_values().collect()).await })
    }
}
