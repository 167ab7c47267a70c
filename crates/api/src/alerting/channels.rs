//! Channels: what messages go out through. Those of the configuration are shown, those of the store are made here.
//!
//! Invariant: a credential goes in and never comes out; what is answered is the name of the secret that holds it. Only a
//! signing key that was made here is answered, once.

use ordo_model::Timestamp;
use ordo_model::channel::{Channel, ChannelSettings, ChannelTarget};
use ordo_model::credential::covered_address;
use ordo_model::job::Invalid;
use ordo_model::subscription::EventPattern;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::alerting::escalations::DefinedIn;
use crate::hooks::{GivenSecret, SecretReference, given};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    /// Signed messages to a URL, by the Standard Webhooks. The secret is the signing key: `whsec_…`.
    Webhook,
    /// Cards in a channel of Slack. The secret is the token of the app.
    Slack,
    /// Lines in a channel of Slack. The secret is the address that Slack gave out for it.
    SlackWebhook,
    /// Mail. The secret is the password of the user in `server`.
    Email,
}

impl ChannelKind {
    pub const ALL: [ChannelKind; 4] =
        [ChannelKind::Webhook, ChannelKind::Slack, ChannelKind::SlackWebhook, ChannelKind::Email];

    pub const fn name(self) -> &'static str {
        match self {
            ChannelKind::Webhook => "webhook",
            ChannelKind::Slack => "slack",
            ChannelKind::SlackWebhook => "slack_webhook",
            ChannelKind::Email => "email",
        }
    }

    const fn of(target: &ChannelTarget) -> ChannelKind {
        match target {
            ChannelTarget::Webhook { .. } => ChannelKind::Webhook,
            ChannelTarget::Slack { .. } => ChannelKind::Slack,
            ChannelTarget::SlackWebhook { .. } => ChannelKind::SlackWebhook,
            ChannelTarget::Email { .. } => ChannelKind::Email,
        }
    }
}

/// A channel of any kind. Fields that belong to another kind are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChannel {
    /// Letters, digits, '.', '_' and '-'; steps of escalation chains name it in `via`.
    pub name: String,
    pub kind: ChannelKind,
    /// For `webhook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// For `slack`: `#ops`, or the id of the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// For `email`: `smtps://user@mail.example.com`, or `smtp://…?tls=required` for STARTTLS; without the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// For `email`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// For `email`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<String>>,
    /// Which events go out through it: `incident.*` when left out; none: only what escalation chains send through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventPattern>>,
    /// Only jobs with such a label, and incidents with such an identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<EventPattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// For `webhook` one is made when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<GivenSecret>,
}

/// Fields that are left out stay as they are; null takes away what may be absent. The kind stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventPattern>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EventPattern>)]
    pub label: Option<Option<EventPattern>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub description: Option<Option<String>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<GivenSecret>)]
    pub secret: Option<Option<GivenSecret>>,
}

/// What only some kinds have.
#[derive(Debug, Clone, Default)]
struct TargetFields {
    url: Option<String>,
    channel: Option<String>,
    server: Option<String>,
    from: Option<String>,
    to: Option<Vec<String>>,
}

impl TargetFields {
    fn of(target: &ChannelTarget) -> TargetFields {
        match target.clone() {
            ChannelTarget::Webhook { url, .. } => TargetFields { url: Some(url), ..TargetFields::default() },
            ChannelTarget::Slack { channel, .. } => TargetFields { channel: Some(channel), ..TargetFields::default() },
            ChannelTarget::SlackWebhook { .. } => TargetFields::default(),
            ChannelTarget::Email { server, from, to, .. } => {
                TargetFields { server: Some(server), from: Some(from), to: Some(to), ..TargetFields::default() }
            }
        }
    }

    /// What was given and does not belong to this kind.
    fn foreign(&self, kind: ChannelKind) -> Option<&'static str> {
        let is_mail = kind == ChannelKind::Email;
        let fields = [
            ("url", self.url.is_some(), kind == ChannelKind::Webhook),
            ("channel", self.channel.is_some(), kind == ChannelKind::Slack),
            ("server", self.server.is_some(), is_mail),
            ("from", self.from.is_some(), is_mail),
            ("to", self.to.is_some(), is_mail),
        ];
        fields.into_iter().find(|(_, is_given, belongs)| *is_given && !belongs).map(|(name, ..)| name)
    }

    fn target(self, kind: ChannelKind, secret: Option<String>) -> Result<ChannelTarget, Invalid> {
        if let Some(field) = self.foreign(kind) {
            return Err(Invalid::new(field, format!("a channel of the kind {} has none", kind.name())));
        }
        let TargetFields { url, channel, server, from, to } = self;
        Ok(match kind {
            ChannelKind::Webhook => {
                ChannelTarget::Webhook { url: needed("url", url)?, secret: needed("secret", secret)? }
            }
            ChannelKind::Slack => {
                ChannelTarget::Slack { channel: needed("channel", channel)?, secret: needed("secret", secret)? }
            }
            ChannelKind::SlackWebhook => ChannelTarget::SlackWebhook { secret: needed("secret", secret)? },
            ChannelKind::Email => ChannelTarget::Email {
                server: needed("server", server)?,
                from: needed("from", from)?,
                to: needed("to", to)?,
                secret,
            },
        })
    }
}

fn needed<T>(field: &str, value: Option<T>) -> Result<T, Invalid> {
    value.ok_or_else(|| Invalid::new(field, "must be given for a channel of this kind"))
}

impl NewChannel {
    /// The settings, with the secret under this name.
    pub fn settings(&self, secret: Option<String>) -> Result<ChannelSettings, Invalid> {
        let fields = TargetFields {
            url: self.url.clone(),
            channel: self.channel.clone(),
            server: self.server.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
        };
        Ok(ChannelSettings {
            target: fields.target(self.kind, secret)?,
            events: self.events.clone().unwrap_or_else(default_events),
            label: self.label.clone(),
            description: self.description.clone(),
        })
    }
}

fn default_events() -> Vec<EventPattern> {
    "incident.*".parse().into_iter().collect()
}

impl ChannelPatch {
    /// The settings before with the changes, and the secret under this name.
    pub fn laid_over(&self, before: &ChannelSettings, secret: Option<String>) -> Result<ChannelSettings, Invalid> {
        let old = TargetFields::of(&before.target);
        let fields = TargetFields {
            url: self.url.clone().or(old.url),
            channel: self.channel.clone().or(old.channel),
            server: self.server.clone().or(old.server),
            from: self.from.clone().or(old.from),
            to: self.to.clone().or(old.to),
        };
        Ok(ChannelSettings {
            target: fields.target(ChannelKind::of(&before.target), secret)?,
            events: self.events.clone().unwrap_or_else(|| before.events.clone()),
            label: self.label.clone().unwrap_or_else(|| before.label.clone()),
            description: self.description.clone().unwrap_or_else(|| before.description.clone()),
        })
    }
}

/// A channel. What its kind does not have is null, and so is what only the configuration knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = NotificationChannel)]
pub struct ChannelView {
    pub name: String,
    pub defined_in: DefinedIn,
    /// The section of the configuration that it is set up in.
    #[schema(required)]
    pub section: Option<String>,
    /// Whether messages go out through it: not when the configuration has a channel of the same name.
    pub in_force: bool,
    #[schema(required)]
    pub kind: Option<ChannelKind>,
    /// For those who are no admins without user, path and query: they may be a key.
    #[schema(required)]
    pub url: Option<String>,
    #[schema(required)]
    pub channel: Option<String>,
    #[schema(required)]
    pub server: Option<String>,
    #[schema(required)]
    pub from: Option<String>,
    #[schema(required)]
    pub to: Option<Vec<String>>,
    #[schema(required)]
    pub secret: Option<SecretReference>,
    #[schema(required)]
    pub events: Option<Vec<EventPattern>>,
    #[schema(required)]
    pub label: Option<EventPattern>,
    #[schema(required)]
    pub description: Option<String>,
    #[schema(required)]
    pub created_at: Option<Timestamp>,
    #[schema(required)]
    pub updated_at: Option<Timestamp>,
    /// Only in the answer to the request that had it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key: Option<String>,
}

impl ChannelView {
    pub fn configured(name: String, section: String) -> ChannelView {
        ChannelView {
            name,
            defined_in: DefinedIn::Configuration,
            section: Some(section),
            in_force: true,
            kind: None,
            url: None,
            channel: None,
            server: None,
            from: None,
            to: None,
            secret: None,
            events: None,
            label: None,
            description: None,
            created_at: None,
            updated_at: None,
            signing_key: None,
        }
    }

    /// As somebody sees it who may write to its address, or may not.
    pub fn stored(channel: &Channel, in_force: bool, may_use: bool) -> ChannelView {
        let settings = &channel.settings;
        let fields = TargetFields::of(&settings.target);
        ChannelView {
            name: channel.name.clone(),
            defined_in: DefinedIn::Store,
            section: None,
            in_force,
            kind: Some(ChannelKind::of(&settings.target)),
            url: fields.url.map(|url| if may_use { url } else { covered_address(&url) }),
            channel: fields.channel,
            server: fields.server.map(|server| if may_use { server } else { covered_address(&server) }),
            from: fields.from,
            to: fields.to,
            secret: settings.target.secret().map(|secret| SecretReference { secret: secret.clone() }),
            events: Some(settings.events.clone()),
            label: settings.label.clone(),
            description: settings.description.clone(),
            created_at: Some(channel.created_at),
            updated_at: Some(channel.updated_at),
            signing_key: None,
        }
    }

    /// The one answer that contains the key.
    #[must_use]
    pub fn with_signing_key(self, key: Option<String>) -> ChannelView {
        ChannelView { signing_key: key, ..self }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelRemoved {
    pub name: String,
    pub removed: bool,
    /// How many notifications waited for it, and are dead-lettered now.
    pub given_up: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChannelTest {
    pub delivered: bool,
    /// What the receiver answered, in a word.
    #[schema(required)]
    pub note: Option<String>,
    #[schema(required)]
    pub error: Option<String>,
}
