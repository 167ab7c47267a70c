//! Who brought an event about: the name that was let in, the way it came, and for whom it acted.
//!
//! Invariant: nobody signs as somebody else. Name and source are those of whoever was let in; a name that a request
//! gives itself is kept beside them, as the one it was done on behalf of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::Invalid;
use crate::job::definition::name;
use crate::limits::ACTOR_MAX_BYTES;

/// Who brought an event about. The event carries it beside its data: no rule depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The token, the user of a session or of Slack, the hook; `ordo` for what Ordo does by itself.
    pub name: String,
    pub source: ActorSource,
    /// Whom it said to act for. Nobody has checked that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<String>,
    /// The request that it came with, as in the log and in the header `x-request-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// The way a command came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActorSource {
    /// The command line, as it says itself: to others it is the API.
    Cli,
    Api,
    /// The dashboard.
    Page,
    Slack,
    /// A webhook that came in.
    Hook,
    /// A sign of life for a monitor.
    Ping,
    /// A remote executor.
    Executor,
    /// A row in `ordo.submissions`; the name is that of the database role.
    Sql,
    /// Nobody asked: a schedule, a retry, a timeout, retention, escalation.
    Ordo,
    /// Not recorded: the event is older than this, or a later version wrote it.
    #[serde(other)]
    Unknown,
}

impl ActorSource {
    pub const fn name(self) -> &'static str {
        match self {
            ActorSource::Cli => "cli",
            ActorSource::Api => "api",
            ActorSource::Page => "page",
            ActorSource::Slack => "slack",
            ActorSource::Hook => "hook",
            ActorSource::Ping => "ping",
            ActorSource::Executor => "executor",
            ActorSource::Sql => "sql",
            ActorSource::Ordo => "ordo",
            ActorSource::Unknown => "unknown",
        }
    }

    /// The source of a request that calls itself so. Whoever uses the API may say to be the command line, which uses it
    /// too; nothing else can be claimed.
    #[must_use]
    pub fn calling_itself(self, claimed: Option<&str>) -> ActorSource {
        match (self, claimed) {
            (ActorSource::Api, Some("cli")) => ActorSource::Cli,
            (source, _) => source,
        }
    }
}

impl Actor {
    pub fn new(name: impl Into<String>, source: ActorSource) -> Actor {
        Actor { name: name.into(), source, on_behalf_of: None, request_id: None }
    }

    /// What happens by itself.
    pub fn ordo() -> Actor {
        Actor::new("ordo", ActorSource::Ordo)
    }

    /// Nobody wrote down who it was.
    pub fn unknown() -> Actor {
        Actor::new("unknown", ActorSource::Unknown)
    }

    #[must_use]
    pub fn with_request(self, request_id: Option<String>) -> Actor {
        Actor { request_id, ..self }
    }

    /// The same, acting for somebody. Whoever names itself acts for itself.
    pub fn on_behalf_of(self, whom: Option<String>) -> Result<Actor, Invalid> {
        if let Some(whom) = &whom {
            name("actor", whom, ACTOR_MAX_BYTES)?;
        }
        Ok(Actor { on_behalf_of: whom.filter(|whom| *whom != self.name), ..self })
    }

    /// Whether somebody asked for it.
    pub fn is_somebody(&self) -> bool {
        match self.source {
            ActorSource::Cli
            | ActorSource::Api
            | ActorSource::Page
            | ActorSource::Slack
            | ActorSource::Hook
            | ActorSource::Ping
            | ActorSource::Executor
            | ActorSource::Sql => true,
            ActorSource::Ordo | ActorSource::Unknown => false,
        }
    }
}

/// For people: `ci for ana · cli`.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(whom) = &self.on_behalf_of {
            write!(f, " for {whom}")?;
        }
        if self.is_somebody() { write!(f, " · {}", self.source.name()) } else { Ok(()) }
    }
}
