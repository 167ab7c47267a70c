//! Escalation chains: who is notified next when nobody reacts.

use ordo_model::Timestamp;
use ordo_model::incident::{Escalation, EscalationChain};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEscalationChain {
    /// Letters, digits, '.', '_' and '-'. Incidents that name no chain take the one called `default`.
    pub name: String,
    pub escalation: Escalation,
}

/// The steps take the place of those before. Incidents that have begun keep theirs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationChainPatch {
    pub escalation: Escalation,
}

/// Where a chain or a channel stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefinedIn {
    /// In the configuration of the node that answers: changed there, with a restart.
    Configuration,
    /// In the store: changed here.
    Store,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = EscalationChain)]
pub struct EscalationChainView {
    pub name: String,
    pub defined_in: DefinedIn,
    /// Whether incidents take it: not when the configuration has a chain of the same name.
    pub in_force: bool,
    pub escalation: Escalation,
    /// Null: it stands in the configuration.
    #[schema(required)]
    pub created_at: Option<Timestamp>,
    #[schema(required)]
    pub updated_at: Option<Timestamp>,
}

impl EscalationChainView {
    pub fn configured(name: &str, escalation: &Escalation) -> EscalationChainView {
        EscalationChainView {
            name: name.to_owned(),
            defined_in: DefinedIn::Configuration,
            in_force: true,
            escalation: escalation.clone(),
            created_at: None,
            updated_at: None,
        }
    }

    pub fn stored(chain: &EscalationChain, in_force: bool) -> EscalationChainView {
        EscalationChainView {
            name: chain.name.clone(),
            defined_in: DefinedIn::Store,
            in_force,
            escalation: chain.escalation.clone(),
            created_at: Some(chain.created_at),
            updated_at: Some(chain.updated_at),
        }
    }
}
