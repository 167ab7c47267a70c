//! The adapters against doubles of those they talk to, on this machine, with a real engine on a real store.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod channels;
mod double;
mod email;
mod messages;
mod slack_hears;
mod slack_tells;
mod webhooks;
