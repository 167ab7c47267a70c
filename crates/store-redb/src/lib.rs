//! The embedded store: a journal and a redb file, written by one thread, in group commits.
//!
//! Invariant: a commit is acknowledged when its record is durable in the journal and the tables hold it; the layout of
//! both is docs/storage-format.md. Nothing here reads a clock or looks inside an event, a snapshot or a row.

mod apply;
mod commit;
mod fault;
mod handle;
mod held;
mod journal;
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
mod unwritable;
mod values;
mod verify;
mod writer;

pub use journal::JOURNAL_BYTES_DEFAULT;
pub use maintenance::Compacted;
pub use open::{CACHE_BYTES_DEFAULT, RedbOptions};
pub use source::{Disk, StoreFile, remove_beside};
pub use store::RedbStore;
pub use unwritable::is_unwritable;
pub use verify::{FINDINGS_MAX, Verified};
pub use writer::{GATHERED_BYTES_MAX, GATHERED_ITEMS_MAX, QUEUED_BATCHES_MAX};
