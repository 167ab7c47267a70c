//! What goes wrong, and who hears of it.

mod channels;
mod escalations;
mod incidents;
mod notifications;
mod slack;
