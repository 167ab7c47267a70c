//! Where streams end in KurrentDB, as far as this mirror wrote to them lately. A cache: what is not in it is looked up.

use std::collections::HashMap;

use ordo_model::EntityId;

use crate::appending::StreamEnd;

/// How many streams one half of the cache holds.
const HALF: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct StreamEnds {
    young: HashMap<EntityId, StreamEnd>,
    old: HashMap<EntityId, StreamEnd>,
}

impl StreamEnds {
    pub(crate) fn get(&self, entity: EntityId) -> Option<StreamEnd> {
        self.young.get(&entity).or_else(|| self.old.get(&entity)).copied()
    }

    /// When the young half is full, it becomes the old one: what was not used since is forgotten.
    pub(crate) fn put(&mut self, entity: EntityId, end: StreamEnd) {
        if self.young.len() >= HALF {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(entity, end);
    }

    pub(crate) fn forget(&mut self) {
        *self = StreamEnds::default();
    }
}

#[cfg(test)]
mod tests {
    use ordo_model::Kind;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn it_forgets_what_was_not_used_lately() {
        let stream = |number: usize| EntityId { kind: Kind::Job, id: Uuid::from_u128(number as u128) };
        let end = StreamEnd { version: 1, revision: 0 };
        let mut ends = StreamEnds::default();
        (0..3 * HALF).for_each(|number| ends.put(stream(number), end));
        assert_eq!((ends.get(stream(0)), ends.get(stream(3 * HALF - 1))), (None, Some(end)));
        assert!(ends.young.len() + ends.old.len() <= 2 * HALF);
    }
}
