//! Reads of objects: one by its id, many through an index.

use ordo_model::{EntityId, object::Object};
use ordo_store::{Fault, KeyRange, Order, View};
use uuid::Uuid;

use crate::commit::keys;
use crate::commit::kinds::Stored;
use crate::commit::kinds::index_key;
use crate::commit::state::Versioned;
use crate::commit::state::read;
use crate::read::queries::Queries;

/// Which part of an index is read.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    pub index: u8,
    /// Only keys that begin with this.
    pub prefix: &'a [u8],
    /// The key, without kind and index, behind which to go on.
    pub after: Option<&'a [u8]>,
    pub order: Order,
    pub limit: usize,
}

impl<'a> Section<'a> {
    /// A whole index from its beginning.
    pub fn all(index: u8, limit: usize) -> Section<'a> {
        Section { index, prefix: &[], after: None, order: Order::Ascending, limit }
    }
}

/// Objects in the order of an index.
#[derive(Debug, Clone)]
pub struct Found<T> {
    pub items: Vec<Versioned<T>>,
    /// Where to go on, if there may be more.
    pub next: Option<Vec<u8>>,
}

impl Queries {
    pub async fn object<T: Stored>(&self, id: Uuid) -> Result<Option<Versioned<T>>, Fault> {
        let entity = EntityId { kind: T::KIND, id };
        let snapshot = self.store().load(&[entity]).await?.pop().flatten();
        snapshot.map(|snapshot| read(id, &snapshot)).transpose()
    }

    /// The objects that a section of an index names; its keys end with their ids.
    pub async fn objects<T: Stored>(&self, section: &Section<'_>) -> Result<Found<T>, Fault> {
        let keys = self.index_keys::<T>(section).await?;
        let next = keys.last().filter(|_| keys.len() == section.limit).map(|key| key[2..].to_vec());
        let ids: Vec<Uuid> = keys.iter().filter_map(|key| keys::trailing_id(key)).collect();
        let entities: Vec<EntityId> = ids.iter().map(|id| EntityId { kind: T::KIND, id: *id }).collect();
        let snapshots = self.store().load(&entities).await?;
        let found = ids.into_iter().zip(snapshots).filter_map(|(id, snapshot)| Some(read(id, &snapshot?)));
        Ok(Found { items: found.collect::<Result<_, Fault>>()?, next })
    }

    /// The ids that a section of an index names.
    pub async fn object_ids<T: Stored>(&self, section: &Section<'_>) -> Result<Vec<Uuid>, Fault> {
        let keys = self.index_keys::<T>(section).await?;
        Ok(keys.iter().filter_map(|key| keys::trailing_id(key)).collect())
    }

    async fn index_keys<T: Object>(&self, section: &Section<'_>) -> Result<Vec<Vec<u8>>, Fault> {
        let mut range = KeyRange::prefix(&index_key::<T>(section.index, section.prefix));
        if let Some(after) = section.after {
            let after = index_key::<T>(section.index, after);
            match section.order {
                Order::Ascending => range.from = [after.as_slice(), &[0]].concat(),
                Order::Descending => range.to = Some(after),
            }
        }
        let rows = self.store().rows(View::Index, &range, section.order, section.limit).await?;
        Ok(rows.into_iter().map(|row| row.key).collect())
    }
}
