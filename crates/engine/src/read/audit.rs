//! Who changed what, newest first, by the rows that the changes wrote.
//!
//! Cost: one read of rows for each piece of the list. The time narrows the range that is read; the other filters are
//! checked on what it names, a bounded number for each page, and the cursor goes on.

use async_trait::async_trait;
use ordo_model::{ActorSource, EntityId, Kind, Timestamp};
use ordo_store::{Direction, Fault, KeyRange, View};

use crate::commit::encoding::audit;
pub use crate::commit::encoding::audit::AuditEntry;
use crate::read::page::{Cursor, List, ListEntry, ListPage, ListSource, read_page, rest};
use crate::read::queries::Queries;

/// How many entries one page looks at.
const ENTRIES_WALKED_MAX: usize = 5_000;

/// Which changes are shown.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// The name of whoever did it, or of whom it was done for.
    pub actor: Option<String>,
    pub source: Option<ActorSource>,
    pub kind: Option<Kind>,
    pub event: Option<String>,
    pub entity: Option<EntityId>,
    pub since: Option<Timestamp>,
    /// Before this.
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    fn shows(&self, entry: &AuditEntry) -> bool {
        let is_actor = |name: &String| entry.actor.name == *name || entry.actor.on_behalf_of.as_ref() == Some(name);
        self.actor.as_ref().is_none_or(is_actor)
            && self.source.is_none_or(|source| entry.actor.source == source)
            && self.kind.is_none_or(|kind| entry.entity.kind == kind)
            && self.event.as_ref().is_none_or(|event| entry.event == *event)
            && self.entity.is_none_or(|entity| entry.entity == entity)
    }

    fn range(&self) -> KeyRange {
        let from = self.since.map(|at| audit::time_key(at).to_vec()).unwrap_or_default();
        KeyRange { from, to: self.until.map(|at| audit::time_key(at).to_vec()) }
    }
}

struct AuditSource<'a> {
    queries: &'a Queries,
    filter: &'a AuditFilter,
}

impl Queries {
    /// Changes by people and programs, newest first.
    pub async fn audit(
        &self,
        filter: &AuditFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<AuditEntry>, Fault> {
        read_page(&AuditSource { queries: self, filter }, List::Audit, after, limit).await
    }
}

#[async_trait]
impl ListSource<AuditEntry> for AuditSource<'_> {
    async fn read(&self, after: Option<&[u8]>, count: usize) -> Result<Vec<(Vec<u8>, ListEntry<AuditEntry>)>, Fault> {
        let range = rest(self.filter.range(), after.map(<[u8]>::to_vec), Direction::Descending);
        let rows = self.queries.store().rows(View::Audit, &range, Direction::Descending, count).await?;
        let entry = |row: &ordo_store::Row| {
            let entry = audit::decode(row)?;
            let judged = if self.filter.shows(&entry) { ListEntry::Shown(entry) } else { ListEntry::Passed };
            Ok((row.key.clone(), judged))
        };
        rows.iter().map(entry).collect()
    }

    fn entries_max(&self) -> usize {
        ENTRIES_WALKED_MAX
    }
}
