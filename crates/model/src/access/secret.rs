//! A secret: a name that jobs and hooks refer to. Its value is sealed and stands in a chunk, never in an event.
//!
//! Invariant: the name of a secret that belongs to one hook, subscription or channel has a '/' in it, and no name that people
//! give has one. So what belongs to somebody is neither overwritten nor referred to by anybody else.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{EntityId, Kind};
use crate::object::{Misplaced, Object};
use crate::time::Timestamp;

/// The longest name of a secret.
pub const SECRET_NAME_MAX_BYTES: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    pub name: String,
    /// Which chunk holds the sealed value; None: the secret was removed.
    pub value: Option<Uuid>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Secret {
    /// The one secret of this name.
    pub fn id(name: &str) -> EntityId {
        EntityId::named(Kind::Secret, name)
    }

    /// The name of the secret that was given with a hook.
    pub fn of_hook(slug: &str) -> String {
        format!("hook/{slug}")
    }

    /// The name of the secret that was given with a channel.
    pub fn of_channel(name: &str) -> String {
        format!("channel/{name}")
    }

    /// The name of a secret that a subscription signs with; `number` sets it apart from those before.
    pub fn of_subscription(id: Uuid, number: u64) -> String {
        format!("subscription/{id}.{number}")
    }
}

/// Whether a secret of this name can be set by people and referred to: letters, digits, '.', '_' and '-'.
pub fn is_shared_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=SECRET_NAME_MAX_BYTES).contains(&name.len()) && name.bytes().all(plain)
}

/// Whose a secret is that belongs to somebody.
const OWNERS: [&str; 3] = ["hook/", "subscription/", "channel/"];

fn is_owned_name(name: &str) -> bool {
    name.len() <= SECRET_NAME_MAX_BYTES
        && OWNERS.iter().any(|owner| name.strip_prefix(owner).is_some_and(is_shared_name))
}

#[derive(Debug, Clone)]
pub enum SecretCommand {
    /// The sealed value was put into the chunk `value`.
    Set {
        name: String,
        value: Uuid,
    },
    /// The same value was sealed anew and put into the chunk `to`. Without effect if it is no longer the same.
    Reseal {
        from: Uuid,
        to: Uuid,
    },
    Remove,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum SecretEvent {
    SecretSet { name: String, value: Uuid },
    SecretRemoved {},
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretRefusal {
    #[error("there is no such secret")]
    NoSuchSecret,
    #[error("{name:?} is not a name for a secret: write 1 to {SECRET_NAME_MAX_BYTES} letters, digits, '.', '_' or '-'")]
    BadName { name: String },
}

impl Object for Secret {
    const KIND: Kind = Kind::Secret;
    const CHECKPOINT_EVERY: Option<u64> = Some(100);
    type Command = SecretCommand;
    type Event = SecretEvent;
    type Refusal = SecretRefusal;

    fn decide(
        _id: Uuid,
        before: Option<&Secret>,
        command: SecretCommand,
        _now: Timestamp,
    ) -> Result<Vec<SecretEvent>, SecretRefusal> {
        match command {
            SecretCommand::Set { name, value } if is_shared_name(&name) || is_owned_name(&name) => {
                Ok(vec![SecretEvent::SecretSet { name, value }])
            }
            SecretCommand::Set { name, .. } => Err(SecretRefusal::BadName { name }),
            SecretCommand::Reseal { from, to } => match before {
                Some(secret) if secret.value == Some(from) => {
                    Ok(vec![SecretEvent::SecretSet { name: secret.name.clone(), value: to }])
                }
                Some(_) => Ok(vec![]),
                None => Err(SecretRefusal::NoSuchSecret),
            },
            SecretCommand::Remove => match before {
                Some(_) => Ok(vec![SecretEvent::SecretRemoved {}]),
                None => Err(SecretRefusal::NoSuchSecret),
            },
        }
    }

    fn apply(_id: Uuid, before: Option<Secret>, event: &SecretEvent, at: Timestamp) -> Result<Secret, Misplaced> {
        match (event, before) {
            (SecretEvent::SecretSet { name, value }, before) => Ok(Secret {
                name: name.clone(),
                value: Some(*value),
                created_at: before.map_or(at, |secret| secret.created_at),
                updated_at: at,
            }),
            (SecretEvent::SecretRemoved {}, Some(secret)) => Ok(Secret { value: None, updated_at: at, ..secret }),
            (SecretEvent::SecretRemoved {}, None) => Err(Misplaced { event: "SecretRemoved" }),
        }
    }

    fn chunk_owners(&self) -> Vec<Uuid> {
        self.value.into_iter().collect()
    }

    fn is_over(&self) -> bool {
        self.value.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    fn play(commands: Vec<SecretCommand>) -> Result<Option<Secret>, SecretRefusal> {
        let (id, mut state) = (Secret::id("pg").id, None);
        for (number, command) in commands.into_iter().enumerate() {
            let now = at(number as i64);
            for event in Secret::decide(id, state.as_ref(), command, now)? {
                state = Some(Secret::apply(id, state, &event, now).unwrap());
            }
        }
        Ok(state)
    }

    fn set(name: &str, value: u128) -> SecretCommand {
        SecretCommand::Set { name: name.into(), value: Uuid::from_u128(value) }
    }

    #[test]
    fn a_new_value_takes_the_place_of_the_old_one() {
        let secret = play(vec![set("pg", 1), set("pg", 2)]).unwrap().unwrap();
        assert_eq!(secret.chunk_owners(), [Uuid::from_u128(2)]);
        assert_eq!((secret.created_at, secret.updated_at), (at(0), at(1)));
        assert!(!secret.is_over());
    }

    #[test]
    fn a_removed_secret_leaves_nothing_behind() {
        let secret = play(vec![set("pg", 1), SecretCommand::Remove]).unwrap().unwrap();
        assert!(secret.is_over() && secret.chunk_owners().is_empty());
        assert_eq!(play(vec![SecretCommand::Remove]), Err(SecretRefusal::NoSuchSecret));
    }

    #[test]
    fn sealing_anew_never_brings_an_old_value_back() {
        let reseal = |from: u128| SecretCommand::Reseal { from: Uuid::from_u128(from), to: Uuid::from_u128(9) };
        let resealed = play(vec![set("pg", 1), reseal(1)]).unwrap().unwrap();
        assert_eq!((resealed.name.as_str(), resealed.value), ("pg", Some(Uuid::from_u128(9))));
        let changed = play(vec![set("pg", 1), set("pg", 2), reseal(1)]).unwrap().unwrap();
        assert_eq!(changed.value, Some(Uuid::from_u128(2)));
        assert_eq!(play(vec![reseal(1)]), Err(SecretRefusal::NoSuchSecret));
    }

    #[test]
    fn what_belongs_to_a_hook_a_subscription_or_a_channel_has_no_name_that_people_give() {
        for owned in [Secret::of_hook("deploy"), Secret::of_subscription(Uuid::nil(), 3), Secret::of_channel("ops")] {
            assert!(play(vec![set(&owned, 1)]).is_ok(), "{owned}");
            assert!(!is_shared_name(&owned), "{owned}");
        }
        let longest = Secret::of_hook(&"x".repeat(crate::limits::HOOK_MAX_BYTES));
        assert!(play(vec![set(&longest, 1)]).is_ok());
    }

    #[test]
    fn a_name_is_plain() {
        for bad in ["", "a b", "ä", "a/b", "hook/", "hook/a/b", "hook/a b", &"x".repeat(129)] {
            assert!(matches!(play(vec![set(bad, 1)]), Err(SecretRefusal::BadName { .. })), "{bad:?}");
        }
    }
}
