//! The embedded store: one redb file, written by one thread, in group commits.
//!
//! Invariant: every write transaction is two-phase and durable before it is acknowledged; the layout of the file is
//! docs/storage-format.md. Nothing here reads a clock or looks inside an event, a snapshot or a row.

mod commit;
mod fault;
mod handle;
mod held;
mod keys;
mod open;
mod read;
mod rebuild;
mod source;
mod store;
mod tables;
mod trim;
mod values;
mod writer;

pub use open::{CACHE_BYTES_DEFAULT, Options};
pub use source::Disk;
pub use store::RedbStore;
pub use writer::{GATHERED_BYTES_MAX, GATHERED_ITEMS_MAX, QUEUED_BATCHES_MAX};
