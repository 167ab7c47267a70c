//! Notifications as callers use them: lists by state or by what they are about; and the silences that hold them back.

use ordo_model::limits::SILENCES_MAX;
use ordo_model::notification::{Message, Notification};
use ordo_model::silence::Silence;
use ordo_model::{EntityId, Timestamp};
use ordo_store::{Direction, Fault};
use uuid::Uuid;

use crate::commit::kinds::notification::{NOTIFICATIONS_BY_ENTITY, NOTIFICATIONS_BY_STATE, entity_prefix};
use crate::commit::state::Versioned;
use crate::read::object_queries::IndexRange;
use crate::read::page::{Cursor, ListPage};
use crate::read::queries::Queries;

impl Queries {
    /// The silences there are, the oldest first. One that has ended is none.
    pub async fn silences(&self) -> Result<Vec<Versioned<Silence>>, Fault> {
        Ok(self.objects::<Silence>(&IndexRange::all(0, SILENCES_MAX)).await?.items)
    }

    /// The silence that holds a message back now, if one does.
    pub(crate) async fn silence_of(&self, message: &Message, now: Timestamp) -> Result<Option<Uuid>, Fault> {
        let all = self.silences().await?;
        Ok(all.iter().find(|silence| silence.covers(message, now)).map(|silence| silence.id))
    }

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
