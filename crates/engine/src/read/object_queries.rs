//! Reads of objects: one by its id, many through an index.

use std::marker::PhantomData;

use async_trait::async_trait;
use ordo_model::{EntityId, object::Object};
use ordo_store::{Direction, Fault, KeyRange, Row, View};
use uuid::Uuid;

use crate::commit::encoding::keys;
use crate::commit::kinds::Stored;
use crate::commit::kinds::index_key;
use crate::commit::state::Versioned;
use crate::commit::state::read;
use crate::read::page::{Cursor, List, ListEntry, ListPage, ListSource, read_page, rest};
use crate::read::queries::Queries;

/// How many objects one page looks at.
const LOADS_MAX: usize = 4_000;

/// Which part of an index is read.
#[derive(Debug, Clone)]
pub struct IndexRange<'a> {
    pub index: u8,
    /// Only keys that begin with this.
    pub prefix: &'a [u8],
    pub after: Option<&'a Cursor>,
    pub order: Direction,
    pub limit: usize,
}

impl<'a> IndexRange<'a> {
    /// A whole index from its beginning.
    pub fn all(index: u8, limit: usize) -> IndexRange<'a> {
        IndexRange { index, prefix: &[], after: None, order: Direction::Ascending, limit }
    }

    fn list<T: Object>(&self) -> List {
        List::Index { kind: T::KIND, number: self.index }
    }

    /// The key behind which to go on; a cursor of another section is refused.
    fn start<T: Object>(&self) -> Result<Option<&'a [u8]>, Fault> {
        let Some(cursor) = self.after else { return Ok(None) };
        let key = cursor.key(self.list::<T>())?;
        if key.starts_with(self.prefix) { Ok(Some(key)) } else { Err(cursor.refused()) }
    }
}

/// A section of an index as it is walked; keys are those of the index without its kind and number.
struct ObjectSource<'a, T, F> {
    queries: &'a Queries,
    section: &'a IndexRange<'a>,
    judge: F,
    of: PhantomData<fn() -> T>,
}

impl Queries {
    pub async fn object<T: Stored>(&self, id: Uuid) -> Result<Option<Versioned<T>>, Fault> {
        let entity = EntityId { kind: T::KIND, id };
        let snapshot = self.store().load(&[entity]).await?.pop().flatten();
        snapshot.map(|snapshot| read(id, &snapshot)).transpose()
    }

    /// The objects that a section of an index names; its keys end with their ids.
    pub async fn objects<T: Stored>(&self, section: &IndexRange<'_>) -> Result<ListPage<Versioned<T>>, Fault> {
        self.objects_judged(section, ListEntry::Shown).await
    }

    /// The same, where not every object fits: a page looks at a bounded number of them.
    pub(crate) async fn objects_judged<T: Stored>(
        &self,
        section: &IndexRange<'_>,
        judge: impl Fn(Versioned<T>) -> ListEntry<Versioned<T>> + Send + Sync,
    ) -> Result<ListPage<Versioned<T>>, Fault> {
        section.start::<T>()?;
        let source = ObjectSource { queries: self, section, judge, of: PhantomData };
        read_page(&source, section.list::<T>(), section.after, section.limit).await
    }

    /// The first objects below each of these prefixes of an index: one list per prefix, in order, in two reads.
    pub(crate) async fn objects_below<T: Stored>(
        &self,
        index: u8,
        prefixes: &[Vec<u8>],
        order: Direction,
        limit: usize,
    ) -> Result<Vec<Vec<Versioned<T>>>, Fault> {
        let ranges: Vec<KeyRange> =
            prefixes.iter().map(|prefix| KeyRange::prefix(&index_key::<T>(index, prefix))).collect();
        let found = self.store().rows_of_ranges(View::Index, &ranges, order, limit).await?;
        let named = |rows: &Vec<Row>| rows.iter().filter_map(|row| keys::trailing_id(&row.key)).collect::<Vec<Uuid>>();
        let ids: Vec<Vec<Uuid>> = found.iter().map(named).collect();
        let entities: Vec<EntityId> = ids.iter().flatten().map(|id| EntityId { kind: T::KIND, id: *id }).collect();
        let mut snapshots = self.store().load(&entities).await?.into_iter();
        let objects = |ids: Vec<Uuid>| {
            let loaded = ids.into_iter().zip(snapshots.by_ref());
            loaded.filter_map(|(id, snapshot)| Some(read(id, &snapshot?))).collect()
        };
        ids.into_iter().map(objects).collect()
    }

    /// The ids that a section of an index names.
    pub async fn object_ids<T: Stored>(&self, section: &IndexRange<'_>) -> Result<Vec<Uuid>, Fault> {
        let keys = self.index_keys::<T>(section, section.start::<T>()?, section.limit).await?;
        Ok(keys.iter().filter_map(|key| keys::trailing_id(key)).collect())
    }

    async fn index_keys<T: Object>(
        &self,
        section: &IndexRange<'_>,
        after: Option<&[u8]>,
        count: usize,
    ) -> Result<Vec<Vec<u8>>, Fault> {
        let whole = KeyRange::prefix(&index_key::<T>(section.index, section.prefix));
        let range = rest(whole, after.map(|key| index_key::<T>(section.index, key)), section.order);
        let rows = self.store().rows(View::Index, &range, section.order, count).await?;
        Ok(rows.into_iter().map(|row| row.key).collect())
    }
}

#[async_trait]
impl<T, F> ListSource<Versioned<T>> for ObjectSource<'_, T, F>
where
    T: Stored,
    F: Fn(Versioned<T>) -> ListEntry<Versioned<T>> + Send + Sync,
{
    async fn read(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<(Vec<u8>, ListEntry<Versioned<T>>)>, Fault> {
        let keys = self.queries.index_keys::<T>(self.section, after, count).await?;
        let ids: Vec<Uuid> = keys.iter().map(|key| keys::trailing_id(key).unwrap_or_default()).collect();
        let entities: Vec<EntityId> = ids.iter().map(|id| EntityId { kind: T::KIND, id: *id }).collect();
        let snapshots = self.queries.store().load(&entities).await?;
        let mut entries = Vec::with_capacity(keys.len());
        for ((key, id), snapshot) in keys.into_iter().zip(ids).zip(snapshots) {
            let object = snapshot.map(|snapshot| read(id, &snapshot)).transpose()?;
            entries.push((key[2..].to_vec(), object.map_or(ListEntry::Passed, &self.judge)));
        }
        Ok(entries)
    }

    fn entries_max(&self) -> usize {
        LOADS_MAX
    }
}
