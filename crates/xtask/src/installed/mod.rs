//! Programs and packages of others that checks need: each in the version that was decided on, below `target/`.

pub(crate) mod npm;
pub(crate) mod program;
pub(crate) mod venv;
