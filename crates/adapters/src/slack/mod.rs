//! Slack: what it tells us, and what we tell it.

pub mod api;
pub mod heard;
pub mod mrkdwn;
pub mod pressed;
pub mod signature;
