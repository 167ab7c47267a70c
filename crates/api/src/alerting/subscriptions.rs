//! Subscriptions: who hears of what by webhook.
//!
//! Invariant: a signing secret is answered once, by the request that made it.

use ordo_model::Timestamp;
use ordo_model::credential::covered_address;
use ordo_model::subscription::{EventPattern, Subscription, SubscriptionStatus, SubscriptionTerms};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::hooks::given;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubscription {
    #[schema(format = "uri", pattern = "^https?://")]
    pub url: String,
    /// Which events it wants; a message is sent if one of them fits.
    pub events: Vec<EventPattern>,
    /// Only what concerns jobs with such a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<EventPattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `whsec_…`; one is made when it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl NewSubscription {
    pub fn split(self) -> (SubscriptionTerms, Option<String>) {
        let NewSubscription { url, events, label, description, secret } = self;
        (SubscriptionTerms { url, description, events, label }, secret)
    }
}

/// Fields that are left out stay as they are; null takes away what may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SubscriptionPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = "uri", pattern = "^https?://")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventPattern>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EventPattern>)]
    pub label: Option<Option<EventPattern>>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub description: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// `whsec_…`, or `new` for one that is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

impl SubscriptionPatch {
    pub fn laid_over(&self, before: &SubscriptionTerms) -> SubscriptionTerms {
        SubscriptionTerms {
            url: self.url.clone().unwrap_or_else(|| before.url.clone()),
            description: self.description.clone().unwrap_or_else(|| before.description.clone()),
            events: self.events.clone().unwrap_or_else(|| before.events.clone()),
            label: self.label.clone().unwrap_or_else(|| before.label.clone()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Subscription)]
pub struct SubscriptionView {
    pub id: Uuid,
    /// For those who are no admins without user, path and query: they may be a key.
    pub url: String,
    #[schema(required)]
    pub description: Option<String>,
    pub events: Vec<EventPattern>,
    #[schema(required)]
    pub label: Option<EventPattern>,
    pub state: SubscriptionState,
    /// Why it is disabled.
    #[schema(required)]
    pub reason: Option<String>,
    /// Until then the secret before signs too.
    #[schema(required)]
    pub previous_secret_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Only in the answer to the request that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionState {
    Enabled,
    Disabled,
    Removed,
}

impl SubscriptionView {
    /// As somebody sees it who may write to the address, or may not.
    pub fn of(id: Uuid, subscription: &Subscription, may_use: bool) -> SubscriptionView {
        let (state, reason) = match &subscription.state {
            SubscriptionStatus::Enabled => (SubscriptionState::Enabled, None),
            SubscriptionStatus::Disabled { reason } => (SubscriptionState::Disabled, Some(reason.clone())),
            SubscriptionStatus::Removed => (SubscriptionState::Removed, None),
        };
        SubscriptionView {
            id,
            url: match may_use {
                true => subscription.terms.url.clone(),
                false => covered_address(&subscription.terms.url),
            },
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

    /// The one answer that contains the secret.
    #[must_use]
    pub fn with_secret(self, secret: String) -> SubscriptionView {
        SubscriptionView { secret: Some(secret), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionRemoved {
    pub id: Uuid,
    pub removed: bool,
}

/// How one message went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubscriptionTest {
    pub delivered: bool,
    /// What the receiver answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
