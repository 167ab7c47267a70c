//! Who brings an event about, to bytes and back.
//!
//! Invariant: what Ordo does by itself carries nothing, from the command to the store: no bytes, no allocation.

use ordo_model::{Actor, ActorSource};
use ordo_store::{EventActor, Fault, StoredEvent};

/// As it goes along with every event of a command; written once for all of them.
pub fn encode_actor(actor: &Actor) -> EventActor {
    match actor.source {
        _ if actor.is_somebody() => {
            EventActor::Recorded(serde_json::to_vec(actor).expect("an actor is plain data").into())
        }
        ActorSource::Ordo => EventActor::Ordo,
        _ => EventActor::Unknown,
    }
}

/// Who brought a recorded event about.
pub fn actor_of(stored: &StoredEvent) -> Result<Actor, Fault> {
    match &stored.actor {
        EventActor::Ordo => Ok(Actor::ordo()),
        EventActor::Unknown => Ok(Actor::unknown()),
        EventActor::Recorded(bytes) => serde_json::from_slice(bytes).map_err(|e| {
            Fault::damaged(format!("the actor of event {} of {} cannot be read: {e}", stored.version, stored.entity))
        }),
    }
}
