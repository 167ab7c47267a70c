//! One subscription as a sender of its own, so that a receiver that is slow or gone delays nobody else.

use async_trait::async_trait;
use ordo_egress_guard::Guarded;
use ordo_engine::clock::SharedClock;
use ordo_engine::secrets::Vault;
use ordo_engine::sender::{OutgoingMessage, Retries, SendError, Sender, Sent};
use ordo_model::notification::{Message, Notification};
use ordo_model::subscription::Subscription;
use ordo_model::{Millis, Timestamp};
use tokio::sync::mpsc::UnboundedSender;
use uuid::Uuid;

use super::payload;
use super::request::{NotTaken, TIMEOUT, post};
use super::schedule::{WAITS, wait_after};
use super::signing::{SignatureHeaders, SigningKey};
use crate::message::event_type;

/// What all subscriptions have in common.
#[derive(Debug, Clone)]
pub struct WebhookTransport {
    pub guarded: Guarded,
    /// Where signing secrets are read when a message is signed; they are kept nowhere else.
    pub vault: Vault,
    pub clock: SharedClock,
    /// Receives the subscription whose receiver wants no more, and what it said.
    pub gone: UnboundedSender<(Uuid, String)>,
}

#[derive(Debug)]
pub struct WebhookSender {
    pub id: Uuid,
    name: String,
    subscription: Subscription,
    transport: WebhookTransport,
}

/// The name of the sender of a subscription: in its notifications it says where they went.
pub fn sender_name(id: Uuid) -> String {
    format!("{SENDER_PREFIX}{id}")
}

const SENDER_PREFIX: &str = "webhook:";

/// Whether it is the name of a subscription's sender.
pub fn is_sender_name(name: &str) -> bool {
    name.starts_with(SENDER_PREFIX)
}

impl WebhookSender {
    pub fn new(id: Uuid, subscription: Subscription, transport: WebhookTransport) -> WebhookSender {
        WebhookSender { id, name: sender_name(id), subscription, transport }
    }

    /// One message that says nothing but that the way is open. The status it was taken with.
    pub async fn test(&self, message: Uuid) -> Result<u16, SendError> {
        let now = self.transport.clock.now();
        let body = payload::test_body(self.id, now);
        self.attempt(&message_id(message), body).await
    }

    async fn attempt(&self, id: &str, body: Vec<u8>) -> Result<u16, SendError> {
        let now = self.transport.clock.now();
        let keys = self.keys(now).await?;
        let signed = SignatureHeaders::new(&keys, id, now, &body);
        match post(&self.transport.guarded, &self.subscription.terms.url, &signed.headers(), body).await {
            Ok(status) => Ok(status),
            Err(NotTaken::Failed(error)) => Err(error),
            Err(NotTaken::Gone(said)) => {
                // Nobody listens only when the server goes down; the next message will find out again.
                drop(self.transport.gone.send((self.id, said.clone())));
                Err(SendError::permanent(said))
            }
        }
    }

    async fn keys(&self, now: Timestamp) -> Result<Vec<SigningKey>, SendError> {
        let mut keys = Vec::new();
        for name in self.subscription.signing(now) {
            keys.push(self.key(name).await.map_err(SendError::passing)?);
        }
        Ok(keys)
    }

    async fn key(&self, name: &str) -> Result<SigningKey, String> {
        let value = self.transport.vault.reveal(name).await.map_err(|error| error.to_string())?;
        let gone = || format!("the secret {name:?} is gone: give the subscription a new one");
        let key = SigningKey::parse(value.ok_or_else(gone)?.expose());
        key.map_err(|error| format!("the secret {name:?} cannot be used: {error}"))
    }
}

#[async_trait]
impl Sender for WebhookSender {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, message: &Message) -> bool {
        self.subscription.wants(event_type(message), message.label())
    }

    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let notification = Notification::id(outgoing.message, &self.name);
        match self.attempt(&message_id(notification), payload::body(outgoing.message)).await {
            Ok(status) => Ok(Sent { note: Some(status.to_string()), remember: None }),
            Err(error) => Err(later(error, outgoing.attempt, notification)),
        }
    }

    fn retries(&self) -> Retries {
        Retries(WAITS.to_vec())
    }

    fn timeout(&self) -> Millis {
        // A second more than the request has, so that its own error is the one that is reported.
        Millis::from_secs(TIMEOUT.as_secs() + 1)
    }

    fn concurrency(&self) -> usize {
        8
    }
}

/// The wait of the schedule with this notification's own jitter, or what the receiver asks for, if that is longer.
pub(crate) fn later(error: SendError, attempt: u32, notification: Uuid) -> SendError {
    let (high, low) = notification.as_u64_pair();
    let wait = wait_after(attempt, high ^ low).unwrap_or(Millis::ZERO);
    let asked = error.retry_after.unwrap_or(Millis::ZERO);
    SendError { retry_after: Some(wait.max(asked)), ..error }
}

/// The id of a message: the same at every attempt, and without a full stop.
pub(crate) fn message_id(id: Uuid) -> String {
    format!("msg_{}", id.simple())
}
