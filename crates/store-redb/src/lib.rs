//! The embedded store: a journal and a redb file, written by one thread, in group commits.
//!
//! Invariant: a commit is acknowledged when its record is durable in the journal and readers see its rows, in an overlay
//! over the tables; redb takes them later. The layout of both is docs/storage-format.md. Nothing here reads a clock or
//! looks inside an event, a snapshot or a row.

mod apply;
mod commit;
mod fault;
mod files;
mod follower;
mod guard;
mod handle;
mod journal;
mod overlay;
mod quota;
pub mod raw;
mod read;
#[cfg(feature = "sim")]
pub mod simdisk;
mod state;
mod store;
mod sync;
mod tables;
mod transfer;
mod upkeep;
mod writer;

pub use files::open::{CACHE_BYTES_DEFAULT, OVERLAY_BYTES_DEFAULT, RedbOptions};
pub use files::source::{Disk, StoreFile, remove_beside};
pub use files::unwritable::is_unwritable;
pub use guard::is_guarded;
pub use journal::JOURNAL_BYTES_DEFAULT;
pub use store::RedbStore;
pub use upkeep::maintenance::Compacted;
pub use upkeep::verify::{FINDINGS_MAX, Verified};
pub use writer::{GATHERED_BYTES_MAX, GATHERED_ITEMS_MAX, QUEUED_BATCHES_MAX};
