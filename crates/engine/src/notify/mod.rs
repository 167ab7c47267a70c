//! Notifications: the workflow turns outbox entries into notifications, the dispatcher brings them to their senders.

pub mod channels;
pub(crate) mod dispatcher;
pub(crate) mod reconciler;
pub mod sender;
mod work_queue;
pub(crate) mod workflow;
