//! The way of a command, whatever its entity: gathered into a round, decided by the model, committed with everything that
//! follows from it, settled.

pub(crate) mod batcher;
mod cache;
pub(crate) mod chains;
pub mod change;
pub(crate) mod command;
mod deferred;
pub(crate) mod encoding;
pub(crate) mod entity_command;
pub(crate) mod job_command;
pub(crate) mod kinds;
mod planner;
pub(crate) mod queue;
pub mod rounds;
pub(crate) mod state;
mod unique;
