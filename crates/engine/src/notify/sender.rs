//! What sends messages to the outside: Slack, webhooks, e-mail. Implemented by adapters, called by the notification
//! dispatcher.
//!
//! Invariant: a sender decides nothing about retries. It says what happened; the notification keeps the rest.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use ordo_model::Millis;
use ordo_model::notification::Message;
use serde_json::Value;

/// How many notifications of one sender are on their way at once, each of another entity.
pub const CONCURRENCY_DEFAULT: usize = 16;

#[async_trait]
pub trait Sender: Send + Sync + 'static {
    /// Stands in every notification, so it must stay the same over restarts.
    fn name(&self) -> &str;

    /// Whether a notification is written for this message. Must be quick: it is asked for every event.
    fn wants(&self, message: &Message) -> bool;

    /// Sends one message. May be called again with the same key after a crash or an error: notifications are delivered at
    /// least once. Notifications about one entity come in order, one after another.
    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError>;

    /// How long to wait after each failed try. After the last the notification is dead-lettered.
    fn retries(&self) -> Retries {
        Retries::default()
    }

    /// A try that takes longer has failed.
    fn timeout(&self) -> Millis {
        Millis::from_secs(10)
    }

    fn concurrency(&self) -> usize {
        CONCURRENCY_DEFAULT
    }
}

/// One try.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingMessage<'a> {
    pub message: &'a Message,
    /// The idempotency key: the same for every try and every sender.
    pub key: &'a str,
    /// The first is 1.
    pub attempt: u32,
    /// What this sender asked to be reminded of about this incident (see [`Sent::remember`]).
    pub remembered: Option<&'a Value>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sent {
    /// What the receiver answered, in a word, for the log of deliveries.
    pub note: Option<String>,
    /// Handed back with every later message about the same incident: where the card stands, for example.
    pub remember: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SendError {
    pub text: String,
    /// The receiver asked to be left alone for this long.
    pub retry_after: Option<Millis>,
    /// Trying again cannot help.
    pub permanent: bool,
}

impl SendError {
    pub fn passing(text: impl Into<String>) -> SendError {
        SendError { text: text.into(), retry_after: None, permanent: false }
    }

    pub fn permanent(text: impl Into<String>) -> SendError {
        SendError { text: text.into(), retry_after: None, permanent: true }
    }

    #[must_use]
    pub fn after(self, wait: Millis) -> SendError {
        SendError { retry_after: Some(wait), ..self }
    }
}

/// The waits between tries: one try more than there are waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retries(pub Vec<Millis>);

impl Default for Retries {
    /// From 1 s, doubling, up to 5 minutes: ten tries within about a quarter of an hour.
    fn default() -> Retries {
        Retries::doubling(Millis::from_secs(1), Millis::from_secs(300), 10)
    }
}

impl Retries {
    pub fn doubling(first: Millis, longest: Millis, tries: u32) -> Retries {
        let wait = |n: u32| first.saturating_mul(1 << n.min(62)).min(longest);
        Retries((0..tries.saturating_sub(1)).map(wait).collect())
    }

    /// How long to wait after that many failed tries; None: it is given up.
    pub fn wait_after(&self, tries: u32) -> Option<Millis> {
        self.0.get(tries.saturating_sub(1) as usize).copied()
    }
}

/// The senders there are, by name. A handle: clones share what is registered.
#[derive(Clone, Default)]
pub struct Senders(Arc<RwLock<BTreeMap<String, Arc<dyn Sender>>>>);

impl std::fmt::Debug for Senders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Senders {
    /// Takes the place of one with the same name.
    pub fn register(&self, sender: Arc<dyn Sender>) {
        let name = sender.name().to_owned();
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(name, sender);
    }

    /// Notifications that still wait for it are dead-lettered.
    pub fn remove(&self, name: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Sender>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub fn names(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Those that want this message.
    pub fn interested(&self, message: &Message) -> Vec<String> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(_, sender)| sender.wants(message)).map(|(name, _)| name.clone()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_double_up_to_the_longest_and_come_to_an_end() {
        let retries = Retries::doubling(Millis::from_secs(1), Millis::from_secs(5), 5);
        let waits: Vec<Option<u64>> = (1..=5).map(|n| retries.wait_after(n).map(|wait| wait.ms() / 1_000)).collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), Some(5), None]);
    }
}
