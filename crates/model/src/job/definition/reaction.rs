//! What a job does about its own failures besides trying again: it opens an incident.

use serde::{Deserialize, Serialize};

use super::{Invalid, text};
use crate::incident::Severity;
use crate::limits::{INCIDENT_AFTER_MAX, LABEL_MAX_BYTES};

/// `on_failure` and `on_missed` of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Reaction {
    pub incident: IncidentPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct IncidentPolicy {
    #[serde(default)]
    pub severity: Severity,
    /// How many times in a row it must have happened.
    #[serde(default = "once")]
    pub after: u32,
    /// The next completed run resolves the incident; otherwise it leaves a note.
    #[serde(default)]
    pub resolve_on_recovery: bool,
    /// The escalation chain by name, where it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<String>,
}

fn once() -> u32 {
    1
}

impl Default for IncidentPolicy {
    fn default() -> IncidentPolicy {
        IncidentPolicy { severity: Severity::default(), after: once(), resolve_on_recovery: false, escalation: None }
    }
}

impl Reaction {
    pub(super) fn validate(&self, field: &str) -> Result<(), Invalid> {
        if !(1..=INCIDENT_AFTER_MAX).contains(&self.incident.after) {
            let message = format!("must be between 1 and {INCIDENT_AFTER_MAX}");
            return Err(Invalid::new(format!("{field}.incident.after"), message));
        }
        let name = self.incident.escalation.as_ref();
        name.map_or(Ok(()), |name| text(&format!("{field}.incident.escalation"), name, LABEL_MAX_BYTES))
    }
}
