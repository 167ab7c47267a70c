//! Slack: what it sends to Ordo, and what Ordo posts to it.

pub mod api;
pub(crate) mod card;
pub mod events;
pub mod interactions;
pub mod mrkdwn;
pub mod receiver;
pub mod sender;
pub mod signature;

use ordo_model::subscription::EventPattern;
use serde::Deserialize;

use api::{Api, NoApi};
use sender::SlackSender;
use signature::SigningSecret;

/// `[slack]` of the configuration. Slack is used when a token or a signing secret is given.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackOptions {
    pub api_url: String,
    #[serde(default)]
    pub bot_token: String,
    #[serde(default)]
    pub signing_secret: String,
    #[serde(default)]
    pub channel: String,
    pub events: Vec<EventPattern>,
}

impl std::fmt::Debug for SlackOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlackOptions")
            .field("api_url", &self.api_url)
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlackUnusable {
    #[error("slack.bot_token is given, but slack.channel is not: in which channel are incidents posted?")]
    NoChannel,
    #[error(transparent)]
    Api(#[from] NoApi),
}

impl SlackOptions {
    /// The sender for Slack, if there is a token.
    pub fn sender(&self) -> Result<Option<SlackSender>, SlackUnusable> {
        if self.bot_token.is_empty() {
            return Ok(None);
        }
        if self.channel.is_empty() {
            return Err(SlackUnusable::NoChannel);
        }
        let api = Api::new(&self.api_url, self.bot_token.clone())?;
        Ok(Some(SlackSender {
            name: sender::NAME.to_owned(),
            api,
            channel: self.channel.clone(),
            events: self.events.clone(),
        }))
    }

    /// What Slack's requests are checked with, if it is given.
    pub fn signing_secret(&self) -> Option<SigningSecret> {
        (!self.signing_secret.is_empty()).then(|| SigningSecret::new(self.signing_secret.clone()))
    }
}
