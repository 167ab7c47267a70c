//! A hook: an address that others call, who may call it, and which calls pass.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::filter::Filter;
use super::verify::{Scheme, Verify};
use crate::id::{EntityId, Kind};
use crate::limits::{HOOK_MAX_BYTES, PAYLOAD_DEFAULT_BYTES, PAYLOAD_MAX_BYTES};
use crate::object::{Misplaced, Object};
use crate::text::is_default;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hook {
    pub slug: String,
    #[serde(flatten)]
    pub terms: HookTerms,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "is_default")]
    pub removed: bool,
}

/// What a hook asks of those who call it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HookTerms {
    /// None: whoever knows the address may call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    pub max_bytes: u64,
}

impl Default for HookTerms {
    fn default() -> HookTerms {
        HookTerms { verify: None, filter: None, max_bytes: PAYLOAD_DEFAULT_BYTES }
    }
}

impl Hook {
    /// The one hook with this slug.
    pub fn id(slug: &str) -> EntityId {
        EntityId::named(Kind::Hook, slug)
    }

    pub fn scheme(&self) -> Option<&Scheme> {
        self.terms.verify.as_ref().map(|verify| &verify.scheme)
    }

    /// The name under which a secret that was given with the hook itself is kept.
    pub fn own_secret(slug: &str) -> String {
        format!("hook-{slug}")
    }
}

#[derive(Debug, Clone)]
pub enum HookCommand {
    Add { slug: String, terms: HookTerms },
    Update { terms: HookTerms },
    Remove,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum HookEvent {
    HookAdded {
        slug: String,
        #[serde(flatten)]
        terms: HookTerms,
    },
    HookUpdated {
        #[serde(flatten)]
        terms: HookTerms,
    },
    HookRemoved {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookRefusal {
    #[error("there is no such hook")]
    NoSuchHook,
    #[error("the hook {slug} exists already: remove it first, or change it")]
    Exists { slug: String },
    #[error("{field}: {message}")]
    Invalid { field: &'static str, message: String },
}

impl Object for Hook {
    const KIND: Kind = Kind::Hook;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = HookCommand;
    type Event = HookEvent;
    type Refusal = HookRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Hook>,
        command: HookCommand,
        _now: Timestamp,
    ) -> Result<Vec<HookEvent>, HookRefusal> {
        match (command, before) {
            (HookCommand::Add { slug, .. }, Some(_)) => Err(HookRefusal::Exists { slug }),
            (HookCommand::Add { slug, terms }, None) => {
                check_slug(&slug)?;
                check_terms(&terms)?;
                Ok(vec![HookEvent::HookAdded { slug, terms }])
            }
            (HookCommand::Update { .. } | HookCommand::Remove, None) => Err(HookRefusal::NoSuchHook),
            (HookCommand::Update { terms }, Some(hook)) if hook.terms == terms => Ok(Vec::new()),
            (HookCommand::Update { terms }, Some(_)) => {
                check_terms(&terms)?;
                Ok(vec![HookEvent::HookUpdated { terms }])
            }
            (HookCommand::Remove, Some(_)) => Ok(vec![HookEvent::HookRemoved {}]),
        }
    }

    fn apply(_id: Uuid, before: Option<Hook>, event: &HookEvent, at: Timestamp) -> Result<Hook, Misplaced> {
        match (event, before) {
            (HookEvent::HookAdded { slug, terms }, None) => {
                Ok(Hook { slug: slug.clone(), terms: terms.clone(), created_at: at, updated_at: at, removed: false })
            }
            (HookEvent::HookAdded { .. }, Some(_)) => Err(Misplaced { event: "HookAdded" }),
            (HookEvent::HookUpdated { terms }, Some(hook)) => Ok(Hook { terms: terms.clone(), updated_at: at, ..hook }),
            (HookEvent::HookUpdated { .. }, None) => Err(Misplaced { event: "HookUpdated" }),
            (HookEvent::HookRemoved {}, Some(hook)) => Ok(Hook { removed: true, updated_at: at, ..hook }),
            (HookEvent::HookRemoved {}, None) => Err(Misplaced { event: "HookRemoved" }),
        }
    }

    fn is_over(&self) -> bool {
        self.removed
    }
}

/// Notifications, digits, '.', '_' and '-', so that it stands in an address as it is.
pub fn is_slug(slug: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=HOOK_MAX_BYTES).contains(&slug.len()) && slug.bytes().all(plain) && !slug.starts_with('.')
}

fn check_slug(slug: &str) -> Result<(), HookRefusal> {
    if is_slug(slug) {
        return Ok(());
    }
    let message = format!("write 1 to {HOOK_MAX_BYTES} notifications, digits, '.', '_' or '-', not beginning with '.'");
    Err(HookRefusal::Invalid { field: "slug", message })
}

fn check_terms(terms: &HookTerms) -> Result<(), HookRefusal> {
    if !(1..=PAYLOAD_MAX_BYTES).contains(&terms.max_bytes) {
        let message = format!("must be between 1 and {PAYLOAD_MAX_BYTES}");
        return Err(HookRefusal::Invalid { field: "max_bytes", message });
    }
    match terms.verify.as_ref().map(|verify| &verify.scheme) {
        Some(Scheme::Hmac { header: Some(header) }) if !is_header(header) => {
            let message = "must be the name of a header: notifications, digits and '-'".to_owned();
            Err(HookRefusal::Invalid { field: "verify.header", message })
        }
        _ => Ok(()),
    }
}

fn is_header(name: &str) -> bool {
    const HEADER_MAX_BYTES: usize = 100;
    (1..=HEADER_MAX_BYTES).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    fn play(commands: Vec<HookCommand>) -> Result<Option<Hook>, HookRefusal> {
        let (id, mut state) = (Hook::id("push").id, None);
        for (number, command) in commands.into_iter().enumerate() {
            let now = at(number as i64);
            for event in Hook::decide(id, state.as_ref(), command, now)? {
                let stored = serde_json::to_string(&event).unwrap();
                assert_eq!(serde_json::from_str::<HookEvent>(&stored).unwrap(), event, "{stored}");
                state = Some(Hook::apply(id, state, &event, now).unwrap());
            }
        }
        Ok(state)
    }

    fn add(slug: &str, terms: HookTerms) -> HookCommand {
        HookCommand::Add { slug: slug.into(), terms }
    }

    fn hmac(header: &str) -> HookTerms {
        let scheme = Scheme::Hmac { header: Some(header.into()) };
        HookTerms { verify: Some(Verify { scheme, secret: "hook-push".into() }), ..HookTerms::default() }
    }

    #[test]
    fn a_hook_is_added_once_changed_and_removed() {
        let hook = play(vec![add("push", HookTerms::default()), HookCommand::Update { terms: hmac("X-Sig") }]);
        let hook = hook.unwrap().unwrap();
        assert_eq!((hook.scheme().unwrap().name(), hook.created_at, hook.updated_at), ("hmac", at(0), at(1)));
        let stored = serde_json::to_string(&hook).unwrap();
        assert_eq!(serde_json::from_str::<Hook>(&stored).unwrap(), hook, "{stored}");
        let twice = play(vec![add("push", HookTerms::default()), add("push", HookTerms::default())]);
        assert_eq!(twice, Err(HookRefusal::Exists { slug: "push".into() }));
        let gone = play(vec![add("push", HookTerms::default()), HookCommand::Remove]).unwrap().unwrap();
        assert!(gone.is_over());
        assert_eq!(play(vec![HookCommand::Remove]), Err(HookRefusal::NoSuchHook));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        for slug in ["", "a b", "ä", "a/b", ".hidden", &"x".repeat(HOOK_MAX_BYTES + 1)] {
            let refused = play(vec![add(slug, HookTerms::default())]);
            assert!(matches!(refused, Err(HookRefusal::Invalid { field: "slug", .. })), "{slug:?}");
        }
        for max_bytes in [0, PAYLOAD_MAX_BYTES + 1] {
            let refused = play(vec![add("push", HookTerms { max_bytes, ..HookTerms::default() })]);
            assert!(matches!(refused, Err(HookRefusal::Invalid { field: "max_bytes", .. })), "{max_bytes}");
        }
        let refused = play(vec![add("push", hmac("X Sig"))]);
        assert!(matches!(refused, Err(HookRefusal::Invalid { field: "verify.header", .. })));
    }
}
