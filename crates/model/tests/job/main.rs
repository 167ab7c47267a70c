//! Jobs as stories: what is asked of one, what becomes of it, and what is stored.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod story;

mod attempts;
mod block;
mod chain;
mod change;
mod clock;
mod definition;
mod dispatch;
mod events;
mod fold;
mod hook;
mod outbox;
mod properties;
mod time;
