//! Where notifications stand in the index: by state, by the entity they are about, and in the queue they wait in.

use ordo_model::EntityId;
use ordo_model::notification::Notification;
use ordo_store::RowWrite;
use uuid::Uuid;

use super::{Stored, index_row};

/// state, written, id
pub(crate) const NOTIFICATIONS_BY_STATE: u8 = 0;
/// sender, entity, version, id: notifications whose turn has not come or is now
pub(crate) const QUEUES: u8 = 1;
/// entity, version, id
pub(crate) const NOTIFICATIONS_BY_ENTITY: u8 = 2;

impl Stored for Notification {
    const LIST: u8 = NOTIFICATIONS_BY_STATE;

    fn rows(&self, id: Uuid) -> Vec<RowWrite> {
        let entity = self.message.entity();
        let turn = [&self.message.version.to_be_bytes()[..], id.as_bytes()].concat();
        let by_state = [&[self.state.code()], &self.written_at.ms().to_be_bytes()[..], id.as_bytes()].concat();
        let mut rows = vec![
            index_row::<Notification>(NOTIFICATIONS_BY_STATE, &by_state, Vec::new()),
            index_row::<Notification>(
                NOTIFICATIONS_BY_ENTITY,
                &[&entity_prefix(entity)[..], &turn].concat(),
                Vec::new(),
            ),
        ];
        if self.holds_its_place() {
            let queue = queue_prefix(&self.sender, entity);
            rows.push(index_row::<Notification>(QUEUES, &[&queue[..], &turn].concat(), Vec::new()));
        }
        rows
    }

    fn audited_as(&self, event: &str) -> Option<&str> {
        (event == "NotificationReplayed").then_some(self.sender.as_str())
    }
}

pub(crate) fn entity_prefix(entity: EntityId) -> Vec<u8> {
    [&[entity.kind.code()], &entity.id.as_bytes()[..]].concat()
}

/// All notifications about one entity that wait for one sender, in the order of their events.
pub(crate) fn queue_prefix(sender: &str, entity: EntityId) -> Vec<u8> {
    [sender.as_bytes(), &[0], &entity_prefix(entity)].concat()
}
