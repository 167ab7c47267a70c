//! What clients write about a subscription.

use ordo_model::subscription::{Pattern, Terms};
use serde::{Deserialize, Deserializer};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewForm {
    url: String,
    events: Vec<Pattern>,
    #[serde(default)]
    label: Option<Pattern>,
    #[serde(default)]
    description: Option<String>,
    /// `whsec_…`; one is made when it is left out.
    #[serde(default)]
    secret: Option<String>,
}

impl NewForm {
    pub(super) fn split(self) -> (Terms, Option<String>) {
        let NewForm { url, events, label, description, secret } = self;
        (Terms { url, description, events, label }, secret)
    }
}

/// Fields that are left out stay as they are; null takes away what may be absent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ChangeForm {
    pub(super) url: Option<String>,
    pub(super) events: Option<Vec<Pattern>>,
    #[serde(deserialize_with = "given")]
    pub(super) label: Option<Option<Pattern>>,
    #[serde(deserialize_with = "given")]
    pub(super) description: Option<Option<String>>,
    pub(super) enabled: Option<bool>,
    /// `whsec_…`, or `new` for one that is made.
    pub(super) secret: Option<String>,
}

/// Tells a field that is null from one that is not there.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

impl ChangeForm {
    pub(super) fn laid_over(&self, before: &Terms) -> Terms {
        Terms {
            url: self.url.clone().unwrap_or_else(|| before.url.clone()),
            description: self.description.clone().unwrap_or_else(|| before.description.clone()),
            events: self.events.clone().unwrap_or_else(|| before.events.clone()),
            label: self.label.clone().unwrap_or_else(|| before.label.clone()),
        }
    }
}
