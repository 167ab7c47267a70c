//! The tables of an Ordo store in redb, and the version of their layout.
//!
//! Invariant: docs/storage-format.md says the same, byte by byte. A released layout is never changed in place:
//! a new one raises [`FORMAT`] and is reached by a step at opening.

pub(crate) mod base;
pub(crate) mod coded;
pub(crate) mod keys;
pub(crate) mod layers;
pub(crate) mod values;

use ordo_store::{Fault, View};
use redb::{Key, TableDefinition, Value};

/// The layout this code reads and writes.
pub(crate) const FORMAT: u32 = 2;
/// The layout before the journal: the same tables. It is read and becomes [`FORMAT`] when the store is opened.
pub(crate) const FORMAT_WITHOUT_JOURNAL: u32 = 1;

/// kind of entity, id
pub(crate) type EntityKey = [u8; 17];
/// kind of entity, id, version
pub(crate) type StreamKey = [u8; 25];
/// milliseconds since 1970, id
pub(crate) type AlarmKey = [u8; 24];
/// owner, number
pub(crate) type ChunkKey = [u8; 24];
/// kind of entity, rank
pub(crate) type AlarmValue = [u8; 2];

/// position → the event
pub(crate) const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
/// entity, version → position
pub(crate) const STREAMS: TableDefinition<'_, &StreamKey, u64> = TableDefinition::new("streams");
/// entity → version, alarm, state
pub(crate) const SNAPSHOTS: TableDefinition<'_, &EntityKey, &[u8]> = TableDefinition::new("snapshots");
/// time, id → kind, rank
pub(crate) const ALARMS: TableDefinition<'_, &AlarmKey, &AlarmValue> = TableDefinition::new("alarms");
/// owner, number → bytes
pub(crate) const CHUNKS: TableDefinition<'_, &ChunkKey, &[u8]> = TableDefinition::new("chunks");
/// key → expiry, value
pub(crate) const DEDUP: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("dedup");
/// expiry, key → nothing
pub(crate) const DEDUP_EXPIRY: TableDefinition<'_, &[u8], ()> = TableDefinition::new("dedup_expiry");
/// The names below → their numbers
pub(crate) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");

/// The layout of the file.
pub(crate) const META_FORMAT: &str = "format";
/// The last position that was given out, whether or not its event is still kept.
pub(crate) const META_POSITION: &str = "position";
/// The number of the last journal record the tables hold.
pub(crate) const META_JOURNAL_RECORD: &str = "journal_record";
/// The id of the journal whose later records belong to the tables; 0 or absent: there are none, the file is whole.
pub(crate) const META_JOURNAL: &str = "journal";
/// Present while the derived tables are incomplete.
pub(crate) const META_REBUILDING: &str = "rebuilding";

pub(crate) const VIEWS: usize = View::ALL.len();

/// The table of a view's rows.
pub(crate) const fn rows(view: View) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(view.name())
}

/// A table of rows, by what it holds. `meta` is none of them: its few numbers are written with every transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableId {
    Events,
    Streams,
    Snapshots,
    Alarms,
    Chunks,
    Dedup,
    DedupExpiry,
    Rows(View),
}

const TABLES_BESIDE_VIEWS: usize = 7;
pub(crate) const TABLES: usize = TABLES_BESIDE_VIEWS + VIEWS;

impl TableId {
    pub(crate) fn index(self) -> usize {
        match self {
            TableId::Events => 0,
            TableId::Streams => 1,
            TableId::Snapshots => 2,
            TableId::Alarms => 3,
            TableId::Chunks => 4,
            TableId::Dedup => 5,
            TableId::DedupExpiry => 6,
            TableId::Rows(view) => TABLES_BESIDE_VIEWS + view as usize,
        }
    }
}

/// Something done to every table in turn.
pub(crate) trait Visit {
    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<(), Fault>;
}

pub(crate) fn visit_all(visit: &mut impl Visit) -> Result<(), Fault> {
    visit.table(META)?;
    visit.table(EVENTS)?;
    visit.table(STREAMS)?;
    visit.table(CHUNKS)?;
    visit.table(DEDUP)?;
    visit.table(DEDUP_EXPIRY)?;
    visit_derived(visit)
}

/// The tables that can be rebuilt from the events.
pub(crate) fn visit_derived(visit: &mut impl Visit) -> Result<(), Fault> {
    visit.table(SNAPSHOTS)?;
    visit.table(ALARMS)?;
    View::ALL.into_iter().try_for_each(|view| visit.table(rows(view)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redb::TableHandle;

    struct Names(Vec<String>);

    impl Visit for Names {
        fn table<K: Key + 'static, V: Value + 'static>(
            &mut self,
            table: TableDefinition<'static, K, V>,
        ) -> Result<(), Fault> {
            self.0.push(table.name().to_owned());
            Ok(())
        }
    }

    #[test]
    fn no_two_tables_share_a_name() {
        let mut names = Names(Vec::new());
        visit_all(&mut names).unwrap();
        let count = names.0.len();
        names.0.sort();
        names.0.dedup();
        assert_eq!(names.0.len(), count);
    }

    #[test]
    fn a_view_counts_as_it_is_listed() {
        for (index, view) in View::ALL.into_iter().enumerate() {
            assert_eq!(view as usize, index);
        }
    }
}
