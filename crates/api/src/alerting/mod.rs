//! What goes wrong, and who hears of it: incidents, monitors, notifications, subscriptions.

pub mod incidents;
pub mod monitors;
pub mod notifications;
pub mod subscriptions;
