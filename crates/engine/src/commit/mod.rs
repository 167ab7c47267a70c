//! The way of a command: gathered into a round, decided by the model, committed with everything that follows from it.

pub mod batcher;
mod cache;
pub(crate) mod chains;
pub mod change;
pub mod codec;
pub mod committer;
mod deferred;
pub(crate) mod keys;
pub mod object;
pub mod planner;
pub(crate) mod projection;
