//! What goes wrong, and who hears of it.

mod channels;
mod escalations;
mod incidents;
mod monitors;
mod slack;
mod stored_channels;
mod subscriptions;
