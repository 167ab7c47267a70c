//! The contract on PostgreSQL, for many nodes on one database.
//!
//! Invariant: a commit holds the rows of its partitions, taken in order, until it is over: commits never deadlock, and
//! inside a partition nobody sees an event before an older one. Nothing here looks inside an event, a snapshot or a row.
//! The SQL stays in what databases with PostgreSQL's wire share; docs/storage-format.md has the layout.

mod cluster;
mod codes;
mod commit;
mod connect;
mod fault;
mod hints;
mod migrate;
mod plan;
mod position;
mod probe;
pub mod raw;
mod read;
mod read_log;
mod rebuild;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod transfer;
mod url;
mod writer;

pub use migrate::LAYOUT;
pub use store::{PostgresOptions, PostgresStore};
pub use url::{BadUrl, is_url};
