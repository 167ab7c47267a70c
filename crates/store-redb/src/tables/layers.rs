//! Reads through the layers: the active overlay over the frozen ones over redb.
//!
//! Invariant: of a key that several layers have, the uppermost says whether there is such a row and what it holds.

use std::cmp::Ordering;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use ordo_store::{Direction, Fault};
use redb::{AccessGuard, Key, Range, ReadOnlyTable, ReadableTableMetadata, StorageError};

use crate::fault::during;
use crate::overlay::{Entries, Entry, Growth, Overlay};
use crate::state::Frozen;
use crate::tables::TableId;
use crate::tables::base::Base;
use crate::tables::coded::Coded;

/// From where to where, in bytes of keys.
pub(crate) type Bounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// Called with key and value of a row; says whether to go on.
pub(crate) type RowVisitor<'v> = &'v mut dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, Fault>;

/// One moment of the store.
#[derive(Debug, Clone)]
pub(crate) struct ReadView {
    pub(crate) active: Arc<Overlay>,
    /// The newest first.
    pub(crate) frozen: Arc<[Frozen]>,
    pub(crate) base: Arc<Base>,
}

impl ReadView {
    pub(crate) fn layers(&self) -> Layers<'_> {
        self.layers_under(&self.active)
    }

    /// With another overlay in the place of the active one.
    pub(crate) fn layers_under<'m>(&'m self, active: &'m Overlay) -> Layers<'m> {
        Layers { active, frozen: &self.frozen, base: &self.base }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Layers<'m> {
    active: &'m Overlay,
    frozen: &'m [Frozen],
    base: &'m Base,
}

impl<'m> Layers<'m> {
    /// Whether the derived tables are incomplete.
    pub(crate) fn is_rebuilding(&self) -> bool {
        self.base.is_rebuilding
    }

    /// What `read` makes of the value of a row, if there is one.
    pub(crate) fn get<T>(
        &self,
        table: TableId,
        key: &[u8],
        read: impl FnOnce(&[u8]) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        if let Some(entry) = self.overlaid(table, key) {
            return entry.value().map(read).transpose();
        }
        match table {
            TableId::Streams | TableId::Snapshots if self.base.is_beyond_jobs(key) => Ok(None),
            TableId::Events => get(&self.base.events, key, read),
            TableId::Streams => get(&self.base.streams, key, read),
            TableId::Snapshots => get(&self.base.snapshots, key, read),
            TableId::Alarms => get(&self.base.alarms, key, read),
            TableId::Chunks => get(&self.base.chunks, key, read),
            TableId::Dedup => get(&self.base.dedup, key, read),
            TableId::DedupExpiry => get(&self.base.dedup_expiry, key, read),
            TableId::Rows(view) => get(&self.base.rows[view as usize], key, read),
        }
    }

    /// Whether what is said of a key is not in redb yet.
    pub(crate) fn is_overlaid(&self, table: TableId, key: &[u8]) -> bool {
        self.overlaid(table, key).is_some()
    }

    fn overlaid(&self, table: TableId, key: &[u8]) -> Option<&'m Entry> {
        self.overlays().find_map(|overlay| overlay.map(table).get(key))
    }

    /// Visits the rows of a range in order, until `visit` has enough.
    pub(crate) fn scan(
        &self,
        table: TableId,
        bounds: Bounds<'_>,
        order: Direction,
        visit: RowVisitor<'_>,
    ) -> Result<(), Fault> {
        if is_empty(bounds) {
            return Ok(());
        }
        let overlaid = Overlaid::new(self, table, bounds, order);
        match table {
            TableId::Events => merge(&self.base.events, overlaid, bounds, visit),
            TableId::Streams => merge(&self.base.streams, overlaid, bounds, visit),
            TableId::Snapshots => merge(&self.base.snapshots, overlaid, bounds, visit),
            TableId::Alarms => merge(&self.base.alarms, overlaid, bounds, visit),
            TableId::Chunks => merge(&self.base.chunks, overlaid, bounds, visit),
            TableId::Dedup => merge(&self.base.dedup, overlaid, bounds, visit),
            TableId::DedupExpiry => merge(&self.base.dedup_expiry, overlaid, bounds, visit),
            TableId::Rows(view) => merge(&self.base.rows[view as usize], overlaid, bounds, visit),
        }
    }

    /// How many events, entities and alarms there are, as counted while they were written: costs nothing.
    pub(crate) fn grown(&self) -> Result<Growth, Fault> {
        let rows = |rows: Result<u64, StorageError>| rows.map(|rows| rows as i64).map_err(during("counting"));
        let base = Growth {
            events: rows(self.base.events.len())?,
            entities: rows(self.base.snapshots.len())?,
            alarms: rows(self.base.alarms.len())?,
        };
        Ok(self.overlays().fold(base, |sum, overlay| sum.plus(overlay.growth)))
    }

    /// How many chunks there are, were none of the overlaid ones there before and none of them gone: costs nothing.
    pub(crate) fn chunks_at_most(&self) -> Result<u64, Fault> {
        let base = self.base.chunks.len().map_err(during("counting"))?;
        Ok(self.overlays().map(|overlay| overlay.map(TableId::Chunks).len() as u64).fold(base, u64::saturating_add))
    }

    /// The uppermost first.
    fn overlays(&self) -> impl Iterator<Item = &'m Overlay> {
        std::iter::once(self.active).chain(self.frozen.iter().map(|frozen| &*frozen.overlay))
    }

    /// How many rows there are. Costs a look-up for each row of the overlays.
    pub(crate) fn count(&self, table: TableId) -> Result<u64, Fault> {
        match table {
            TableId::Events => self.count_over(&self.base.events, table),
            TableId::Streams => self.count_over(&self.base.streams, table),
            TableId::Snapshots => self.count_over(&self.base.snapshots, table),
            TableId::Alarms => self.count_over(&self.base.alarms, table),
            TableId::Chunks => self.count_over(&self.base.chunks, table),
            TableId::Dedup => self.count_over(&self.base.dedup, table),
            TableId::DedupExpiry => self.count_over(&self.base.dedup_expiry, table),
            TableId::Rows(view) => self.count_over(&self.base.rows[view as usize], table),
        }
    }

    fn count_over<K: Coded + Key, V: Coded>(&self, base: &ReadOnlyTable<K, V>, table: TableId) -> Result<u64, Fault> {
        let mut rows = base.len().map_err(during("counting"))?;
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut overlaid = Overlaid::new(self, table, all, Direction::Ascending);
        while let Some(entry) = overlaid.next() {
            let is_below = get(base, entry.key(), |_| Ok(()))?.is_some();
            match (entry.value().is_some(), is_below) {
                (true, false) => rows += 1,
                (false, true) => rows -= 1,
                (true, true) | (false, false) => {}
            }
        }
        Ok(rows)
    }
}

/// A range that redb would not take: its end lies before its beginning.
fn is_empty(bounds: Bounds<'_>) -> bool {
    match bounds {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from >= to,
    }
}

fn get<K: Coded + Key, V: Coded, T>(
    table: &ReadOnlyTable<K, V>,
    key: &[u8],
    read: impl FnOnce(&[u8]) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    let found = table.get(K::parse(key)?).map_err(during("reading a row"))?;
    found.map(|value| V::with_bytes(&value.value(), read)).transpose()
}

/// The rows of all overlays in order; of a key that several have, the uppermost one's.
struct Overlaid<'m> {
    /// The uppermost first; only those that have rows in the range.
    walks: Vec<Entries<'m>>,
    order: Direction,
}

impl<'m> Overlaid<'m> {
    fn new(layers: &Layers<'m>, table: TableId, bounds: Bounds<'_>, order: Direction) -> Overlaid<'m> {
        let walks = layers.overlays().map(|overlay| Entries::new(overlay.map(table), bounds.0, bounds.1, order));
        Overlaid { walks: walks.filter(|walk| walk.peek().is_some()).collect(), order }
    }

    fn peek(&self) -> Option<&'m Entry> {
        // Of equals, the first.
        self.walks.iter().filter_map(Entries::peek).min_by(|one, other| in_order(self.order, one.key(), other.key()))
    }

    fn next(&mut self) -> Option<&'m Entry> {
        let next = self.peek()?;
        for walk in &mut self.walks {
            if walk.peek().is_some_and(|entry| entry.key() == next.key()) {
                walk.advance();
            }
        }
        Some(next)
    }
}

/// Which of two keys comes first.
fn in_order(order: Direction, one: &[u8], other: &[u8]) -> Ordering {
    match order {
        Direction::Ascending => one.cmp(other),
        Direction::Descending => other.cmp(one),
    }
}

fn merge<K: Coded + Key, V: Coded>(
    table: &ReadOnlyTable<K, V>,
    mut overlaid: Overlaid<'_>,
    bounds: Bounds<'_>,
    visit: RowVisitor<'_>,
) -> Result<(), Fault> {
    let order = overlaid.order;
    let range = (parse_bound::<K>(bounds.0)?, parse_bound::<K>(bounds.1)?);
    let mut below = table.range::<K::SelfType<'_>>(range).map_err(during("reading rows"))?;
    let mut row = next_row(&mut below, order)?;
    loop {
        let first = match (&row, overlaid.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((key, _)), Some(entry)) => K::with_bytes(&key.value(), |key| in_order(order, key, entry.key())),
        };
        let flow = match (first, &row) {
            (Ordering::Less, Some((key, value))) => {
                K::with_bytes(&key.value(), |key| V::with_bytes(&value.value(), |value| visit(key, value)))?
            }
            _ => match overlaid.next() {
                Some(entry) => {
                    entry.value().map_or(Ok(ControlFlow::Continue(())), |value| visit(entry.key(), value))?
                }
                None => ControlFlow::Continue(()),
            },
        };
        if flow.is_break() {
            return Ok(());
        }
        if first.is_le() {
            row = next_row(&mut below, order)?;
        }
    }
}

type RowBelow<K, V> = (AccessGuard<'static, K>, AccessGuard<'static, V>);

fn next_row<K: Coded + Key, V: Coded>(
    below: &mut Range<'static, K, V>,
    order: Direction,
) -> Result<Option<RowBelow<K, V>>, Fault> {
    let next = match order {
        Direction::Ascending => below.next(),
        Direction::Descending => below.next_back(),
    };
    next.transpose().map_err(during("reading rows"))
}

fn parse_bound<K: Coded>(bound: Bound<&[u8]>) -> Result<Bound<K::SelfType<'_>>, Fault> {
    Ok(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(K::parse(key)?),
        Bound::Excluded(key) => Bound::Excluded(K::parse(key)?),
    })
}
