//! Commands about this installation: its configuration, its health, its version, its manual.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod man;
pub(crate) mod version;
