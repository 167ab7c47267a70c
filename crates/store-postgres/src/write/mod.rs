//! Commits: planned as statements, gathered, written in one pipeline.

pub(crate) mod commit;
pub(crate) mod pipeline;
pub(crate) mod plan;
pub(crate) mod quota;
pub(crate) mod writer;
