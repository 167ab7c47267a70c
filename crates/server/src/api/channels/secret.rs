//! The secrets of channels: one that comes with a channel is its own, one that is only named is shared.

use ordo_adapters::webhook::signing::SigningKey;
use ordo_api::Code;
use ordo_api::alerting::channels::ChannelKind;
use ordo_api::hooks::{GivenSecret, SecretReference};
use ordo_engine::Versioned;
use ordo_engine::secrets::{SecretText, SecretsError};
use ordo_model::channel::Channel;
use ordo_model::secret::{Secret, is_shared_name};
use ordo_model::strict::TextOr;

use crate::app::App;
use crate::http::problem::Problem;

/// Under which name a channel finds its secret, and what is to be kept there.
pub(super) struct Asked {
    pub(super) name: String,
    /// None: it must be there already.
    pub(super) value: Option<String>,
    /// It was made here, and nobody has seen it.
    pub(super) is_new: bool,
}

fn wrong(why: impl Into<String>) -> Problem {
    Problem::field(Code::InvalidChannel, "secret", why.into())
}

/// What a new channel brings. A signing key is made where none is given.
pub(super) fn asked(kind: ChannelKind, given: Option<GivenSecret>, channel: &str) -> Result<Option<Asked>, Problem> {
    match (given, kind) {
        (Some(given), _) => named(kind.name(), given, channel),
        (None, ChannelKind::Webhook) => {
            let key = SigningKey::random().map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
            Ok(Some(Asked { name: Secret::of_channel(channel), value: Some(key.reveal()), is_new: true }))
        }
        (None, ChannelKind::Slack | ChannelKind::SlackWebhook | ChannelKind::Email) => Ok(None),
    }
}

pub(super) fn named(kind: &str, given: GivenSecret, channel: &str) -> Result<Option<Asked>, Problem> {
    let own = Secret::of_channel(channel);
    match given {
        GivenSecret(TextOr::Text(value)) if value.trim().is_empty() => Err(wrong("must not be empty")),
        GivenSecret(TextOr::Text(value)) => {
            let value = match kind == ChannelKind::Webhook.name() {
                true => SigningKey::parse(&value).map_err(|error| wrong(error.to_string()))?.reveal(),
                false => value.trim().to_owned(),
            };
            Ok(Some(Asked { name: own, value: Some(value), is_new: false }))
        }
        GivenSecret(TextOr::Object(SecretReference { secret })) if secret != own && !is_shared_name(&secret) => {
            Err(wrong(SecretsError::Unknown { name: secret }.to_string()))
        }
        GivenSecret(TextOr::Object(SecretReference { secret })) => {
            Ok(Some(Asked { name: secret, value: None, is_new: false }))
        }
    }
}

/// Keeps a secret that came along; one that is only named must be there. A key that was made, for the one answer.
pub(super) async fn keep(app: &App, asked: Option<Asked>) -> Result<Option<String>, Problem> {
    let Some(Asked { name, value, is_new }) = asked else { return Ok(None) };
    let secrets = app.engine.secrets();
    match value {
        Some(value) => {
            secrets.put(&name, &SecretText::new(value.clone())).await.map_err(of_secrets)?;
            Ok(is_new.then_some(value))
        }
        None if secrets.reveal(&name).await.map_err(of_secrets)?.is_none() => {
            Err(of_secrets(SecretsError::Unknown { name }))
        }
        None => Ok(None),
    }
}

fn of_secrets(error: SecretsError) -> Problem {
    match &error {
        SecretsError::Length | SecretsError::Unknown { .. } => wrong(error.to_string()),
        SecretsError::Submit(_)
        | SecretsError::Unopened { .. }
        | SecretsError::NoKey
        | SecretsError::Key(_)
        | SecretsError::Random(_) => error.into(),
    }
}

/// The channel's own secret, once the channel does not name it any more. One that stays behind does no harm, and is
/// logged.
pub(super) async fn forget_unused(app: &App, before: &Versioned<Channel>, after: Option<&Channel>) {
    let own = Secret::of_channel(&before.name);
    let uses = |channel: &Channel| channel.settings.target.secret() == Some(&own);
    if !uses(before) || after.is_some_and(uses) {
        return;
    }
    if let Err(error) = app.engine.secrets().remove(&own).await {
        tracing::warn!(secret = own, %error, "the secret of a channel stays behind");
    }
}
