//! What goes wrong, and who hears of it: incidents, monitors, notifications, subscriptions.

pub(super) mod channel;
pub(super) mod escalation;
pub(super) mod incident;
pub(super) mod monitor;
pub(super) mod notification;
pub(super) mod silence;
pub(super) mod subscription;
pub(super) mod watch;
