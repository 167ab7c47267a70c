//! Receivers and senders, side by side: Slack, signed webhooks, e-mail; and the words they all use.
//!
//! Invariant: an adapter translates. It keeps nothing, decides nothing about retries, and asks the engine for every
//! change; whatever comes from outside is checked and escaped here.

pub mod channel;
pub mod email;
pub mod message;
pub mod slack;
pub mod webhook;
