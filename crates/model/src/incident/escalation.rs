//! Who is notified next when nobody reacts: a chain of steps, each after some time.
//!
//! Invariant: the policy an incident began with goes with it; a change of the configuration does not reach into it.

use serde::{Deserialize, Serialize};

use crate::job::Invalid;
use crate::limits::{ACTOR_MAX_BYTES, ESCALATION_STEPS_MAX};
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
        if self.steps.iter().any(|step| step.notify.trim().is_empty() || step.notify.len() > ACTOR_MAX_BYTES) {
            let limit = format!("must name whom to notify, in at most {ACTOR_MAX_BYTES} bytes");
            return Err(Invalid::new("escalation.steps.notify", limit));
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
