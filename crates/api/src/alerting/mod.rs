//! What goes wrong, and who hears of it: incidents, monitors, notifications, subscriptions.

pub mod channels;
pub mod escalations;
pub mod incidents;
pub mod monitors;
pub mod notifications;
pub mod silences;
pub mod subscriptions;
