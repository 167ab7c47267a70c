//! A channel that people keep in the store: where messages go, and which of them.
//!
//! Invariant: no credential is here, only the name of a secret. What a channel needs and nobody may know (a token, a
//! password, an address that is a key) is that secret.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::hook::is_slug;
use crate::id::{EntityId, Kind};
use crate::job::Invalid;
use crate::job::definition::{name, text};
use crate::limits::{
    ACTOR_MAX_BYTES, CHANNEL_RECIPIENTS_MAX, HOOK_MAX_BYTES, SUBSCRIPTION_EVENTS_MAX, SUBSCRIPTION_TEXT_MAX_BYTES,
    SUBSCRIPTION_URL_MAX_BYTES,
};
use crate::notification::Message;
use crate::object::{Misplaced, Object};
use crate::subscription::{EventPattern, SecretName};
use crate::time::Timestamp;

/// The channels that only a configuration can have.
const RESERVED: [&str; 3] = ["slack", "email", "file"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    pub name: String,
    pub settings: ChannelSettings,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "crate::text::is_default")]
    pub is_removed: bool,
}

/// What its owner decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelSettings {
    pub target: ChannelTarget,
    /// Which events go out through it; none: only what escalation chains send through it.
    pub events: Vec<EventPattern>,
    /// Only what concerns jobs with such a label, and incidents with such an identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<EventPattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChannelTarget {
    /// Signed messages to a URL, by the Standard Webhooks. The secret signs them.
    Webhook { url: String, secret: SecretName },
    /// Cards in a channel of Slack. The secret is the token of the app.
    Slack { channel: String, secret: SecretName },
    /// Lines in a channel of Slack, without buttons. The secret is the address that Slack gave out for it.
    SlackWebhook { secret: SecretName },
    /// Mail. The secret is the password of the user in `server`.
    Email {
        server: String,
        from: String,
        to: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<SecretName>,
    },
}

#[derive(Debug, Clone)]
pub enum ChannelCommand {
    Add { name: String, settings: ChannelSettings },
    Change { settings: ChannelSettings },
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum ChannelEvent {
    ChannelAdded { name: String, settings: ChannelSettings },
    ChannelChanged { settings: ChannelSettings },
    ChannelRemoved {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelRefusal {
    #[error("there is no such channel")]
    NoSuchChannel,
    #[error("there is a channel {name:?} already")]
    Exists { name: String },
    #[error("{0}")]
    Invalid(#[from] Invalid),
}

impl Channel {
    /// The one channel of this name.
    pub fn id(name: &str) -> Uuid {
        EntityId::named(Kind::Channel, name).id
    }

    /// Whether a channel of the store can be called so.
    pub fn is_name(name: &str) -> bool {
        is_slug(name) && !RESERVED.contains(&name)
    }

    /// Whether a message goes out through it; `event` is what patterns call it.
    pub fn wants(&self, message: &Message, event: &str) -> bool {
        let ChannelSettings { events, label, .. } = &self.settings;
        let fits = |pattern: &EventPattern| message.label().is_some_and(|label| pattern.fits(label));
        message.names_sender(&self.name)
            || (events.iter().any(|pattern| pattern.fits(event)) && label.as_ref().is_none_or(fits))
    }
}

impl ChannelTarget {
    pub const fn kind(&self) -> &'static str {
        match self {
            ChannelTarget::Webhook { .. } => "webhook",
            ChannelTarget::Slack { .. } => "slack",
            ChannelTarget::SlackWebhook { .. } => "slack_webhook",
            ChannelTarget::Email { .. } => "email",
        }
    }

    pub fn secret(&self) -> Option<&SecretName> {
        match self {
            ChannelTarget::Webhook { secret, .. }
            | ChannelTarget::Slack { secret, .. }
            | ChannelTarget::SlackWebhook { secret } => Some(secret),
            ChannelTarget::Email { secret, .. } => secret.as_ref(),
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        match self {
            ChannelTarget::Webhook { url, .. } => {
                if !(url.starts_with("https://") || url.starts_with("http://")) {
                    return Err(Invalid::new("url", "write it as https://example.com/hook"));
                }
                name("url", url, SUBSCRIPTION_URL_MAX_BYTES)
            }
            ChannelTarget::Slack { channel, .. } => name("channel", channel, ACTOR_MAX_BYTES),
            ChannelTarget::SlackWebhook { .. } => Ok(()),
            ChannelTarget::Email { server, from, to, secret } => check_mail(server, from, to, secret.is_some()),
        }
    }
}

fn check_mail(server: &str, from: &str, to: &[String], has_password: bool) -> Result<(), Invalid> {
    let rest = server.strip_prefix("smtps://").or_else(|| server.strip_prefix("smtp://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
        return Err(Invalid::new("server", "write it as smtps://user@mail.example.com"));
    };
    let user = rest.rsplit_once('@').map(|(user, _)| user);
    if user.is_some_and(|user| user.contains(':')) {
        return Err(Invalid::new("server", "must not have a password in it: give that as the secret"));
    }
    if has_password != user.is_some() {
        return Err(Invalid::new("server", "a user and a password go together: smtps://user@mail.example.com"));
    }
    name("server", server, SUBSCRIPTION_URL_MAX_BYTES)?;
    let addressed = |field: &str, address: &str| match address.contains('@') {
        true => name(field, address, ACTOR_MAX_BYTES),
        false => Err(Invalid::new(field, format!("{address:?} is not an address of mail"))),
    };
    addressed("from", from)?;
    if !(1..=CHANNEL_RECIPIENTS_MAX).contains(&to.len()) {
        return Err(Invalid::new("to", format!("name 1 to {CHANNEL_RECIPIENTS_MAX} addresses")));
    }
    to.iter().try_for_each(|address| addressed("to", address))
}

impl ChannelSettings {
    fn check(&self) -> Result<(), Invalid> {
        self.target.check()?;
        if self.events.len() > SUBSCRIPTION_EVENTS_MAX {
            return Err(Invalid::new("events", format!("must be at most {SUBSCRIPTION_EVENTS_MAX} patterns")));
        }
        self.events.iter().try_for_each(|pattern| pattern.check("events"))?;
        self.label.as_ref().map_or(Ok(()), |pattern| pattern.check("label"))?;
        match &self.description {
            Some(given) if !given.is_empty() => text("description", given, SUBSCRIPTION_TEXT_MAX_BYTES),
            Some(_) | None => Ok(()),
        }
    }
}

impl Object for Channel {
    const KIND: Kind = Kind::Channel;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = ChannelCommand;
    type Event = ChannelEvent;
    type Refusal = ChannelRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Channel>,
        command: ChannelCommand,
        _now: Timestamp,
    ) -> Result<Vec<ChannelEvent>, ChannelRefusal> {
        match (before, command) {
            (None, ChannelCommand::Add { name, settings }) => {
                if !Channel::is_name(&name) {
                    let rule = format!(
                        "write 1 to {HOOK_MAX_BYTES} letters, digits, '.', '_' or '-'; slack, email and file are those of the configuration"
                    );
                    return Err(Invalid::new("name", rule).into());
                }
                settings.check()?;
                Ok(vec![ChannelEvent::ChannelAdded { name, settings }])
            }
            (None, ChannelCommand::Change { .. } | ChannelCommand::Remove) => Err(ChannelRefusal::NoSuchChannel),
            (Some(channel), ChannelCommand::Add { .. }) => Err(ChannelRefusal::Exists { name: channel.name.clone() }),
            (Some(channel), ChannelCommand::Change { settings }) if settings == channel.settings => Ok(Vec::new()),
            (Some(_), ChannelCommand::Change { settings }) => {
                settings.check()?;
                Ok(vec![ChannelEvent::ChannelChanged { settings }])
            }
            (Some(_), ChannelCommand::Remove) => Ok(vec![ChannelEvent::ChannelRemoved {}]),
        }
    }

    fn apply(_id: Uuid, before: Option<Channel>, event: &ChannelEvent, at: Timestamp) -> Result<Channel, Misplaced> {
        match (event, before) {
            (ChannelEvent::ChannelAdded { name, settings }, None) => Ok(Channel {
                name: name.clone(),
                settings: settings.clone(),
                created_at: at,
                updated_at: at,
                is_removed: false,
            }),
            (ChannelEvent::ChannelAdded { .. }, Some(_)) => Err(Misplaced { event: "ChannelAdded" }),
            (ChannelEvent::ChannelChanged { settings }, Some(channel)) => {
                Ok(Channel { settings: settings.clone(), updated_at: at, ..channel })
            }
            (ChannelEvent::ChannelRemoved {}, Some(channel)) => {
                Ok(Channel { is_removed: true, updated_at: at, ..channel })
            }
            (_, None) => Err(Misplaced { event: "an event before ChannelAdded" }),
        }
    }

    fn is_over(&self) -> bool {
        self.is_removed
    }
}
