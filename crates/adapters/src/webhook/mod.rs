//! Signed messages to URLs that subscribed to them, by the Standard Webhooks.

pub mod directory;
pub mod payload;
pub mod request;
pub mod schedule;
pub mod sender;
pub mod signing;
