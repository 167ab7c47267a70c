//! A subscription as clients see it.

use ordo_engine::Versioned;
use ordo_model::Timestamp;
use ordo_model::subscription::{Pattern, State, Subscription};
use serde::Serialize;
use uuid::Uuid;

#[derive(Debug, Serialize)]
pub(super) struct SubscriptionJson {
    id: Uuid,
    url: String,
    description: Option<String>,
    events: Vec<Pattern>,
    label: Option<Pattern>,
    state: &'static str,
    /// Why it is disabled.
    reason: Option<String>,
    /// Until then the secret before signs too.
    previous_secret_until: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl SubscriptionJson {
    pub(super) fn of(kept: &Versioned<Subscription>) -> SubscriptionJson {
        let subscription = &kept.value;
        let (state, reason) = match &subscription.state {
            State::Enabled => ("enabled", None),
            State::Disabled { reason } => ("disabled", Some(reason.clone())),
            State::Removed => ("removed", None),
        };
        SubscriptionJson {
            id: kept.id,
            url: subscription.terms.url.clone(),
            description: subscription.terms.description.clone(),
            events: subscription.terms.events.clone(),
            label: subscription.terms.label.clone(),
            state,
            reason,
            previous_secret_until: subscription.previous.as_ref().map(|previous| previous.until),
            created_at: subscription.created_at,
            updated_at: subscription.updated_at,
            secret: None,
        }
    }

    /// The one answer that tells the secret.
    pub(super) fn with_secret(self, secret: String) -> SubscriptionJson {
        SubscriptionJson { secret: Some(secret), ..self }
    }
}
