//! What batches come to, decided in memory on what the database says under the locks of their partitions.
//!
//! Invariant: pure. Items apply in order and see what earlier ones left; a refused item leaves nothing behind.

use std::collections::{BTreeMap, BTreeSet};

use ordo_model::{EntityId, Timestamp};
use ordo_store::{
    Alarm, Batch, CommitOutcome, Dedup, Disposition, Item, NewEvent, Partition, RowWrite, Trim, Version, View,
};
use uuid::Uuid;

use crate::codes;
use crate::read::position::Vector;
use crate::tables::bounds::named;
use crate::tables::{NewTableRow, TableWrites};
use crate::write::quota::{self, CountedQuotas, KnownQuotas, NewStart};

/// What must be locked and read before batches can be decided.
#[derive(Debug, Default)]
pub(crate) struct Concerned {
    pub(crate) partitions: BTreeSet<Partition>,
    pub(crate) entities: BTreeSet<EntityId>,
    pub(crate) keys: BTreeSet<Vec<u8>>,
    pub(crate) quotas: CountedQuotas,
}

impl Concerned {
    pub(crate) fn of(batches: &[Batch]) -> Concerned {
        let mut concerned = Concerned { quotas: CountedQuotas::of(batches), ..Concerned::default() };
        concerned.partitions.extend(concerned.quotas.partitions());
        for item in batches.iter().flat_map(|batch| &batch.items) {
            concerned.partitions.insert(Partition::of(item.entity));
            concerned.entities.insert(item.entity);
            for entry in &item.dedup {
                concerned.partitions.insert(Partition::of_key(&entry.key));
                concerned.keys.insert(entry.key.clone());
            }
        }
        concerned
    }
}

/// What the database says.
#[derive(Debug, Default)]
pub(crate) struct KnownState {
    /// The last number given out in each partition.
    pub(crate) last: BTreeMap<Partition, u64>,
    pub(crate) versions: BTreeMap<EntityId, Version>,
    pub(crate) taken: BTreeMap<Vec<u8>, (Timestamp, Vec<u8>)>,
    pub(crate) quotas: KnownQuotas,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SnapshotWrite<'a> {
    /// What is stored until now, if the guard holds; 0: nothing.
    pub(crate) expected: Version,
    pub(crate) version: Version,
    pub(crate) alarm: Option<Alarm>,
    pub(crate) state: &'a [u8],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended<'a> {
    pub(crate) number: u64,
    pub(crate) version: Version,
    pub(crate) event: &'a NewEvent,
}

/// Stored events up to `through` go. The checkpoint takes the place of the last of them, unless that one is appended
/// by this very plan and carries it already.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut<'a> {
    pub(crate) through: Version,
    pub(crate) checkpoint: Option<&'a NewEvent>,
}

/// View and key.
type RowKey<'a> = (i32, &'a [u8]);

/// What is to be written. Deletions come first, so that what is made anew stays.
#[derive(Debug, Default)]
pub(crate) struct Writes<'a> {
    /// The last number given out in each partition that gave out any.
    pub(crate) last: BTreeMap<Partition, u64>,
    /// None: it goes.
    pub(crate) entities: BTreeMap<EntityId, Option<SnapshotWrite<'a>>>,
    /// Streams whose stored events all go.
    pub(crate) purged: BTreeSet<EntityId>,
    pub(crate) cuts: BTreeMap<EntityId, Cut<'a>>,
    pub(crate) events: BTreeMap<EntityId, Vec<Appended<'a>>>,
    /// By view and key; None: it goes. The partition is that of the entity that wrote it last.
    pub(crate) rows: BTreeMap<RowKey<'a>, (Partition, Option<&'a [u8]>)>,
    pub(crate) tables: TableWrites<'a>,
    /// Rows of tables that are most likely new.
    pub(crate) begun: BTreeSet<(View, Uuid)>,
    pub(crate) dedup: BTreeMap<&'a [u8], &'a Dedup>,
    pub(crate) starts: Vec<NewStart<'a>>,
    /// Partitions of the keys of quotas of which a share was given back.
    pub(crate) freed: BTreeSet<Partition>,
    pub(crate) forgotten: BTreeSet<Uuid>,
    pub(crate) chunks: BTreeMap<(Uuid, u64), &'a [u8]>,
}

impl<'a> Writes<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        let Writes {
            last: _,
            entities,
            purged,
            cuts,
            events,
            rows,
            tables,
            begun: _,
            dedup,
            starts,
            freed: _,
            forgotten,
            chunks,
        } = self;
        entities.is_empty()
            && purged.is_empty()
            && cuts.is_empty()
            && events.is_empty()
            && rows.is_empty()
            && tables.is_empty()
            && dedup.is_empty()
            && starts.is_empty()
            && forgotten.is_empty()
            && chunks.is_empty()
    }

    pub(crate) fn put_rows(&mut self, partition: Partition, rows: &'a [RowWrite]) {
        for RowWrite { view, key, value, cells } in rows {
            match view.shape() {
                None => {
                    self.rows.insert((code_of(*view), key), (partition, value.as_deref()));
                }
                Some(shape) if shape.table == *view => {
                    let Ok(id) = Uuid::from_slice(key) else { continue };
                    let row = value.as_deref().map(|value| NewTableRow { value, cells });
                    self.tables.insert((*view, id), (partition, row));
                }
                // An index of a table has what the table's columns say. Where its keys never change, its row comes with a new
                // row of the table, and with no other.
                Some(shape) if value.is_some() && named(&shape).is_none() => {
                    self.begun.extend(key.last_chunk().map(|id| (shape.table, Uuid::from_bytes(*id))));
                }
                Some(_) => {}
            }
        }
    }

    /// Whether a row of a table is most likely not there yet: it is that of a new entity, or came with its row in an index.
    pub(crate) fn is_new(&self, table: View, id: Uuid) -> bool {
        self.begun.contains(&(table, id))
    }

    /// Partitions in which something became visible, or free.
    pub(crate) fn partitions(&self) -> Vec<Partition> {
        let touched = self.entities.keys().map(|entity| Partition::of(*entity));
        let touched: BTreeSet<Partition> = touched.chain(self.freed.iter().copied()).collect();
        touched.into_iter().collect()
    }
}

fn code_of(view: View) -> i32 {
    codes::view(view)
}

/// Outcomes by batch, and what they rest on.
#[derive(Debug, Default)]
pub(crate) struct CommitPlan<'a> {
    pub(crate) outcomes: Vec<Vec<CommitOutcome>>,
    pub(crate) writes: Writes<'a>,
    known: KnownState,
}

impl<'a> CommitPlan<'a> {
    pub(crate) fn of(batches: &'a [Batch], known: KnownState) -> CommitPlan<'a> {
        let mut plan = CommitPlan { known, ..CommitPlan::default() };
        for batch in batches {
            for chunk in &batch.chunks {
                plan.writes.chunks.insert((chunk.owner, chunk.seq), &chunk.bytes);
            }
            let outcomes = batch.items.iter().map(|item| plan.take(item)).collect();
            plan.outcomes.push(outcomes);
        }
        plan
    }

    fn take(&mut self, item: &'a Item) -> CommitOutcome {
        if let Some(duplicate) = self.duplicate(&item.dedup) {
            return duplicate;
        }
        let actual = self.known.versions.get(&item.entity).copied().unwrap_or(0);
        if actual != item.expected {
            return CommitOutcome::Conflict { actual };
        }
        match self.known.quotas.take(item) {
            Ok(starts) => self.writes.starts.extend(starts),
            Err(exhausted) => return exhausted,
        }
        self.known.quotas.wrote(&item.rows);
        self.writes.freed.extend(quota::freed(item));
        let outcome = match &item.disposition {
            Disposition::Keep { snapshot, alarm } => self.keep(item, snapshot, *alarm),
            Disposition::Purge => self.purge(item.entity),
        };
        self.writes.put_rows(Partition::of(item.entity), &item.rows);
        for entry in &item.dedup {
            self.known.taken.insert(entry.key.clone(), (entry.until, entry.value.clone()));
            self.writes.dedup.insert(&entry.key, entry);
        }
        for owner in &item.forget_chunks {
            self.writes.chunks.retain(|(known, _), _| known != owner);
            self.writes.forgotten.insert(*owner);
        }
        outcome
    }

    fn duplicate(&self, entries: &[Dedup]) -> Option<CommitOutcome> {
        entries.iter().find_map(|entry| {
            let (until, value) = self.known.taken.get(&entry.key)?;
            (*until > entry.at).then(|| CommitOutcome::Duplicate { key: entry.key.clone(), value: value.clone() })
        })
    }

    fn keep(&mut self, item: &'a Item, state: &'a [u8], alarm: Option<Alarm>) -> CommitOutcome {
        let partition = Partition::of(item.entity);
        let (mut version, mut last) = (item.expected, None);
        for event in &item.events {
            version += 1;
            let number = self.next_number(partition);
            last = Some(number);
            self.writes.events.entry(item.entity).or_default().push(Appended { number, version, event });
        }
        self.known.versions.insert(item.entity, version);
        let earlier = self.writes.entities.get(&item.entity).copied().flatten();
        let expected = earlier.map_or(item.expected, |earlier| earlier.expected);
        if expected == 0 {
            let own = item.rows.iter().filter(|row| row.view.is_table() && row.key == item.entity.id.as_bytes());
            self.writes.begun.extend(own.map(|row| (row.view, item.entity.id)));
        }
        self.writes.entities.insert(item.entity, Some(SnapshotWrite { expected, version, alarm, state }));
        if let Some(trim) = &item.trim {
            self.cut(item.entity, trim);
        }
        CommitOutcome::Committed { version, last: last.map(|number| Vector::single(partition, number).write()) }
    }

    fn next_number(&mut self, partition: Partition) -> u64 {
        let last = self.known.last.entry(partition).or_default();
        *last += 1;
        self.writes.last.insert(partition, *last);
        *last
    }

    fn purge(&mut self, entity: EntityId) -> CommitOutcome {
        self.known.versions.remove(&entity);
        self.writes.events.remove(&entity);
        self.writes.cuts.remove(&entity);
        self.writes.entities.insert(entity, None);
        self.writes.purged.insert(entity);
        CommitOutcome::Committed { version: 0, last: None }
    }

    fn cut(&mut self, entity: EntityId, trim: &'a Trim) {
        let Trim { through, checkpoint } = trim;
        if *through == 0 || self.writes.cuts.get(&entity).is_some_and(|cut| cut.through > *through) {
            return;
        }
        let appended = self.writes.events.get_mut(&entity);
        let here = appended.and_then(|events| {
            let place = events.iter().position(|event| event.version == *through)?;
            events[place].event = checkpoint;
            events.drain(..place);
            Some(())
        });
        let checkpoint = if here.is_some() { None } else { Some(checkpoint) };
        self.writes.cuts.insert(entity, Cut { through: *through, checkpoint });
    }
}
