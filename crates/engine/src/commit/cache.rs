//! Entities that were written lately, so that the next command on them need not read and decode them again.
//!
//! Invariant: a cache. An entry may be old (another node wrote since): the version guard of the commit finds out,
//! and the entry is forgotten. It holds at most two generations.

use std::collections::HashMap;

use ordo_model::EntityId;

use super::state::EntityRef;

/// How many entities one generation holds.
const GENERATION: usize = 16_384;

#[derive(Default)]
pub(crate) struct Cache {
    young: HashMap<EntityId, EntityRef>,
    old: HashMap<EntityId, EntityRef>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cache({})", self.young.len() + self.old.len())
    }
}

impl Cache {
    pub(crate) fn get(&self, id: EntityId) -> Option<EntityRef> {
        self.young.get(&id).or_else(|| self.old.get(&id)).cloned()
    }

    pub(crate) fn keep(&mut self, id: EntityId, state: EntityRef) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id, state);
    }

    pub(crate) fn forget(&mut self, id: EntityId) {
        self.young.remove(&id);
        self.old.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use ordo_model::job::{Command, Definition, SlottedCommand, decide};
    use ordo_model::{JobId, Timestamp};
    use uuid::Uuid;

    fn entity(number: u128) -> EntityId {
        JobId(Uuid::from_u128(number)).into()
    }

    fn job(number: u128) -> EntityRef {
        let form = serde_json::json!({ "label": "l", "tool_name": "noop", "trigger": { "type": "manual" } });
        let definition: Definition = serde_json::from_value(form).unwrap();
        let command = Command::Schedule { definition: Box::new(definition), held: false };
        let id = JobId(Uuid::from_u128(number));
        Arc::new(decide(id, None, SlottedCommand { command, reservation: None }, Timestamp::MIN).unwrap().job)
    }

    #[test]
    fn the_newest_jobs_are_kept_and_the_cache_stays_bounded() {
        let mut cache = Cache::default();
        let one = job(1);
        for number in 0..3 * GENERATION as u128 {
            cache.keep(entity(number), one.clone());
        }
        assert!(cache.young.len() + cache.old.len() <= 2 * GENERATION);
        assert!(cache.get(entity(0)).is_none());
        let last = entity(3 * GENERATION as u128 - 1);
        assert!(cache.get(last).is_some());
        cache.forget(last);
        assert!(cache.get(last).is_none());
    }
}
