//! Passes over the store: settling what a former generation left, forgetting what is too old, checking what is there.

pub mod check;
pub mod recovery;
pub mod retention;
pub(crate) mod scrub;
pub(crate) mod writable;
