//! The words people use about an incident: how bad, how far, who, from where.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use uuid::Uuid;

use crate::actor::{Actor, ActorSource};
use crate::id::{JobId, RunId};

/// How bad it is: sev1 is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Severity {
    Sev1,
    Sev2,
    #[default]
    Sev3,
    Sev4,
    Sev5,
}

impl Severity {
    pub const ALL: [Severity; 5] = [Severity::Sev1, Severity::Sev2, Severity::Sev3, Severity::Sev4, Severity::Sev5];

    pub const fn name(self) -> &'static str {
        match self {
            Severity::Sev1 => "sev1",
            Severity::Sev2 => "sev2",
            Severity::Sev3 => "sev3",
            Severity::Sev4 => "sev4",
            Severity::Sev5 => "sev5",
        }
    }

    /// 1 to 5. Part of stored keys, so it never changes.
    pub const fn code(self) -> u8 {
        match self {
            Severity::Sev1 => 1,
            Severity::Sev2 => 2,
            Severity::Sev3 => 3,
            Severity::Sev4 => 4,
            Severity::Sev5 => 5,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no severity: use sev1 (worst) to sev5, or high, medium, low")]
pub struct NoSeverity(String);

impl FromStr for Severity {
    type Err = NoSeverity;

    fn from_str(text: &str) -> Result<Severity, NoSeverity> {
        let name = text.trim().to_ascii_lowercase();
        match name.as_str() {
            "high" => Ok(Severity::Sev2),
            "medium" => Ok(Severity::Sev3),
            "low" => Ok(Severity::Sev4),
            _ => {
                let known = Severity::ALL.into_iter().find(|severity| severity.name() == name);
                known.ok_or_else(|| NoSeverity(text.chars().take(40).collect()))
            }
        }
    }
}

impl TryFrom<String> for Severity {
    type Error = NoSeverity;

    fn try_from(text: String) -> Result<Severity, NoSeverity> {
        text.parse()
    }
}

impl From<Severity> for String {
    fn from(severity: Severity) -> String {
        severity.name().to_owned()
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far people are with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = IncidentStatus))]
#[serde(rename_all = "snake_case")]
pub enum IncidentStatus {
    #[default]
    Open,
    Mitigating,
    Resolved,
    /// It was none.
    Declined,
}

impl IncidentStatus {
    pub const ALL: [IncidentStatus; 4] =
        [IncidentStatus::Open, IncidentStatus::Mitigating, IncidentStatus::Resolved, IncidentStatus::Declined];

    pub const fn name(self) -> &'static str {
        match self {
            IncidentStatus::Open => "open",
            IncidentStatus::Mitigating => "mitigating",
            IncidentStatus::Resolved => "resolved",
            IncidentStatus::Declined => "declined",
        }
    }

    /// Part of stored keys, so it never changes.
    pub const fn code(self) -> u8 {
        match self {
            IncidentStatus::Open => 0,
            IncidentStatus::Mitigating => 1,
            IncidentStatus::Resolved => 2,
            IncidentStatus::Declined => 3,
        }
    }

    pub fn named(name: &str) -> Option<IncidentStatus> {
        IncidentStatus::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Nobody has to do anything any more, unless it is opened again.
    pub const fn is_ended(self) -> bool {
        match self {
            IncidentStatus::Open | IncidentStatus::Mitigating => false,
            IncidentStatus::Resolved | IncidentStatus::Declined => true,
        }
    }

    /// Where it may go from here.
    pub const fn moves(self) -> &'static [IncidentStatus] {
        match self {
            IncidentStatus::Open => &[IncidentStatus::Mitigating, IncidentStatus::Resolved, IncidentStatus::Declined],
            IncidentStatus::Mitigating => &[IncidentStatus::Open, IncidentStatus::Resolved, IncidentStatus::Declined],
            IncidentStatus::Resolved | IncidentStatus::Declined => &[IncidentStatus::Open],
        }
    }
}

impl fmt::Display for IncidentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What somebody takes care of while an incident lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = IncidentRole))]
#[serde(rename_all = "snake_case")]
pub enum IncidentRole {
    /// Decides what is done next.
    Lead,
    /// Keeps everybody else up to date.
    Communications,
}

impl IncidentRole {
    pub const ALL: [IncidentRole; 2] = [IncidentRole::Lead, IncidentRole::Communications];

    pub const fn name(self) -> &'static str {
        match self {
            IncidentRole::Lead => "lead",
            IncidentRole::Communications => "communications",
        }
    }

    pub fn named(name: &str) -> Option<IncidentRole> {
        IncidentRole::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for IncidentRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who did it, and from where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct By {
    /// Whoever was let in, or what acts by itself.
    pub actor: String,
    pub source: IncidentSource,
    /// Whom it said to act for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
}

impl By {
    pub fn new(actor: impl Into<String>, source: IncidentSource) -> By {
        By { actor: actor.into(), source, on_behalf_of: None }
    }

    /// Whoever gave a command.
    pub fn of(actor: &Actor) -> By {
        let source = match actor.source {
            ActorSource::Cli => IncidentSource::Cli,
            ActorSource::Page => IncidentSource::Page,
            ActorSource::Slack => IncidentSource::Slack,
            ActorSource::Api
            | ActorSource::Hook
            | ActorSource::Ping
            | ActorSource::Executor
            | ActorSource::Sql
            | ActorSource::Ordo
            | ActorSource::Unknown => IncidentSource::Api,
        };
        By { on_behalf_of: actor.on_behalf_of.clone(), ..By::new(actor.name.clone(), source) }
    }

    /// The one it is about: on whose behalf it was done, if on somebody's.
    pub fn person(&self) -> &str {
        self.on_behalf_of.as_deref().unwrap_or(&self.actor)
    }
}

/// `ci for ana`
impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.actor)?;
        self.on_behalf_of.as_ref().map_or(Ok(()), |whom| write!(f, " for {whom}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = IncidentSource))]
#[serde(rename_all = "snake_case")]
pub enum IncidentSource {
    Api,
    Cli,
    Page,
    Slack,
    Job,
    Monitor,
    Escalation,
}

impl IncidentSource {
    pub const fn name(self) -> &'static str {
        match self {
            IncidentSource::Api => "api",
            IncidentSource::Cli => "cli",
            IncidentSource::Page => "page",
            IncidentSource::Slack => "slack",
            IncidentSource::Job => "job",
            IncidentSource::Monitor => "monitor",
            IncidentSource::Escalation => "escalation",
        }
    }

    /// Whether a person stands behind it.
    pub const fn is_person(self) -> bool {
        match self {
            IncidentSource::Api | IncidentSource::Cli | IncidentSource::Page | IncidentSource::Slack => true,
            IncidentSource::Job | IncidentSource::Monitor | IncidentSource::Escalation => false,
        }
    }
}

/// What an incident is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", from = "LinkForm")]
pub enum Link {
    Job { id: JobId },
    Run { id: RunId },
}

/// The same, read as the flat object that it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkForm {
    r#type: LinkKind,
    id: Uuid,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum LinkKind {
    Job,
    Run,
}

impl From<LinkForm> for Link {
    fn from(LinkForm { r#type, id }: LinkForm) -> Link {
        match r#type {
            LinkKind::Job => Link::Job { id: JobId(id) },
            LinkKind::Run => Link::Run { id: RunId(id) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_have_everyday_names() {
        let read = |text: &str| text.parse::<Severity>().map(Severity::name);
        assert_eq!((read("high"), read("Medium"), read("low")), (Ok("sev2"), Ok("sev3"), Ok("sev4")));
        assert_eq!(read("SEV1"), Ok("sev1"));
        assert!(read("sev6").unwrap_err().to_string().contains("sev1 (worst) to sev5"));
        assert_eq!(serde_json::to_string(&Severity::Sev2).unwrap(), "\"sev2\"");
        assert_eq!(serde_json::from_str::<Severity>("\"low\"").unwrap(), Severity::Sev4);
    }
}
