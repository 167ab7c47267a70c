//! Notifications: what was sent to people, what waits, and what was given up.

use ordo_model::Timestamp;
use ordo_model::notification::{Message, Notification, NotificationState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Notification)]
pub struct NotificationView {
    pub id: Uuid,
    pub sender: String,
    /// `waiting`, `delivered`, `dead_lettered` or `silenced`.
    pub state: String,
    pub attempts: u32,
    #[schema(required)]
    pub last_error: Option<String>,
    #[schema(required)]
    pub next_try: Option<Timestamp>,
    #[schema(required)]
    pub settled_at: Option<Timestamp>,
    /// What the receiver answered, in a word.
    #[schema(required)]
    pub note: Option<String>,
    pub written_at: Timestamp,
    pub replayed: bool,
    /// The idempotency key: the same for every try and every sender.
    pub key: String,
    pub stream: String,
    pub version: u64,
    pub event: String,
    #[schema(required)]
    pub label: Option<String>,
    /// All that the sender gets; only when one notification is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object)]
    pub message: Option<Message>,
}

impl NotificationView {
    pub fn of(id: Uuid, notification: &Notification) -> NotificationView {
        let (next_try, settled_at, note) = match &notification.state {
            NotificationState::Waiting { next_try } => (Some(*next_try), None, None),
            NotificationState::Delivered { at, note } => (None, Some(*at), note.clone()),
            NotificationState::DeadLettered { at } | NotificationState::Silenced { at, .. } => (None, Some(*at), None),
            NotificationState::Forgotten => (None, None, None),
        };
        let message = &notification.message;
        NotificationView {
            id,
            sender: notification.sender.clone(),
            state: notification.state.name().to_owned(),
            attempts: notification.attempts,
            last_error: notification.last_error.clone(),
            next_try,
            settled_at,
            note,
            written_at: notification.written_at,
            replayed: notification.replayed,
            key: message.key(),
            stream: message.entity().to_string(),
            version: message.version,
            event: message.event().to_owned(),
            label: message.label().map(str::to_owned),
            message: None,
        }
    }

    /// The answer for one notification, with its message.
    pub fn whole(id: Uuid, notification: &Notification) -> NotificationView {
        NotificationView { message: Some(notification.message.clone()), ..NotificationView::of(id, notification) }
    }
}
