//! A subscription: a URL that wants to hear of some events, in signed messages.
//!
//! Invariant: the secrets themselves are not here, only their names in the store of secrets. While one is being
//! replaced two sign: the new one, and the one before until its time is over.

mod pattern;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use pattern::{EventPattern, NotAPattern};

use crate::id::Kind;
use crate::job::Invalid;
use crate::job::definition::{name, text};
use crate::limits::{
    SUBSCRIPTION_EVENTS_MAX, SUBSCRIPTION_TEXT_MAX_BYTES, SUBSCRIPTION_URL_MAX_BYTES, WEBHOOK_SECRET_OVERLAP,
};
use crate::object::{Misplaced, Object};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    pub terms: SubscriptionTerms,
    pub secret: SecretName,
    /// The secret before, as long as it signs too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Previous>,
    pub state: SubscriptionStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What its owner decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionTerms {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Which events it wants; a message is sent if one of them fits.
    pub events: Vec<EventPattern>,
    /// Only what concerns jobs with such a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<EventPattern>,
}

/// The name of a secret in the store of secrets.
pub type SecretName = String;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Previous {
    pub secret: SecretName,
    /// It signs until just before this.
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SubscriptionStatus {
    Enabled,
    /// Nothing is sent until its owner enables it again.
    Disabled {
        reason: String,
    },
    Removed,
}

#[derive(Debug, Clone)]
pub enum SubscriptionCommand {
    Add {
        terms: SubscriptionTerms,
        secret: SecretName,
    },
    Change {
        terms: SubscriptionTerms,
    },
    /// The secret of this name signs from now on; the one before goes on for WEBHOOK_SECRET_OVERLAP.
    ReplaceSecret {
        secret: SecretName,
    },
    Enable,
    Disable {
        reason: String,
    },
    Remove,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum SubscriptionEvent {
    SubscriptionAdded { terms: SubscriptionTerms, secret: SecretName },
    SubscriptionChanged { terms: SubscriptionTerms },
    SubscriptionSecretReplaced { secret: SecretName, previous_until: Timestamp },
    SubscriptionEnabled {},
    SubscriptionDisabled { reason: String },
    SubscriptionRemoved {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionRefusal {
    #[error("there is no such subscription")]
    NoSuchSubscription,
    #[error("there is such a subscription already")]
    Exists,
    #[error("{field}: {why}")]
    Invalid { field: &'static str, why: String },
}

impl Subscription {
    pub fn is_enabled(&self) -> bool {
        match self.state {
            SubscriptionStatus::Enabled => true,
            SubscriptionStatus::Disabled { .. } | SubscriptionStatus::Removed => false,
        }
    }

    /// Whether it wants to hear of an event of this type that concerns a job with this label, or no job.
    pub fn wants(&self, event: &str, label: Option<&str>) -> bool {
        let fits = |pattern: &EventPattern| label.is_some_and(|label| pattern.fits(label));
        self.is_enabled()
            && self.terms.events.iter().any(|pattern| pattern.fits(event))
            && self.terms.label.as_ref().is_none_or(fits)
    }

    /// The secrets that sign at this moment, the newest first.
    pub fn signing(&self, now: Timestamp) -> Vec<&SecretName> {
        let previous = self.previous.as_ref().filter(|previous| now < previous.until);
        std::iter::once(&self.secret).chain(previous.map(|previous| &previous.secret)).collect()
    }
}

impl SubscriptionTerms {
    fn check(&self) -> Result<(), SubscriptionRefusal> {
        let refuse = |field, why: String| Err(SubscriptionRefusal::Invalid { field, why });
        if !(self.url.starts_with("https://") || self.url.starts_with("http://")) {
            return refuse("url", "write it as https://example.com/hook".to_owned());
        }
        let shown = |field| move |invalid: Invalid| SubscriptionRefusal::Invalid { field, why: invalid.message };
        name("url", &self.url, SUBSCRIPTION_URL_MAX_BYTES).map_err(shown("url"))?;
        let description = self.description.iter().filter(|given| !given.is_empty());
        description
            .map(|given| text("description", given, SUBSCRIPTION_TEXT_MAX_BYTES))
            .try_for_each(|checked| checked.map_err(shown("description")))?;
        self.events.iter().try_for_each(|pattern| pattern.check("events")).map_err(shown("events"))?;
        self.label.as_ref().map_or(Ok(()), |pattern| pattern.check("label")).map_err(shown("label"))?;
        if !(1..=SUBSCRIPTION_EVENTS_MAX).contains(&self.events.len()) {
            return refuse(
                "events",
                format!("name 1 to {SUBSCRIPTION_EVENTS_MAX} types of events, such as incident.* or job.failed"),
            );
        }
        Ok(())
    }
}

impl Object for Subscription {
    const KIND: Kind = Kind::Subscription;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = SubscriptionCommand;
    type Event = SubscriptionEvent;
    type Refusal = SubscriptionRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Subscription>,
        command: SubscriptionCommand,
        now: Timestamp,
    ) -> Result<Vec<SubscriptionEvent>, SubscriptionRefusal> {
        let Some(before) = before else {
            return match command {
                SubscriptionCommand::Add { terms, secret } => {
                    terms.check()?;
                    Ok(vec![SubscriptionEvent::SubscriptionAdded { terms, secret }])
                }
                _ => Err(SubscriptionRefusal::NoSuchSubscription),
            };
        };
        change(before, command, now)
    }

    fn apply(
        _id: Uuid,
        before: Option<Subscription>,
        event: &SubscriptionEvent,
        at: Timestamp,
    ) -> Result<Subscription, Misplaced> {
        match (event, before) {
            (SubscriptionEvent::SubscriptionAdded { terms, secret }, None) => Ok(Subscription {
                terms: terms.clone(),
                secret: secret.clone(),
                previous: None,
                state: SubscriptionStatus::Enabled,
                created_at: at,
                updated_at: at,
            }),
            (SubscriptionEvent::SubscriptionAdded { .. }, Some(_)) => Err(Misplaced { event: "SubscriptionAdded" }),
            (_, None) => Err(Misplaced { event: "an event before SubscriptionAdded" }),
            (event, Some(before)) => Ok(moved(before, event, at)),
        }
    }

    fn is_over(&self) -> bool {
        self.state == SubscriptionStatus::Removed
    }
}

fn change(
    before: &Subscription,
    command: SubscriptionCommand,
    now: Timestamp,
) -> Result<Vec<SubscriptionEvent>, SubscriptionRefusal> {
    Ok(match command {
        SubscriptionCommand::Add { .. } => return Err(SubscriptionRefusal::Exists),
        SubscriptionCommand::Change { terms } if terms == before.terms => Vec::new(),
        SubscriptionCommand::Change { terms } => {
            terms.check()?;
            vec![SubscriptionEvent::SubscriptionChanged { terms }]
        }
        SubscriptionCommand::ReplaceSecret { secret } if secret == before.secret => Vec::new(),
        SubscriptionCommand::ReplaceSecret { secret } => {
            let previous_until = now.plus(WEBHOOK_SECRET_OVERLAP);
            vec![SubscriptionEvent::SubscriptionSecretReplaced { secret, previous_until }]
        }
        SubscriptionCommand::Enable if before.is_enabled() => Vec::new(),
        SubscriptionCommand::Enable => vec![SubscriptionEvent::SubscriptionEnabled {}],
        SubscriptionCommand::Disable { .. } if !before.is_enabled() => Vec::new(),
        SubscriptionCommand::Disable { reason } => vec![SubscriptionEvent::SubscriptionDisabled { reason }],
        SubscriptionCommand::Remove => vec![SubscriptionEvent::SubscriptionRemoved {}],
    })
}

fn moved(before: Subscription, event: &SubscriptionEvent, at: Timestamp) -> Subscription {
    let mut after = Subscription { updated_at: at, ..before };
    match event {
        // Placed by whoever called: there is something before.
        SubscriptionEvent::SubscriptionAdded { .. } => {}
        SubscriptionEvent::SubscriptionChanged { terms } => after.terms = terms.clone(),
        SubscriptionEvent::SubscriptionSecretReplaced { secret, previous_until } => {
            let before = std::mem::replace(&mut after.secret, secret.clone());
            after.previous = Some(Previous { secret: before, until: *previous_until });
        }
        SubscriptionEvent::SubscriptionEnabled {} => after.state = SubscriptionStatus::Enabled,
        SubscriptionEvent::SubscriptionDisabled { reason } => {
            after.state = SubscriptionStatus::Disabled { reason: reason.clone() };
        }
        SubscriptionEvent::SubscriptionRemoved {} => after.state = SubscriptionStatus::Removed,
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    fn terms(events: &[&str], label: Option<&str>) -> SubscriptionTerms {
        SubscriptionTerms {
            url: "https://example.com/hook".into(),
            description: None,
            events: events.iter().map(|text| text.parse().unwrap()).collect(),
            label: label.map(|text| text.parse().unwrap()),
        }
    }

    fn add(terms: SubscriptionTerms) -> SubscriptionCommand {
        SubscriptionCommand::Add { terms, secret: "one".into() }
    }

    fn play(commands: Vec<SubscriptionCommand>) -> Result<Subscription, SubscriptionRefusal> {
        let (id, mut state) = (Uuid::from_u128(1), None);
        for (number, command) in commands.into_iter().enumerate() {
            let now = at(number as i64 * 1_000);
            for event in Subscription::decide(id, state.as_ref(), command, now)? {
                state = Some(Subscription::apply(id, state, &event, now).unwrap());
            }
        }
        state.ok_or(SubscriptionRefusal::NoSuchSubscription)
    }

    #[test]
    fn it_hears_of_the_events_and_labels_it_asked_for() {
        let all = play(vec![add(terms(&["incident.*", "job.failed"], None))]).unwrap();
        assert!(all.wants("incident.started", None) && all.wants("job.failed", Some("nightly")));
        assert!(!all.wants("job.late", Some("nightly")));
        let some = play(vec![add(terms(&["*"], Some("nightly-*")))]).unwrap();
        assert!(some.wants("job.late", Some("nightly-report")));
        assert!(!some.wants("job.late", Some("hourly")) && !some.wants("incident.started", None));
    }

    #[test]
    fn while_a_secret_is_replaced_both_sign_for_a_day() {
        let replace = |name: &str| SubscriptionCommand::ReplaceSecret { secret: name.into() };
        let subscription = play(vec![add(terms(&["*"], None)), replace("two")]).unwrap();
        let until = at(1_000).plus(WEBHOOK_SECRET_OVERLAP);
        assert_eq!(subscription.signing(at(until.ms() - 1)), ["two", "one"]);
        assert_eq!(subscription.signing(until), ["two"]);
        let again = play(vec![add(terms(&["*"], None)), replace("two"), replace("three")]).unwrap();
        assert_eq!(again.signing(at(3_000)), ["three", "two"], "never more than two");
    }

    #[test]
    fn a_disabled_one_hears_nothing_until_it_is_enabled_again() {
        let disable = || SubscriptionCommand::Disable { reason: "the receiver answered 410".into() };
        let off = play(vec![add(terms(&["*"], None)), disable(), disable()]).unwrap();
        assert!(!off.wants("job.failed", None));
        assert_eq!(off.updated_at, at(1_000), "the second time changes nothing");
        let on = play(vec![add(terms(&["*"], None)), disable(), SubscriptionCommand::Enable]).unwrap();
        assert!(on.wants("job.failed", None));
    }

    #[test]
    fn what_cannot_work_is_refused_by_the_name_of_its_field() {
        let refused = |terms: SubscriptionTerms| match play(vec![add(terms)]) {
            Err(SubscriptionRefusal::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(SubscriptionTerms { url: "example.com".into(), ..terms(&["*"], None) }), "url");
        assert_eq!(
            refused(SubscriptionTerms { url: format!("http://{}", "x".repeat(3_000)), ..terms(&["*"], None) }),
            "url"
        );
        assert_eq!(refused(terms(&[], None)), "events");
        let long = SubscriptionTerms { description: Some("x".repeat(2_000)), ..terms(&["*"], None) };
        assert_eq!(refused(long), "description");
        for bad in ["a\u{202e}b", "a\u{1b}[2Jb"] {
            assert_eq!(refused(SubscriptionTerms { url: format!("https://{bad}"), ..terms(&["*"], None) }), "url");
            assert_eq!(refused(terms(&[bad], None)), "events");
            assert_eq!(refused(terms(&["*"], Some(bad))), "label");
            let shown = SubscriptionTerms { description: Some(bad.into()), ..terms(&["*"], None) };
            assert_eq!(refused(shown), "description");
        }
        assert_eq!(play(vec![SubscriptionCommand::Enable]), Err(SubscriptionRefusal::NoSuchSubscription));
        assert_eq!(play(vec![add(terms(&["*"], None)), add(terms(&["*"], None))]), Err(SubscriptionRefusal::Exists));
    }

    #[test]
    fn a_removed_one_leaves_nothing_behind() {
        assert!(play(vec![add(terms(&["*"], None)), SubscriptionCommand::Remove]).unwrap().is_over());
    }
}
