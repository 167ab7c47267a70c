//! Signed messages to URLs that subscribed to them, by the Standard Webhooks.

pub mod schedule;
pub mod signing;
pub mod vault;
