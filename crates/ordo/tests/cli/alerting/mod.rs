//! What goes wrong, and who hears of it.

mod incidents;
mod notifications;
mod slack;
