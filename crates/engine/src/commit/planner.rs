//! Turns the commands of a round into one batch: each is decided on its entity as the round has left it so far, and all
//! commands on one entity become one item.
//!
//! Invariant: pure. The same states, commands and moment give the same batch; commands on one entity apply in the order
//! they came.

use std::sync::Arc;

use ordo_model::job::Run;
use ordo_model::{EntityId, Millis, Moment, Timestamp};
use ordo_store::{Alarm, Batch, Chunk, Dedup, Disposition, EventActor, Item, NewEvent, Quota, RowWrite, Trim};
use uuid::Uuid;

use super::change::{Change, SharedLimit};
use super::command::Submission;
use super::encoding::audit;
use super::encoding::keys;
use super::state::{EntityRef, EntityState};

/// What is known of each entity, in the order of their ids.
pub(crate) type States = Vec<(EntityId, Option<EntityRef>)>;

#[derive(Default)]
pub(crate) struct RoundPlan {
    pub(crate) batch: Batch,
    /// For each item of the batch, the entity it is about.
    pub(crate) item_entities: Vec<EntityId>,
    pub(crate) changes: Vec<Change>,
    /// The entities as the batch leaves them; those it forgets are None.
    pub(crate) states: States,
    /// For each command whether it was decided; the others come again in a later round.
    pub(crate) decided: Vec<bool>,
}

/// `states`: one for each entity of the commands. On a store that others write to as well, or on one of our own; for one with
/// tables, or without; what waits in an outbox is looked at within the delay.
pub(crate) fn plan(
    states: States,
    submissions: &mut [Submission],
    moment: Moment,
    is_shared: bool,
    has_tables: bool,
    flush_delay: Millis,
) -> RoundPlan {
    let mut works: Vec<EntityWork> = states.into_iter().map(|(entity, state)| EntityWork::new(entity, state)).collect();
    let mut plan = RoundPlan {
        batch: Batch { items: Vec::with_capacity(works.len()), ..Batch::default() },
        item_entities: Vec::with_capacity(works.len()),
        changes: Vec::with_capacity(works.len()),
        states: Vec::with_capacity(works.len()),
        decided: Vec::with_capacity(submissions.len()),
    };
    for submission in submissions {
        let entity = submission.command.entity();
        let at =
            works.binary_search_by_key(&entity, |work| work.entity).expect("every entity of the round has a state");
        plan.decided.push(submission.command.decide(&mut works[at], moment, is_shared));
    }
    // What gives shares back goes before what takes some: both are often in one round.
    let (takers, others): (Vec<_>, Vec<_>) = works.into_iter().partition(|work| !work.quotas.is_empty());
    for work in others.into_iter().chain(takers) {
        let entity = work.entity;
        plan.states.push((entity, work.now.clone().filter(|_| !work.is_gone())));
        let PlannedChange { item, change, chunks } = work.finish(moment.now, has_tables, flush_delay);
        plan.batch.chunks.extend(chunks);
        if let Some(item) = item {
            plan.batch.items.push(item);
            plan.item_entities.push(entity);
        }
        plan.changes.push(change);
    }
    plan
}

/// An entity while the commands of a round are laid on it.
pub(crate) struct EntityWork {
    entity: EntityId,
    before: Option<EntityRef>,
    now: Option<EntityRef>,
    events: Vec<NewEvent>,
    /// The runs of a job that the commands touched, by command.
    runs: Vec<Arc<[Run]>>,
    dedup: Vec<Dedup>,
    quotas: Vec<Quota>,
    chunks: Vec<Chunk>,
    /// Rows that retention takes away.
    rows: Vec<RowWrite>,
    trim: Option<Trim>,
    forget: Vec<Uuid>,
    /// Owners of chunks that any state on the way named.
    owners: Vec<Uuid>,
    is_purged: bool,
    change: Change,
}

struct PlannedChange {
    item: Option<Item>,
    change: Change,
    chunks: Vec<Chunk>,
}

impl EntityWork {
    fn new(entity: EntityId, state: Option<EntityRef>) -> EntityWork {
        EntityWork {
            entity,
            now: state.clone(),
            before: state,
            events: Vec::new(),
            runs: Vec::new(),
            dedup: Vec::new(),
            quotas: Vec::new(),
            chunks: Vec::new(),
            rows: Vec::new(),
            trim: None,
            forget: Vec::new(),
            owners: Vec::new(),
            is_purged: false,
            change: Change::of(entity),
        }
    }

    pub(crate) fn state(&self) -> Option<&EntityRef> {
        self.now.as_ref()
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The entity ends with this round.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_purged || self.now.as_ref().is_some_and(|state| state.is_over())
    }

    pub(crate) fn claims(&self, key: &[u8]) -> bool {
        self.dedup.iter().any(|claimed| claimed.key == key)
    }

    pub(crate) fn change(&mut self) -> &mut Change {
        &mut self.change
    }

    pub(crate) fn advance(
        &mut self,
        state: Arc<impl EntityState>,
        events: impl Iterator<Item = NewEvent>,
        actor: &EventActor,
    ) {
        self.owners.extend(state.chunk_owners());
        let before = self.before.as_ref().map_or(0, |before| before.version());
        self.events.reserve(events.size_hint().0);
        for event in events {
            let version = before + self.events.len() as u64 + 1;
            self.rows.extend(audit::row(self.entity, version, (&event.kind, event.at), actor, state.as_ref()));
            self.events.push(NewEvent { actor: actor.clone(), ..event });
        }
        self.now = Some(state);
    }

    pub(crate) fn touch(&mut self, runs: Arc<[Run]>) {
        self.runs.push(runs);
    }

    /// Each run that was touched, as it is after the last command.
    fn touched(runs: &[Arc<[Run]>]) -> Vec<&Run> {
        let mut touched: Vec<&Run> = Vec::new();
        for run in runs.iter().flat_map(|runs| runs.iter()) {
            match touched.iter_mut().find(|known| known.id == run.id) {
                Some(known) => *known = run,
                None => touched.push(run),
            }
        }
        touched
    }

    pub(crate) fn claim(&mut self, keys: impl Iterator<Item = Dedup>) {
        self.dedup.extend(keys);
    }

    pub(crate) fn reserve(&mut self, quotas: Vec<Quota>) {
        self.quotas.extend(quotas);
    }

    pub(crate) fn attach(&mut self, chunks: impl Iterator<Item = Chunk>) {
        self.chunks.extend(chunks);
    }

    pub(crate) fn trim(&mut self, trim: Option<Trim>, rows: Vec<RowWrite>, forget: Vec<Uuid>) {
        self.trim = trim.or(self.trim.take());
        self.rows.extend(rows);
        self.forget.extend(forget);
    }

    pub(crate) fn purge(&mut self, rows: Vec<RowWrite>, forget: Vec<Uuid>) {
        self.is_purged = true;
        self.rows.extend(rows);
        self.forget.extend(forget);
    }

    fn finish(mut self, now: Timestamp, has_tables: bool, flush_delay: Millis) -> PlannedChange {
        let mut change = std::mem::replace(&mut self.change, Change::of(self.entity));
        let chunks = std::mem::take(&mut self.chunks);
        let Some(state) = self.now.take() else { return PlannedChange { item: None, change, chunks } };
        let is_gone = self.is_purged || state.is_over();
        match is_gone {
            true => change.rank = state.rank(),
            false => state.describe(!self.events.is_empty(), flush_delay, &mut change),
        }
        let has_item = !self.events.is_empty() || self.is_purged;
        let alarm = state.alarm(flush_delay).filter(|_| !is_gone);
        let item = has_item.then(|| self.item(&state, is_gone, has_tables, alarm, now));
        let freed = item.iter().flat_map(|item| &item.freed).filter_map(|key| SharedLimit::read(key));
        change.freed.extend(freed.filter_map(|limit| match limit {
            SharedLimit::Concurrency(key) => Some(key),
            SharedLimit::Rate(_) => None,
        }));
        PlannedChange { item, change, chunks }
    }

    fn item(
        mut self,
        state: &EntityRef,
        is_gone: bool,
        has_tables: bool,
        alarm: Option<Alarm>,
        now: Timestamp,
    ) -> Item {
        let expected = self.before.as_ref().map_or(0, |before| before.version());
        let mut owners = self.before.as_ref().map(|before| before.chunk_owners()).unwrap_or_default();
        owners.append(&mut self.owners);
        let (named, disposition) = match is_gone {
            true => {
                let stored = self.before.as_ref().map(|before| before.rows(has_tables)).unwrap_or_default();
                self.rows.extend(stored.into_iter().map(RowWrite::gone));
                (Vec::new(), Disposition::Purge)
            }
            false => {
                self.rows.extend(state.row_changes(self.before.as_ref(), &Self::touched(&self.runs), has_tables));
                self.trim = self.trim.or_else(|| state.checkpoint(expected, now));
                (state.chunk_owners(), Disposition::Keep { snapshot: state.encode(), alarm })
            }
        };
        self.forget.extend(owners.into_iter().filter(|owner| !named.contains(owner)));
        let freed = keys::keys_freed(&self.rows).collect();
        Item {
            entity: self.entity,
            expected,
            events: self.events,
            disposition,
            rows: self.rows,
            dedup: self.dedup,
            quotas: self.quotas,
            freed,
            trim: self.trim,
            forget_chunks: self.forget,
        }
    }
}
