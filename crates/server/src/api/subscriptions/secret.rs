//! The signing secrets of subscriptions, each under a name of its own in the store of secrets.

use ordo_adapters::webhook::signing::SigningKey;
use ordo_api::Code;
use ordo_engine::Versioned;
use ordo_engine::secrets::SecretText;
use ordo_model::secret::Secret;
use ordo_model::subscription::Subscription;
use uuid::Uuid;

use crate::app::App;
use crate::http::problem::Problem;

pub(super) struct StoredSecret {
    pub(super) name: String,
    pub(super) value: String,
}

/// Keeps the secret that was given, or a new one. `number` sets it apart from those before.
pub(super) async fn keep(app: &App, id: Uuid, number: u64, given: Option<String>) -> Result<StoredSecret, Problem> {
    let invalid = |why: String| Problem::field(Code::InvalidSubscription, "secret", why);
    let key = match given {
        Some(text) => SigningKey::parse(&text).map_err(|error| invalid(error.to_string()))?,
        None => SigningKey::random().map_err(|error| Problem::new(Code::Internal, format!("no chance: {error}")))?,
    };
    let made = StoredSecret { name: Secret::of_subscription(id, number), value: key.reveal() };
    app.engine.secrets().put(&made.name, &SecretText::new(made.value.clone())).await?;
    Ok(made)
}

/// The secrets of a subscription that is gone. One that stays behind does no harm, and is logged.
pub(super) async fn forget(app: &App, subscription: &Versioned<Subscription>) {
    let previous = subscription.previous.as_ref().map(|previous| &previous.secret);
    for name in std::iter::once(&subscription.secret).chain(previous) {
        if let Err(error) = app.engine.secrets().remove(name).await {
            tracing::warn!(secret = name, %error, "the secret of a removed subscription stays behind");
        }
    }
}
