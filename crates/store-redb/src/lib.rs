//! The embedded store: one redb file, written by one thread, in group commits.
//!
//! Invariant: every write transaction is two-phase and durable before it is acknowledged; the layout of the file is
//! docs/storage-format.md. Nothing here reads a clock or looks inside an event, a snapshot or a row.

mod commit;
mod fault;
mod handle;
mod held;
mod keys;
mod maintenance;
mod open;
pub mod raw;
mod read;
mod rebuild;
#[cfg(feature = "sim")]
pub mod simdisk;
mod source;
mod store;
mod tables;
mod transfer;
mod trim;
mod unfinished;
mod values;
mod verify;
mod writer;

pub use maintenance::Compacted;
pub use open::{CACHE_BYTES_DEFAULT, Options};
pub use source::Disk;
pub use store::RedbStore;
pub use verify::{FINDINGS_MAX, Verified};
pub use writer::{GATHERED_BYTES_MAX, GATHERED_ITEMS_MAX, QUEUED_BATCHES_MAX};
