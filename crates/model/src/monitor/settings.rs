//! What a monitor expects: a sign of life within every period, or at the times of a cron expression, and some grace.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::incident::Severity;
use crate::job::Invalid;
use crate::job::definition::{name, text};
use crate::limits::{
    EVERY_MAX, INCIDENT_TEXT_MAX_BYTES, LABEL_MAX_BYTES, MONITOR_GRACE_MAX, MONITOR_NAME_MAX_BYTES, MONITOR_PERIOD_MIN,
};
use crate::schedule::{Dst, Rule, Schedule};
use crate::time::{Millis, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewMonitor))]
#[serde(deny_unknown_fields)]
pub struct MonitorSettings {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// At least one ping in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Millis>,
    /// A ping after each of these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// How much later a ping may come; also how long a run may take once it said that it started.
    #[serde(default = "grace_default")]
    pub grace: Millis,
    #[serde(default)]
    pub severity: Severity,
    /// The escalation chain by name, where it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<String>,
}

fn grace_default() -> Millis {
    MonitorSettings::GRACE_DEFAULT
}

impl MonitorSettings {
    pub const GRACE_DEFAULT: Millis = Millis::from_secs(300);

    /// What is expected of a monitor that a ping brought about: once a day, with a grace of an hour.
    pub fn of_ping(name: &str) -> MonitorSettings {
        MonitorSettings {
            name: name.to_owned(),
            description: None,
            every: Some(Millis::from_days(1)),
            cron: None,
            timezone: None,
            grace: Millis::from_secs(3_600),
            severity: Severity::default(),
            escalation: None,
        }
    }

    pub fn validate(&self) -> Result<(), Invalid> {
        text("name", &self.name, MONITOR_NAME_MAX_BYTES)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if !self.name.bytes().all(is_plain) {
            return Err(Invalid::new("name", "must be letters, digits, '.', '_' or '-'"));
        }
        self.description.as_ref().map_or(Ok(()), |given| text("description", given, INCIDENT_TEXT_MAX_BYTES))?;
        self.escalation.as_ref().map_or(Ok(()), |given| name("escalation", given, LABEL_MAX_BYTES))?;
        if self.grace > MONITOR_GRACE_MAX {
            return Err(Invalid::new("grace", format!("must be at most {MONITOR_GRACE_MAX}")));
        }
        match (self.every, &self.cron, &self.timezone) {
            (Some(every), None, None) if (MONITOR_PERIOD_MIN..=EVERY_MAX).contains(&every) => Ok(()),
            (Some(_), None, None) => {
                Err(Invalid::new("every", format!("must be between {MONITOR_PERIOD_MIN} and {EVERY_MAX}")))
            }
            (None, Some(_), _) => self.schedule().map_or(Ok(()), |schedule| {
                schedule.validate().map_err(|error| Invalid::new(error.field, error.message))
            }),
            (Some(_), None, Some(_)) => Err(Invalid::new("timezone", "only a cron expression has one")),
            (Some(_), Some(_), _) | (None, None, _) => {
                Err(Invalid::new("every", "give a period (every) or a cron expression, one of them"))
            }
        }
    }

    fn schedule(&self) -> Option<Schedule> {
        let timezone = self.timezone.clone().unwrap_or_else(|| "UTC".to_owned());
        let rule = Rule::Cron { expr: self.cron.clone()?, timezone, dst: Dst::default() };
        Some(Schedule { rule, start: None, end: None, jitter: None, exclude: Vec::new() })
    }

    /// By when the next ping must have come, after one at `at`. None: its schedule has no time to come.
    pub fn due_after(&self, at: Timestamp) -> Option<Timestamp> {
        let expected = match self.every {
            Some(every) => Some(at.plus(every)),
            None => self.schedule()?.next_after(at, Uuid::nil()).map(|occurrence| occurrence.nominal),
        };
        expected.map(|expected| expected.plus(self.grace))
    }
}
