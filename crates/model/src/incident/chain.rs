//! An escalation chain that people keep in the store: a name, and who is notified next when nobody reacts.
//!
//! Invariant: an incident takes a copy when it begins; what becomes of the chain later does not reach into it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Escalation;
use crate::hook::is_slug;
use crate::id::{EntityId, Kind};
use crate::job::Invalid;
use crate::limits::HOOK_MAX_BYTES;
use crate::object::{Misplaced, Object};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationChain {
    pub name: String,
    pub escalation: Escalation,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "crate::text::is_default")]
    pub is_removed: bool,
}

#[derive(Debug, Clone)]
pub enum EscalationChainCommand {
    Add { name: String, escalation: Escalation },
    Change { escalation: Escalation },
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum EscalationChainEvent {
    EscalationChainAdded { name: String, escalation: Escalation },
    EscalationChainChanged { escalation: Escalation },
    EscalationChainRemoved {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EscalationChainRefusal {
    #[error("there is no such escalation chain")]
    NoSuchChain,
    #[error("there is an escalation chain {name:?} already")]
    Exists { name: String },
    #[error("{0}")]
    Invalid(#[from] Invalid),
}

impl EscalationChain {
    /// The one chain of this name.
    pub fn id(name: &str) -> Uuid {
        EntityId::named(Kind::EscalationChain, name).id
    }
}

fn check(escalation: &Escalation) -> Result<(), Invalid> {
    escalation.validate().map_err(|invalid| {
        let field = invalid.field.strip_prefix("escalation.").unwrap_or(&invalid.field);
        Invalid::new(field, invalid.message)
    })
}

impl Object for EscalationChain {
    const KIND: Kind = Kind::EscalationChain;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = EscalationChainCommand;
    type Event = EscalationChainEvent;
    type Refusal = EscalationChainRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&EscalationChain>,
        command: EscalationChainCommand,
        _now: Timestamp,
    ) -> Result<Vec<EscalationChainEvent>, EscalationChainRefusal> {
        match (before, command) {
            (None, EscalationChainCommand::Add { name, escalation }) => {
                if !is_slug(&name) {
                    let rule = format!("write 1 to {HOOK_MAX_BYTES} letters, digits, '.', '_' or '-'");
                    return Err(Invalid::new("name", rule).into());
                }
                check(&escalation)?;
                Ok(vec![EscalationChainEvent::EscalationChainAdded { name, escalation }])
            }
            (None, EscalationChainCommand::Change { .. } | EscalationChainCommand::Remove) => {
                Err(EscalationChainRefusal::NoSuchChain)
            }
            (Some(chain), EscalationChainCommand::Add { .. }) => {
                Err(EscalationChainRefusal::Exists { name: chain.name.clone() })
            }
            (Some(chain), EscalationChainCommand::Change { escalation }) if escalation == chain.escalation => {
                Ok(Vec::new())
            }
            (Some(_), EscalationChainCommand::Change { escalation }) => {
                check(&escalation)?;
                Ok(vec![EscalationChainEvent::EscalationChainChanged { escalation }])
            }
            (Some(_), EscalationChainCommand::Remove) => Ok(vec![EscalationChainEvent::EscalationChainRemoved {}]),
        }
    }

    fn apply(
        _id: Uuid,
        before: Option<EscalationChain>,
        event: &EscalationChainEvent,
        at: Timestamp,
    ) -> Result<EscalationChain, Misplaced> {
        match (event, before) {
            (EscalationChainEvent::EscalationChainAdded { name, escalation }, None) => Ok(EscalationChain {
                name: name.clone(),
                escalation: escalation.clone(),
                created_at: at,
                updated_at: at,
                is_removed: false,
            }),
            (EscalationChainEvent::EscalationChainAdded { .. }, Some(_)) => {
                Err(Misplaced { event: "EscalationChainAdded" })
            }
            (EscalationChainEvent::EscalationChainChanged { escalation }, Some(chain)) => {
                Ok(EscalationChain { escalation: escalation.clone(), updated_at: at, ..chain })
            }
            (EscalationChainEvent::EscalationChainRemoved {}, Some(chain)) => {
                Ok(EscalationChain { is_removed: true, updated_at: at, ..chain })
            }
            (_, None) => Err(Misplaced { event: "an event before EscalationChainAdded" }),
        }
    }

    fn is_over(&self) -> bool {
        self.is_removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    fn steps(lines: &[&str]) -> Escalation {
        Escalation { steps: lines.iter().map(|line| line.parse().unwrap()).collect(), ack_timeout: None }
    }

    fn add(name: &str, lines: &[&str]) -> EscalationChainCommand {
        EscalationChainCommand::Add { name: name.to_owned(), escalation: steps(lines) }
    }

    fn play(commands: Vec<EscalationChainCommand>) -> Result<EscalationChain, EscalationChainRefusal> {
        let (id, mut state) = (EscalationChain::id("night"), None);
        for (number, command) in commands.into_iter().enumerate() {
            let now = at(number as i64);
            for event in EscalationChain::decide(id, state.as_ref(), command, now)? {
                state = Some(EscalationChain::apply(id, state, &event, now).unwrap());
            }
        }
        state.ok_or(EscalationChainRefusal::NoSuchChain)
    }

    #[test]
    fn a_chain_is_added_changed_and_removed() {
        let change = |lines: &[&str]| EscalationChainCommand::Change { escalation: steps(lines) };
        let chain = play(vec![add("night", &["a"]), change(&["a", "15m b via email"])]).unwrap();
        assert_eq!((chain.escalation.steps.len(), chain.created_at, chain.updated_at), (2, at(0), at(1)));
        let same = play(vec![add("night", &["a"]), change(&["a"])]).unwrap();
        assert_eq!(same.updated_at, at(0), "nothing changed");
        assert!(play(vec![add("night", &["a"]), EscalationChainCommand::Remove]).unwrap().is_over());
        assert_eq!(play(vec![change(&["a"])]), Err(EscalationChainRefusal::NoSuchChain));
        let twice = play(vec![add("night", &["a"]), add("night", &["b"])]);
        assert_eq!(twice, Err(EscalationChainRefusal::Exists { name: "night".to_owned() }));
    }

    #[test]
    fn what_cannot_work_is_refused_by_the_name_of_its_field() {
        let refused = |command| match play(vec![command]) {
            Err(EscalationChainRefusal::Invalid(invalid)) => invalid.field,
            other => panic!("{other:?}"),
        };
        for name in ["", "a b", "a/b", ".a", &"x".repeat(HOOK_MAX_BYTES + 1)] {
            assert_eq!(refused(add(name, &["a"])), "name", "{name:?}");
        }
        assert_eq!(refused(add("night", &[])), "steps");
    }
}
