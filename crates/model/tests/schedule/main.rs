//! Schedules: what they mean, what they refuse, and two judges that share no code with them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calendar;
mod cron;
mod describe;
mod dst;
mod due;
mod preview;
mod properties;
mod refusals;
