//! Channels of the store as senders: signed webhooks, Slack, mail.
//!
//! Invariant: a credential is opened from the store of secrets when a message is sent, and kept nowhere else. Addresses
//! that others wrote are reached through the guard only.

#[cfg(feature = "mail")]
mod mail;

use std::sync::Arc;

use async_trait::async_trait;
use ordo_egress_guard::Guarded;
use ordo_engine::channels::ChannelOpener;
use ordo_engine::clock::SharedClock;
use ordo_engine::secrets::{SecretText, SecretsError, Vault};
use ordo_engine::sender::{OutgoingMessage, Retries, SendError, Sender, Sent};
use ordo_model::Millis;
use ordo_model::channel::{Channel, ChannelTarget};
use ordo_model::notification::{Message, Notification};
use serde_json::json;

use crate::message::{event_type, words};
use crate::slack::api::Api;
use crate::slack::card;
use crate::slack::sender::SlackSender;
use crate::webhook::payload;
use crate::webhook::request::{self, NotTaken, post};
use crate::webhook::schedule::WAITS;
use crate::webhook::sender::{later, message_id};
use crate::webhook::signing::{SignatureHeaders, SigningKey};

/// What all channels have in common.
#[derive(Debug, Clone)]
pub struct ChannelTransport {
    pub guarded: Guarded,
    pub vault: Vault,
    pub clock: SharedClock,
    /// Slack's API, without a token.
    pub slack: Api,
}

impl ChannelOpener for ChannelTransport {
    fn open(&self, channel: &Channel) -> Arc<dyn Sender> {
        Arc::new(ChannelSender { channel: channel.clone(), transport: self.clone() })
    }
}

#[derive(Debug)]
struct ChannelSender {
    channel: Channel,
    transport: ChannelTransport,
}

#[async_trait]
impl Sender for ChannelSender {
    fn name(&self) -> &str {
        &self.channel.name
    }

    fn wants(&self, message: &Message) -> bool {
        self.channel.wants(message, event_type(message))
    }

    async fn send(&self, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        match &self.channel.settings.target {
            ChannelTarget::Webhook { url, secret } => self.signed(url, secret, outgoing).await,
            ChannelTarget::Slack { channel, secret } => {
                let api = self.transport.slack.with_token(self.secret(secret).await?.expose());
                let name = self.channel.name.clone();
                SlackSender { name, api, channel: channel.clone(), events: Vec::new() }.send(outgoing).await
            }
            ChannelTarget::SlackWebhook { secret } => self.line(secret, outgoing).await,
            #[cfg(feature = "mail")]
            ChannelTarget::Email { .. } => self.mail(outgoing).await,
            #[cfg(not(feature = "mail"))]
            ChannelTarget::Email { .. } => {
                Err(SendError::permanent("this Ordo was built without mail (the feature \"mail\")"))
            }
        }
    }

    fn retries(&self) -> Retries {
        match self.channel.settings.target {
            ChannelTarget::Webhook { .. } => Retries(WAITS.to_vec()),
            ChannelTarget::Slack { .. } | ChannelTarget::SlackWebhook { .. } | ChannelTarget::Email { .. } => {
                Retries::default()
            }
        }
    }

    fn timeout(&self) -> Millis {
        match self.channel.settings.target {
            // A second more than the request has, so that its own error is the one that is reported.
            ChannelTarget::Webhook { .. } | ChannelTarget::SlackWebhook { .. } => {
                Millis::from_secs(request::TIMEOUT.as_secs() + 1)
            }
            // An update and a line of the timeline, each of which may take as long as a call may.
            ChannelTarget::Slack { .. } => Millis::from_secs(25),
            ChannelTarget::Email { .. } => Millis::from_secs(60),
        }
    }

    fn concurrency(&self) -> usize {
        match self.channel.settings.target {
            ChannelTarget::Webhook { .. } => 8,
            // Slack lets an app post about once a second into a channel.
            ChannelTarget::Slack { .. } | ChannelTarget::SlackWebhook { .. } | ChannelTarget::Email { .. } => 4,
        }
    }
}

impl ChannelSender {
    /// The value of a secret. One that is gone stays gone until somebody sets it again: the message is given up.
    async fn secret(&self, name: &str) -> Result<SecretText, SendError> {
        match self.transport.vault.reveal(name).await {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(SendError::permanent(format!("{}; then replay this", gone(name)))),
            Err(error @ SecretsError::Unknown { .. }) => Err(SendError::permanent(error.to_string())),
            Err(error) => Err(SendError::passing(error.to_string())),
        }
    }

    async fn signed(&self, url: &str, secret: &str, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let key = SigningKey::parse(self.secret(secret).await?.expose())
            .map_err(|error| SendError::permanent(format!("the secret {secret:?} cannot be used: {error}")))?;
        let notification = Notification::id(outgoing.message, &self.channel.name);
        let (id, body) = (message_id(notification), payload::body(outgoing.message));
        let signed = SignatureHeaders::new(&[key], &id, self.transport.clock.now(), &body);
        match post(&self.transport.guarded, url, &signed.headers(), body).await {
            Ok(status) => Ok(Sent { note: Some(status.to_string()), remember: None }),
            Err(NotTaken::Gone(said)) => Err(SendError::permanent(said)),
            Err(NotTaken::Failed(error)) => Err(later(error, outgoing.attempt, notification)),
        }
    }

    /// One line for an address that Slack gave out.
    async fn line(&self, secret: &str, outgoing: &OutgoingMessage<'_>) -> Result<Sent, SendError> {
        let url = self.secret(secret).await?;
        let body = json!({ "text": card::news(&words(outgoing.message)) }).to_string().into_bytes();
        match post(&self.transport.guarded, url.expose().trim(), &[], body).await {
            Ok(status) => Ok(Sent { note: Some(status.to_string()), remember: None }),
            Err(NotTaken::Gone(said)) => Err(SendError::permanent(said)),
            Err(NotTaken::Failed(error)) => Err(error),
        }
    }
}

fn gone(name: &str) -> String {
    match name.contains('/') {
        true => format!("the secret of this channel is gone ({name}): give the channel a new one"),
        false => format!("there is no secret {name:?}: set it with `ordo secret set {name}`"),
    }
}
