//! Turns the asks of a round into items of its batch: all asks on one object become one item.
//!
//! Invariant: pure. Asks on one object apply in the order they came.

use std::collections::BTreeMap;
use std::sync::Arc;

use ordo_model::{EntityId, Timestamp};
use ordo_store::{Chunk, Dedup, Disposition, Item, NewEvent, RowWrite};
use uuid::Uuid;

use super::ask::Ask;
use super::state::State;
use crate::commit::change::Change;

/// What is known of each object before the round.
pub(crate) type Loaded = BTreeMap<EntityId, Option<Arc<dyn State>>>;

#[derive(Default)]
pub(crate) struct ObjectPlan {
    pub(crate) items: Vec<Item>,
    /// For each item, the object it is about.
    pub(crate) item_entities: Vec<EntityId>,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) changes: BTreeMap<EntityId, Change>,
    /// Asks that came after the end of their object, or with a key that another ask of the round claims: they are
    /// decided anew in a later round.
    pub(crate) too_late: Vec<bool>,
}

#[derive(Default)]
struct Work {
    before: Option<Arc<dyn State>>,
    now: Option<Arc<dyn State>>,
    events: Vec<NewEvent>,
    dedup: Vec<Dedup>,
    /// Owners of chunks that any state on the way named.
    owners: Vec<Uuid>,
}

pub(crate) fn plan(loaded: Loaded, asks: &mut [Box<dyn Ask>], now: Timestamp) -> ObjectPlan {
    let work = |state: Option<Arc<dyn State>>| Work { now: state.clone(), before: state, ..Work::default() };
    let mut works: BTreeMap<EntityId, Work> = loaded.into_iter().map(|(id, state)| (id, work(state))).collect();
    let mut plan = ObjectPlan::default();
    for ask in asks {
        let work = works.entry(ask.entity()).or_default();
        let ended = work.now.as_ref().is_some_and(|state| state.is_over());
        let claimed = work.dedup.iter().any(|dedup| ask.claims(&dedup.key));
        plan.too_late.push(ended || claimed);
        if ended || claimed {
            continue;
        }
        if let Some(step) = ask.decide(work.now.as_ref(), now) {
            work.owners.extend(step.state.chunk_owners());
            work.now = Some(step.state);
            work.events.extend(step.events);
            work.dedup.extend(step.extras.dedup);
            plan.chunks.extend(step.extras.chunks);
        }
    }
    for (entity, work) in works {
        plan.changes.insert(entity, work.change(entity));
        if let Some(item) = work.item(entity, now) {
            plan.items.push(item);
            plan.item_entities.push(entity);
        }
    }
    plan
}

impl Work {
    fn change(&self, entity: EntityId) -> Change {
        let Some(state) = self.now.as_ref().filter(|state| !state.is_over()) else { return Change::of(entity) };
        let reconcile = if state.is_urgent() && !self.events.is_empty() { vec![entity] } else { Vec::new() };
        Change { alarm: state.alarm().map(|alarm| alarm.at), rank: state.rank(), reconcile, ..Change::of(entity) }
    }

    fn item(self, entity: EntityId, now: Timestamp) -> Option<Item> {
        let state = self.now.filter(|_| !self.events.is_empty())?;
        let expected = self.before.as_ref().map_or(0, |before| before.version());
        let old_rows = self.before.as_ref().map(|before| before.rows()).unwrap_or_default();
        let mut owners = self.before.as_ref().map(|before| before.chunk_owners()).unwrap_or_default();
        owners.extend(self.owners);
        let (rows, kept, disposition, trim) = if state.is_over() {
            (Vec::new(), Vec::new(), Disposition::Purge, None)
        } else {
            let disposition = Disposition::Keep { snapshot: state.encode(), alarm: state.alarm() };
            (state.rows(), state.chunk_owners(), disposition, state.checkpoint(expected, now))
        };
        Some(Item {
            entity,
            expected,
            events: self.events,
            disposition,
            rows: difference(&old_rows, rows),
            dedup: self.dedup,
            trim,
            forget_chunks: owners.into_iter().filter(|owner| !kept.contains(owner)).collect(),
        })
    }
}

/// The writes that bring one set of rows to another.
fn difference(old: &[RowWrite], new: Vec<RowWrite>) -> Vec<RowWrite> {
    let gone = old.iter().filter(|row| !new.iter().any(|kept| kept.view == row.view && kept.key == row.key));
    let mut writes: Vec<RowWrite> = gone.map(|row| RowWrite { value: None, ..row.clone() }).collect();
    writes.extend(new.into_iter().filter(|row| !old.contains(row)));
    writes
}
