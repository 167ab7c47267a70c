//! Notifications as callers use them: lists by state or by what they are about.

use ordo_model::EntityId;
use ordo_model::notification::Notification;
use ordo_store::{Direction, Fault};

use crate::commit::kinds::notification::{NOTIFICATIONS_BY_ENTITY, NOTIFICATIONS_BY_STATE, entity_prefix};
use crate::commit::state::Versioned;
use crate::read::object_queries::IndexRange;
use crate::read::page::{Cursor, ListPage};
use crate::read::queries::Queries;

impl Queries {
    /// Notifications in one state (by its code), newest first.
    pub async fn notifications(
        &self,
        state: u8,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<Versioned<Notification>>, Fault> {
        let prefix = [state];
        let order = Direction::Descending;
        self.objects(&IndexRange { index: NOTIFICATIONS_BY_STATE, prefix: &prefix, after, order, limit }).await
    }

    /// How many notifications are in a state, counted up to `limit`.
    pub async fn count_notifications(&self, state: u8, limit: usize) -> Result<usize, Fault> {
        let prefix = [state];
        let section = IndexRange { prefix: &prefix, ..IndexRange::all(NOTIFICATIONS_BY_STATE, limit) };
        Ok(self.object_ids::<Notification>(&section).await?.len())
    }

    /// Notifications about one entity, the newest event first.
    pub async fn notifications_about(
        &self,
        entity: EntityId,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<ListPage<Versioned<Notification>>, Fault> {
        let prefix = entity_prefix(entity);
        let order = Direction::Descending;
        self.objects(&IndexRange { index: NOTIFICATIONS_BY_ENTITY, prefix: &prefix, after, order, limit }).await
    }
}
