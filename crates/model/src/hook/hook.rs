//! A hook: an address that others call, who may call it, and which calls pass.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::filter::Filter;
use super::verify::{Scheme, Verify};
use crate::access::secret::Secret;
use crate::id::{EntityId, Kind};
use crate::limits::{FILTER_MAX_BYTES, HOOK_MAX_BYTES, JSON_DEPTH_MAX, PAYLOAD_DEFAULT_BYTES, PAYLOAD_MAX_BYTES};
use crate::object::{Misplaced, Object};
use crate::strict::is_deeper_than;
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

/// How a hook verifies and filters its callers.
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

/// A change of the terms: what is left out stays, and nothing inside takes away.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermsPatch {
    pub verify: Option<Option<Verify>>,
    pub filter: Option<Option<Filter>>,
    pub max_bytes: Option<u64>,
}

impl HookTerms {
    fn patched(&self, patch: TermsPatch) -> HookTerms {
        HookTerms {
            verify: patch.verify.unwrap_or_else(|| self.verify.clone()),
            filter: patch.filter.unwrap_or_else(|| self.filter.clone()),
            max_bytes: patch.max_bytes.unwrap_or(self.max_bytes),
        }
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
        Secret::of_hook(slug)
    }
}

#[derive(Debug, Clone)]
pub enum HookCommand {
    Add {
        slug: String,
        terms: HookTerms,
    },
    /// Laid over the terms as they are when it is decided, not as somebody saw them.
    Update {
        patch: TermsPatch,
    },
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
    /// From now on whoever knows the address may call it.
    HookVerificationDropped {},
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
            (HookCommand::Update { patch }, Some(hook)) => updated(&hook.terms, patch),
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
            (HookEvent::HookVerificationDropped {}, Some(hook)) => {
                Ok(Hook { terms: HookTerms { verify: None, ..hook.terms }, updated_at: at, ..hook })
            }
            (HookEvent::HookVerificationDropped {}, None) => Err(Misplaced { event: "HookVerificationDropped" }),
            (HookEvent::HookRemoved {}, Some(hook)) => Ok(Hook { removed: true, updated_at: at, ..hook }),
            (HookEvent::HookRemoved {}, None) => Err(Misplaced { event: "HookRemoved" }),
        }
    }

    fn is_over(&self) -> bool {
        self.removed
    }
}

/// Only the events that change something. Dropping the verification is one of its own: people look for it.
fn updated(before: &HookTerms, patch: TermsPatch) -> Result<Vec<HookEvent>, HookRefusal> {
    let terms = before.patched(patch);
    check_terms(&terms)?;
    let is_dropped = before.verify.is_some() && terms.verify.is_none();
    let dropped = is_dropped.then_some(HookEvent::HookVerificationDropped {});
    let rest = HookTerms { verify: if is_dropped { None } else { before.verify.clone() }, ..before.clone() };
    let changed = (rest != terms).then_some(HookEvent::HookUpdated { terms });
    Ok(dropped.into_iter().chain(changed).collect())
}

/// Letters, digits, '.', '_' and '-', so that it stands in an address as it is.
pub fn is_slug(slug: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=HOOK_MAX_BYTES).contains(&slug.len()) && slug.bytes().all(plain) && !slug.starts_with('.')
}

fn check_slug(slug: &str) -> Result<(), HookRefusal> {
    if is_slug(slug) {
        return Ok(());
    }
    let message = format!("write 1 to {HOOK_MAX_BYTES} letters, digits, '.', '_' or '-', not beginning with '.'");
    Err(HookRefusal::Invalid { field: "slug", message })
}

fn check_terms(terms: &HookTerms) -> Result<(), HookRefusal> {
    if !(1..=PAYLOAD_MAX_BYTES).contains(&terms.max_bytes) {
        let message = format!("must be between 1 and {PAYLOAD_MAX_BYTES}");
        return Err(HookRefusal::Invalid { field: "max_bytes", message });
    }
    terms.filter.as_ref().map_or(Ok(()), check_filter)?;
    match terms.verify.as_ref().map(|verify| &verify.scheme) {
        Some(Scheme::Hmac { header: Some(header) }) if !is_header(header) => {
            let message = "must be the name of a header: letters, digits and '-'".to_owned();
            Err(HookRefusal::Invalid { field: "verify.header", message })
        }
        _ => Ok(()),
    }
}

fn check_filter(filter: &Filter) -> Result<(), HookRefusal> {
    let refuse = |message: String| Err(HookRefusal::Invalid { field: "filter", message });
    let form = Value::Object(filter.clone().into());
    if is_deeper_than(&form, JSON_DEPTH_MAX) {
        return refuse(format!("has more than {JSON_DEPTH_MAX} values inside each other"));
    }
    match form.to_string().len() {
        bytes if bytes > FILTER_MAX_BYTES => refuse(format!("is larger than {FILTER_MAX_BYTES} bytes")),
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

    fn signed(header: &str) -> HookCommand {
        HookCommand::Update { patch: TermsPatch { verify: Some(hmac(header).verify), ..TermsPatch::default() } }
    }

    #[test]
    fn what_a_change_leaves_out_stays_and_dropping_the_verification_is_an_event_of_its_own() {
        let (id, before) = (Hook::id("push").id, play(vec![add("push", hmac("X-Sig"))]).unwrap().unwrap());
        let decide = |patch| Hook::decide(id, Some(&before), HookCommand::Update { patch }, at(9)).unwrap();
        let smaller = HookTerms { max_bytes: 10, ..before.terms.clone() };
        assert_eq!(decide(TermsPatch::default()), []);
        let patch = TermsPatch { max_bytes: Some(10), ..TermsPatch::default() };
        assert_eq!(decide(patch), [HookEvent::HookUpdated { terms: smaller.clone() }]);
        let patch = TermsPatch { verify: Some(None), ..TermsPatch::default() };
        assert_eq!(decide(patch), [HookEvent::HookVerificationDropped {}]);
        let patch = TermsPatch { verify: Some(None), max_bytes: Some(10), ..TermsPatch::default() };
        let terms = HookTerms { verify: None, ..smaller };
        assert_eq!(decide(patch), [HookEvent::HookVerificationDropped {}, HookEvent::HookUpdated { terms }]);
        let open = play(vec![
            add("push", hmac("X-Sig")),
            HookCommand::Update { patch: TermsPatch { verify: Some(None), ..TermsPatch::default() } },
        ]);
        assert_eq!(open.unwrap().unwrap().terms.verify, None);
    }

    #[test]
    fn a_hook_is_added_once_changed_and_removed() {
        let hook = play(vec![add("push", HookTerms::default()), signed("X-Sig")]);
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
