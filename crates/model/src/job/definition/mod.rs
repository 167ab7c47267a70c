//! The job as its user defines it, with the defaults filled in.
//!
//! Invariant: a definition inside a job has been validated; nothing later needs to doubt it.

pub(super) mod diff;
pub(super) mod key;
pub(super) mod packed;
pub(super) mod policy;
pub(super) mod reaction;
pub(super) mod tags;
pub(super) mod trigger;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::after::After;
use crate::limits::{
    AT_GRACE, EXPIRE_MAX, GROUP_MAX_BYTES, HOOK_MAX_BYTES, JSON_DEPTH_MAX, LABEL_MAX_BYTES, NOTE_MAX_BYTES,
    PRIORITY_DEFAULT, PRIORITY_MAX, TIMEOUT_DEFAULT, TIMEOUT_MAX, TOOL_INPUT_MAX_BYTES, TOOL_NAME_MAX_BYTES,
};
use crate::schedule::{Rule, Schedule, ScheduleError};
use crate::strict::{self, Misread, is_deeper_than};
use crate::text::{is_deceptive, is_of_prose};
use crate::time::{Millis, Timestamp};
use key::{ConcurrencyKey, RateLimit, UniqueKey};
use packed::Packed;
use policy::{Block, Misfire, Retention, Retry, Routing};
use reaction::Reaction;
use trigger::Trigger;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where people read what to do about the job: its runbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = "uri", pattern = "^https?://", max_length = 1000))]
    pub description_url: Option<String>,
    /// By which it is found together with others: `team:billing`, `nightly`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    pub tool_name: String,
    #[serde(default = "empty_object")]
    pub tool_input: Value,
    pub trigger: Trigger,
    #[serde(default)]
    pub misfire: Misfire,
    #[serde(default)]
    pub block: Block,
    #[serde(default)]
    pub routing: Routing,
    #[serde(default = "group_default")]
    pub group: String,
    #[serde(default = "priority_default")]
    pub priority: u8,
    #[serde(default = "timeout_default")]
    pub timeout: Millis,
    #[serde(default)]
    pub retry: Retry,
    /// Whether running it twice does no harm: only then is an attempt of unknown effect tried again.
    #[serde(default)]
    pub idempotent: bool,
    #[serde(default)]
    pub retention: Retention,
    /// What to do besides when a run failed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<Reaction>,
    /// What to do when an occurrence did not happen when it should have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_missed: Option<Reaction>,
    /// A run that found no executor in this time is given up; without it the run waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_after: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_key: Option<ConcurrencyKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_key: Option<UniqueKey>,
    /// Runs when other jobs have ended, with what came of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// Kept from the first time it is asked for: a job is written with every transition, its definition changes rarely.
    #[serde(skip)]
    packed: Packed,
}

fn empty_object() -> Value {
    Value::Object(serde_json::Map::new())
}
fn group_default() -> String {
    Definition::DEFAULT_GROUP.to_owned()
}
fn priority_default() -> u8 {
    PRIORITY_DEFAULT
}
fn timeout_default() -> Millis {
    TIMEOUT_DEFAULT
}

/// Why a definition is refused: the field and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Invalid {
    pub field: String,
    pub message: String,
}

impl Invalid {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Invalid {
        Invalid { field: field.into(), message: message.into() }
    }
}

impl From<Misread> for Invalid {
    fn from(misread: Misread) -> Invalid {
        let field = misread.field();
        Invalid::new(if field.is_empty() { "job".to_owned() } else { field }, misread.message)
    }
}

impl From<ScheduleError> for Invalid {
    fn from(error: ScheduleError) -> Invalid {
        Invalid::new(format!("trigger.{}", error.field), error.message)
    }
}

impl Definition {
    pub const DEFAULT_GROUP: &'static str = "default";

    /// Checks the whole definition and fixes what depends on the moment of creation (the anchor of an `every`).
    pub fn prepared(mut self, now: Timestamp) -> Result<Definition, Invalid> {
        self.validate()?;
        if let Trigger::Scheduled(schedule) = &mut self.trigger {
            if schedule.anchor(now) {
                self.packed = Packed::default();
            }
            schedule.validate()?;
            refuse_the_past(schedule, now)?;
        }
        Ok(self)
    }

    /// Checks all that does not depend on a moment: everything but the schedule.
    pub(super) fn validate(&self) -> Result<(), Invalid> {
        self.validate_texts()?;
        // The input is a part of the text.
        match self.written_bytes() {
            Some(bytes) if bytes <= TOOL_INPUT_MAX_BYTES => validate_depth(&self.tool_input)?,
            Some(_) | None => validate_input(&self.tool_input)?,
        }
        self.validate_policies()
    }

    /// This definition with a JSON merge patch (RFC 7396) laid over it. Not yet validated.
    pub fn patched(&self, patch: &serde_json::Map<String, Value>) -> Result<Definition, Invalid> {
        let mut form = serde_json::to_value(self).map_err(|e| Invalid::new("job", e.to_string()))?;
        for (key, change) in patch {
            // A trigger or an input is one decision: it is replaced whole, never mixed from two.
            match (key.as_str(), form.get_mut(key)) {
                ("tool_input", Some(old)) if change.is_null() => *old = empty_object(),
                ("trigger" | "tool_input" | "misfire" | "block" | "after", Some(old)) => *old = change.clone(),
                (_, Some(old)) => merge(old, change),
                (_, None) => form[key] = change.clone(),
            }
        }
        strip_nulls(&mut form);
        Ok(strict::from_value(form)?)
    }

    fn validate_texts(&self) -> Result<(), Invalid> {
        name("label", &self.label, LABEL_MAX_BYTES)?;
        name("tool_name", &self.tool_name, TOOL_NAME_MAX_BYTES)?;
        name("group", &self.group, GROUP_MAX_BYTES)?;
        if let Some(description) = &self.description {
            text("description", description, NOTE_MAX_BYTES)?;
        }
        if let Some(url) = &self.description_url {
            link("description_url", url)?;
        }
        tags::validate(&self.tags)?;
        match &self.trigger {
            Trigger::Webhook { hook } => name("trigger.hook", hook, HOOK_MAX_BYTES),
            Trigger::Scheduled(_) | Trigger::Manual => Ok(()),
        }
    }

    fn validate_policies(&self) -> Result<(), Invalid> {
        self.misfire.validate()?;
        self.block.validate()?;
        self.retry.validate()?;
        self.retention.validate()?;
        self.on_failure.as_ref().map_or(Ok(()), |reaction| reaction.validate("on_failure"))?;
        self.on_missed.as_ref().map_or(Ok(()), |reaction| reaction.validate("on_missed"))?;
        if self.priority > PRIORITY_MAX {
            return Err(Invalid::new("priority", format!("must be between 0 and {PRIORITY_MAX}")));
        }
        if self.timeout < Millis::from_ms(1) || self.timeout > TIMEOUT_MAX {
            return Err(Invalid::new("timeout", format!("must be between 1ms and {TIMEOUT_MAX}")));
        }
        if self.expire_after.is_some_and(|length| length < Millis::from_ms(1) || length > EXPIRE_MAX) {
            return Err(Invalid::new("expire_after", format!("must be between 1ms and {EXPIRE_MAX}")));
        }
        self.concurrency_key.as_ref().map_or(Ok(()), ConcurrencyKey::validate)?;
        self.rate_limit.as_ref().map_or(Ok(()), RateLimit::validate)?;
        self.unique_key.as_ref().map_or(Ok(()), UniqueKey::validate)?;
        self.after.as_ref().map_or(Ok(()), After::validate)
    }

    /// Whether only the dispatcher may say when and where a run begins: a free slot alone is not enough.
    pub fn needs_dispatch(&self) -> bool {
        self.routing == Routing::ShardingBroadcast || self.concurrency_key.is_some() || self.rate_limit.is_some()
    }
}

/// An input is held to the same limit wherever it comes from: a definition or a trigger by hand.
pub(super) fn validate_input(input: &Value) -> Result<(), Invalid> {
    let bytes = serde_json::to_vec(input).map_or(usize::MAX, |bytes| bytes.len());
    if bytes > TOOL_INPUT_MAX_BYTES {
        return Err(Invalid::new("tool_input", format!("is larger than {TOOL_INPUT_MAX_BYTES} bytes")));
    }
    validate_depth(input)
}

/// Otherwise what is stored of it could not be read again.
fn validate_depth(input: &Value) -> Result<(), Invalid> {
    match is_deeper_than(input, JSON_DEPTH_MAX) {
        true => Err(Invalid::new("tool_input", format!("has more than {JSON_DEPTH_MAX} values inside each other"))),
        false => Ok(()),
    }
}

fn refuse_the_past(schedule: &Schedule, now: Timestamp) -> Result<(), Invalid> {
    match schedule.rule {
        Rule::At { at } if at.plus(AT_GRACE) < now => {
            Err(Invalid::new("trigger.at", format!("{at} is more than {AT_GRACE} in the past: give a time to come")))
        }
        Rule::At { .. } | Rule::Every { .. } | Rule::Cron { .. } => match schedule.end {
            Some(end) if end <= now => Err(Invalid::new("trigger.end", "lies in the past: the job would never run")),
            _ => Ok(()),
        },
    }
}

/// An address that a browser may be sent to: nothing but http and https, and no blank in it.
fn link(field: &str, url: &str) -> Result<(), Invalid> {
    text(field, url, NOTE_MAX_BYTES)?;
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    match rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace)) {
        true => Ok(()),
        false => Err(Invalid::new(field, "must be an address: https://wiki.example.com/runbook")),
    }
}

pub(crate) fn text(field: &str, value: &str, max_bytes: usize) -> Result<(), Invalid> {
    if value.trim().is_empty() {
        return Err(Invalid::new(field, "must not be empty"));
    }
    if value.len() > max_bytes {
        return Err(Invalid::new(field, format!("is {} bytes long, at most {max_bytes} are allowed", value.len())));
    }
    check_visible(field, value, is_of_prose)
}

/// The same for what names something: on one line.
pub(crate) fn name(field: &str, value: &str, max_bytes: usize) -> Result<(), Invalid> {
    text(field, value, max_bytes)?;
    check_visible(field, value, |_| false)
}

fn check_visible(field: &str, value: &str, may_stand: impl Fn(char) -> bool) -> Result<(), Invalid> {
    match value.chars().find(|character| is_deceptive(*character) && !may_stand(*character)) {
        None => Ok(()),
        Some(hidden) => {
            let shown = hidden.escape_default();
            Err(Invalid::new(
                field,
                format!("must not contain {shown}: control characters and such that hide or turn text"),
            ))
        }
    }
}

fn merge(old: &mut Value, change: &Value) {
    match (old, change) {
        (Value::Object(old), Value::Object(change)) => {
            for (key, value) in change {
                merge(old.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (old, change) => *old = change.clone(),
    }
}

/// In a merge patch null means "the default".
fn strip_nulls(form: &mut Value) {
    if let Value::Object(fields) = form {
        fields.retain(|key, value| key == "tool_input" || !value.is_null());
        for (key, value) in fields.iter_mut() {
            if key != "tool_input" {
                strip_nulls(value);
            }
        }
    }
}
