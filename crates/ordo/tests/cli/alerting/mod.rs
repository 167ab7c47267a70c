//! What goes wrong, and who hears of it.

mod escalations;
mod incidents;
mod notifications;
mod slack;
