//! Work on the whole store: checks, trimming, rebuilding, compacting.

pub(crate) mod maintenance;
pub(crate) mod probe;
pub(crate) mod rebuild;
pub(crate) mod trim;
pub(crate) mod verify;
