//! Processes a tool has started: what they are, and what a former generation left of them.

pub(crate) mod book;
pub(crate) mod group;
pub(crate) mod proc;
mod sweep;
