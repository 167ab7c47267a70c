//! Escalation chains by name: those of the configuration, and those that people keep in the store.
//!
//! Invariant: a chain of the configuration is in force whatever the store has under its name, on every node that is
//! configured with it. One of the store is looked up whenever an incident begins, so a change counts at once.

use ordo_model::incident::{Escalation, EscalationChain};
use ordo_model::limits::ESCALATION_CHAINS_MAX;
use ordo_store::Fault;

use crate::commit::state::Versioned;
use crate::engine::Engine;
use crate::read::object_queries::IndexRange;
use crate::read::queries::Queries;

/// The chain of incidents that name none.
pub const DEFAULT_ESCALATION: &str = "default";

/// A chain, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum NamedEscalation {
    Configured {
        name: String,
        escalation: Escalation,
    },
    Stored {
        chain: Versioned<EscalationChain>,
        /// The configuration has one of its name, which is in force instead.
        is_overridden: bool,
    },
}

impl NamedEscalation {
    pub fn name(&self) -> &str {
        match self {
            NamedEscalation::Configured { name, .. } => name,
            NamedEscalation::Stored { chain, .. } => &chain.name,
        }
    }

    pub fn escalation(&self) -> &Escalation {
        match self {
            NamedEscalation::Configured { escalation, .. } => escalation,
            NamedEscalation::Stored { chain, .. } => &chain.escalation,
        }
    }

    pub fn stored(&self) -> Option<&Versioned<EscalationChain>> {
        match self {
            NamedEscalation::Configured { .. } => None,
            NamedEscalation::Stored { chain, .. } => Some(chain),
        }
    }

    pub fn is_in_force(&self) -> bool {
        !matches!(self, NamedEscalation::Stored { is_overridden: true, .. })
    }
}

impl Engine {
    /// The steps of the chain of that name; without a name those of `default`, if there is one.
    pub async fn escalation(&self, name: Option<&str>) -> Result<Option<Escalation>, Fault> {
        let chain = self.escalation_chain(name.unwrap_or(DEFAULT_ESCALATION)).await?;
        Ok(chain.map(|chain| chain.escalation().clone()))
    }

    /// The chain that is in force under a name.
    pub async fn escalation_chain(&self, name: &str) -> Result<Option<NamedEscalation>, Fault> {
        if let Some(escalation) = self.escalations().get(name) {
            return Ok(Some(NamedEscalation::Configured { name: name.to_owned(), escalation: escalation.clone() }));
        }
        let chain = self.queries().object::<EscalationChain>(EscalationChain::id(name)).await?;
        Ok(chain.map(|chain| NamedEscalation::Stored { chain, is_overridden: false }))
    }

    /// All chains by name; a name that stands twice is in force as the configuration has it.
    pub async fn escalation_chains(&self) -> Result<Vec<NamedEscalation>, Fault> {
        let configured = self.escalations();
        let mut chains: Vec<NamedEscalation> = configured
            .iter()
            .map(|(name, escalation)| NamedEscalation::Configured {
                name: name.clone(),
                escalation: escalation.clone(),
            })
            .collect();
        let stored = self.queries().escalation_chains().await?.into_iter();
        chains.extend(stored.map(|chain| {
            let is_overridden = configured.contains_key(&chain.name);
            NamedEscalation::Stored { chain, is_overridden }
        }));
        chains.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(chains)
    }
}

impl Queries {
    /// The chains of the store, by name.
    pub async fn escalation_chains(&self) -> Result<Vec<Versioned<EscalationChain>>, Fault> {
        Ok(self.objects::<EscalationChain>(&IndexRange::all(0, ESCALATION_CHAINS_MAX)).await?.items)
    }
}
