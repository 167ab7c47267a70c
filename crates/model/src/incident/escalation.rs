//! Who is notified next when nobody reacts: a chain of steps, each after some time.
//!
//! Invariant: the policy an incident began with goes with it; a change of the configuration does not reach into it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::job::Invalid;
use crate::job::definition::name;
use crate::limits::{ACTOR_MAX_BYTES, ESCALATION_STEPS_MAX, HOOK_MAX_BYTES};
use crate::time::{Millis, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Escalation {
    pub steps: Vec<EscalationStep>,
    /// How long an acknowledgement counts: if the incident has not ended by then, the chain starts over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_timeout: Option<Millis>,
}

/// Notifies somebody, that long after the step before (the first: after the start).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = EscalationStep))]
#[serde(deny_unknown_fields)]
pub struct EscalationStep {
    #[serde(default)]
    pub after: Millis,
    /// Whom: a name, an address or a channel, as the sender understands it.
    pub notify: String,
    /// Through which sender; all of them if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

impl Escalation {
    pub fn validate(&self) -> Result<(), Invalid> {
        if self.steps.is_empty() || self.steps.len() > ESCALATION_STEPS_MAX {
            return Err(Invalid::new("escalation.steps", format!("must be 1 to {ESCALATION_STEPS_MAX} steps")));
        }
        for step in &self.steps {
            name("escalation.steps.notify", &step.notify, ACTOR_MAX_BYTES)?;
            step.via.as_ref().map_or(Ok(()), |via| name("escalation.steps.via", via, HOOK_MAX_BYTES))?;
        }
        if self.ack_timeout == Some(Millis::ZERO) {
            return Err(Invalid::new("escalation.ack_timeout", "must be longer than nothing"));
        }
        Ok(())
    }

    /// When the step with this number (the first is 0) is due, if there is one.
    pub fn due(&self, step: u32, from: Timestamp) -> Option<Timestamp> {
        self.steps.get(step as usize).map(|step| from.plus(step.after))
    }
}

/// `15m lead@example.org via email`: as a step is written on one line. What is due at once and goes through all channels
/// is only a name.
impl fmt::Display for EscalationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.after != Millis::ZERO {
            write!(f, "{} ", self.after)?;
        }
        f.write_str(&self.notify)?;
        self.via.as_ref().map_or(Ok(()), |via| write!(f, "{VIA}{via}"))
    }
}

const VIA: &str = " via ";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is not a step: write it as \"15m lead@example.org via email\"; the time and the channel may be left out"
)]
pub struct NotAStep {
    pub given: String,
}

impl FromStr for EscalationStep {
    type Err = NotAStep;

    fn from_str(text: &str) -> Result<EscalationStep, NotAStep> {
        let (whom, via) = match text.trim().rsplit_once(VIA) {
            Some((whom, via)) => (whom.trim(), Some(via.trim().to_owned())),
            None => (text.trim(), None),
        };
        let timed = whom.split_once(char::is_whitespace).and_then(|(first, rest)| Some((first.parse().ok()?, rest)));
        let (after, notify) = timed.unwrap_or((Millis::ZERO, whom));
        let notify = notify.trim().to_owned();
        // A time alone notifies nobody, and a way that is not named leads nowhere.
        let is_cut_short = notify.ends_with(VIA.trim_end()) || via.as_ref().is_some_and(String::is_empty);
        if notify.is_empty() || notify.parse::<Millis>().is_ok() || is_cut_short {
            return Err(NotAStep { given: text.to_owned() });
        }
        Ok(EscalationStep { after, notify, via })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_and_by_which_way_look_like_what_they_are() {
        let chain = |notify: &str, via: Option<&str>| {
            let step = EscalationStep { after: Millis::ZERO, notify: notify.to_owned(), via: via.map(str::to_owned) };
            Escalation { steps: vec![step], ack_timeout: None }.validate().map_err(|invalid| invalid.field)
        };
        assert_eq!(chain("#on-call", Some("email")), Ok(()));
        for wrong in ["", "a\u{1b}[2Jb", "a\u{202e}b", &"x".repeat(ACTOR_MAX_BYTES + 1)] {
            assert_eq!(chain(wrong, None), Err("escalation.steps.notify".to_owned()), "{wrong:?}");
            assert_eq!(chain("#on-call", Some(wrong)), Err("escalation.steps.via".to_owned()), "{wrong:?}");
        }
    }

    #[test]
    fn a_step_is_written_on_one_line_and_reads_back() {
        let step = |after: u64, notify: &str, via: Option<&str>| EscalationStep {
            after: Millis::from_secs(after * 60),
            notify: notify.to_owned(),
            via: via.map(str::to_owned),
        };
        for (text, expected) in [
            ("#on-call", step(0, "#on-call", None)),
            ("15m lead@example.org via email", step(15, "lead@example.org", Some("email"))),
            ("1h Ada Lovelace", step(60, "Ada Lovelace", None)),
            ("the way via Rome via post", step(0, "the way via Rome", Some("post"))),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            assert_eq!(expected.to_string(), text);
        }
        assert_eq!("  15m   x  ".parse(), Ok(step(15, "x", None)), "blanks do not count");
        for wrong in ["", "  ", "15m", "15m 10m", "x via  "] {
            assert!(wrong.parse::<EscalationStep>().is_err(), "{wrong:?}");
        }
    }
}
