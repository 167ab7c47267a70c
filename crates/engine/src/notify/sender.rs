//! What sends messages to the outside: Slack, webhooks, e-mail. Implemented by adapters, called by the notification
//! dispatcher.
//!
//! Invariant: a sender decides nothing about retries. It says what happened; the notification keeps the rest.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_trait::async_trait;
use ordo_model::channel::Channel;
use ordo_model::notification::Message;
use ordo_model::{Millis, Timestamp};
use serde_json::Value;

use crate::commit::state::Versioned;
use crate::notify::channels::ChannelOpener;

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
pub struct Senders(Arc<RwLock<SenderRegistry>>);

#[derive(Default)]
struct SenderRegistry {
    by_name: BTreeMap<String, Arc<dyn Sender>>,
    /// Makes senders of the channels of the store; None: they are not sent through from here.
    opener: Option<Arc<dyn ChannelOpener>>,
    /// What was made of them. A cache: each stands for one version of its channel.
    opened: BTreeMap<String, OpenedChannel>,
}

struct OpenedChannel {
    version: u64,
    /// A name may be given again: the versions begin anew then.
    created_at: Timestamp,
    sender: Arc<dyn Sender>,
}

impl std::fmt::Debug for Senders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Senders {
    fn read(&self) -> RwLockReadGuard<'_, SenderRegistry> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, SenderRegistry> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the place of one with the same name.
    pub fn register(&self, sender: Arc<dyn Sender>) {
        let name = sender.name().to_owned();
        self.write().by_name.insert(name, sender);
    }

    /// Channels of the store are sent through from now on.
    pub fn open_channels_with(&self, opener: Arc<dyn ChannelOpener>) {
        self.write().opener = Some(opener);
    }

    pub(crate) fn opens_channels(&self) -> bool {
        self.read().opener.is_some()
    }

    /// The sender of a channel as it stands in this version.
    pub(crate) fn of_channel(&self, channel: &Versioned<Channel>) -> Option<Arc<dyn Sender>> {
        let is_current = |one: &&OpenedChannel| one.version == channel.version && one.created_at == channel.created_at;
        if let Some(opened) = self.read().opened.get(&channel.name).filter(is_current) {
            return Some(opened.sender.clone());
        }
        let mut registered = self.write();
        let sender = registered.opener.as_ref()?.open(channel);
        let (version, created_at) = (channel.version, channel.created_at);
        let opened = OpenedChannel { version, created_at, sender: sender.clone() };
        registered.opened.insert(channel.name.clone(), opened);
        Some(sender)
    }

    pub(crate) fn forget_channel(&self, name: &str) {
        self.write().opened.remove(name);
    }

    /// Notifications that still wait for it are dead-lettered.
    pub fn remove(&self, name: &str) {
        self.write().by_name.remove(name);
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Sender>> {
        self.read().by_name.get(name).cloned()
    }

    /// How many notifications of this sender are on their way at once.
    pub(crate) fn concurrency(&self, name: &str) -> usize {
        let registered = self.read();
        let opened = || registered.opened.get(name).map(|opened| &opened.sender);
        registered.by_name.get(name).or_else(opened).map_or(1, |sender| sender.concurrency().max(1))
    }

    /// Those that were registered: the channels of the store are not among them.
    pub fn names(&self) -> Vec<String> {
        self.read().by_name.keys().cloned().collect()
    }

    /// Those of them that want this message.
    pub fn interested(&self, message: &Message) -> Vec<String> {
        let registered = self.read();
        let wanting = registered.by_name.iter().filter(|(_, sender)| sender.wants(message));
        wanting.map(|(name, _)| name.clone()).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.read().by_name.is_empty()
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
