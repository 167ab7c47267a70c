//! Keys that runs share: how many of one key run at once, how many start in a time, which come only once.
//!
//! Invariant: a key's value follows from the job and the input alone. A run without the value has the value null, so
//! that a limit cannot be passed by leaving it out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Invalid;
use crate::id::mix;
use crate::limits::{
    KEY_CONCURRENCY_MAX, KEY_POINTER_MAX_BYTES, KEY_VALUE_MAX_BYTES, RATE_LIMIT_MAX, RATE_PER_MAX, UNIQUE_WINDOW_MAX,
};
use crate::text::shortened;
use crate::time::Millis;

/// Where a key's value comes from: `label`, or a JSON pointer (RFC 6901) into the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KeySource {
    Label,
    Input(String),
}

impl TryFrom<String> for KeySource {
    type Error = String;

    fn try_from(text: String) -> Result<KeySource, String> {
        match text.as_str() {
            "label" => Ok(KeySource::Label),
            _ if text.starts_with('/') => Ok(KeySource::Input(text)),
            _ => Err(format!(
                "{text:?} is no key: write \"label\", or a JSON pointer into the input such as \"/tenant\""
            )),
        }
    }
}

impl From<KeySource> for String {
    fn from(source: KeySource) -> String {
        match source {
            KeySource::Label => "label".to_owned(),
            KeySource::Input(pointer) => pointer,
        }
    }
}

impl KeySource {
    /// The key of a run: where it comes from and what it is, so that only like is counted with like.
    pub fn of(&self, label: &str, input: &Value) -> String {
        match self {
            KeySource::Label => format!("label={}", bounded(label.to_owned())),
            KeySource::Input(pointer) => {
                let value = input.pointer(pointer).unwrap_or(&Value::Null);
                format!("{pointer}={}", bounded(value.to_string()))
            }
        }
    }

    fn validate(&self, field: &str) -> Result<(), Invalid> {
        match self {
            KeySource::Input(pointer) if pointer.len() > KEY_POINTER_MAX_BYTES => {
                Err(Invalid::new(field, format!("is longer than {KEY_POINTER_MAX_BYTES} bytes")))
            }
            KeySource::Label | KeySource::Input(_) => Ok(()),
        }
    }
}

fn bounded(text: String) -> String {
    if text.len() <= KEY_VALUE_MAX_BYTES {
        return text;
    }
    let hash = text.bytes().fold(text.len() as u64, |hash, byte| mix(hash ^ u64::from(byte)));
    format!("{}…{hash:016x}", shortened(&text, KEY_VALUE_MAX_BYTES))
}

/// At most `max` runs with the same key execute at once, of whatever jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ConcurrencyKey {
    pub key: KeySource,
    pub max: u32,
}

impl ConcurrencyKey {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        self.key.validate("concurrency_key.key")?;
        match (1..=KEY_CONCURRENCY_MAX).contains(&self.max) {
            true => Ok(()),
            false => Err(Invalid::new("concurrency_key.max", format!("must be between 1 and {KEY_CONCURRENCY_MAX}"))),
        }
    }
}

/// At most `limit` attempts of one key start within any time as long as `per`; jobs count together where key and `per` are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    pub key: KeySource,
    pub limit: u32,
    pub per: Millis,
}

impl RateLimit {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        self.key.validate("rate_limit.key")?;
        if !(1..=RATE_LIMIT_MAX).contains(&self.limit) {
            return Err(Invalid::new("rate_limit.limit", format!("must be between 1 and {RATE_LIMIT_MAX}")));
        }
        match self.per >= Millis::from_ms(1) && self.per <= RATE_PER_MAX {
            true => Ok(()),
            false => Err(Invalid::new("rate_limit.per", format!("must be between 1ms and {RATE_PER_MAX}"))),
        }
    }
}

/// Within `window` there is one job, and for each job one run asked for, with the same key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct UniqueKey {
    pub key: KeySource,
    pub window: Millis,
    #[serde(default)]
    pub on_conflict: OnConflict,
}

/// What becomes of the second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    #[default]
    Refuse,
    /// The caller gets the first one.
    Merge,
}

impl UniqueKey {
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        self.key.validate("unique_key.key")?;
        match self.window >= Millis::from_ms(1) && self.window <= UNIQUE_WINDOW_MAX {
            true => Ok(()),
            false => Err(Invalid::new("unique_key.window", format!("must be between 1ms and {UNIQUE_WINDOW_MAX}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_key_is_the_label_or_a_place_in_the_input() {
        let read = |text: &str| serde_json::from_value::<KeySource>(json!(text));
        assert_eq!(read("label").unwrap().of("nightly", &json!({})), "label=nightly");
        let tenant = read("/tenant/id").unwrap();
        assert_eq!(tenant.of("x", &json!({"tenant": {"id": 7}})), "/tenant/id=7");
        assert_eq!(tenant.of("x", &json!({})), "/tenant/id=null");
        assert!(read("tenant").unwrap_err().to_string().contains("JSON pointer"));
    }

    #[test]
    fn a_long_value_is_shortened_and_stays_distinct() {
        let source = KeySource::Input("/a".into());
        let of = |end: &str| source.of("", &json!({"a": format!("{}{end}", "x".repeat(1_000))}));
        assert_ne!(of("1"), of("2"));
        assert!(of("1").len() < 300);
    }
}
