//! Processes a tool has started: what they are, and what a former life left of them.

pub(crate) mod book;
pub(crate) mod group;
pub(crate) mod proc;
mod sweep;
