//! Where keys come from. The engine does not know where they are kept.

use std::fmt::Debug;

use super::key::SealingKey;

/// The keys cannot be used; the text says which and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyFault(pub String);

pub trait Keyring: Debug + Send + Sync + 'static {
    /// The keys there are by now: the first seals, all of them open. Empty: none was made yet.
    fn keys(&self) -> Result<Vec<SealingKey>, KeyFault>;

    /// Makes the first key, or answers those that somebody else made meanwhile.
    fn make(&self) -> Result<Vec<SealingKey>, KeyFault>;
}

/// Keys that somebody else keeps: of an embedding program, or of a test.
#[derive(Debug, Clone, Default)]
pub struct FixedKeys(pub Vec<SealingKey>);

impl Keyring for FixedKeys {
    fn keys(&self) -> Result<Vec<SealingKey>, KeyFault> {
        Ok(self.0.clone())
    }

    fn make(&self) -> Result<Vec<SealingKey>, KeyFault> {
        match self.0.is_empty() {
            true => Err(KeyFault("this engine was started without a key for secrets".into())),
            false => Ok(self.0.clone()),
        }
    }
}
