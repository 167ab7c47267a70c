//! What goes wrong, and who hears of it.

mod incidents;
mod monitors;
mod slack;
mod subscriptions;
