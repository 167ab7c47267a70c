//! Processes a tool has started: what they are, and what a former generation left of them.

pub(crate) mod book;
pub(crate) mod cgroup;
pub(crate) mod group;
pub(crate) mod output;
pub(crate) mod proc;
pub(crate) mod supervised;
mod sweep;
