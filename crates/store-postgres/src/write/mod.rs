//! Commits: gathered, and written in one statement where nothing speaks against it, in one pipeline otherwise.

pub(crate) mod at_once;
pub(crate) mod commit;
pub(crate) mod pipeline;
pub(crate) mod plan;
pub(crate) mod quota;
mod statement;
pub(crate) mod writer;
