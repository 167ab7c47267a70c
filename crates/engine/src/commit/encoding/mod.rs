//! How what is committed is written: events and snapshots, who an event is signed by, rows of views and their keys.

pub mod actor;
pub(crate) mod audit;
pub mod codec;
pub(crate) mod columns;
pub(crate) mod keys;
pub(crate) mod projection;
