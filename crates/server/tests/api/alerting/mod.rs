//! What goes wrong, and who hears of it.

mod channels;
mod incidents;
mod monitors;
mod slack;
mod subscriptions;
