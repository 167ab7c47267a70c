//! The contract on PostgreSQL, for many nodes on one database.
//!
//! Invariant: a commit holds the rows of its partitions, taken in order, until it is over: commits never deadlock, and
//! inside a partition nobody sees an event before an older one. Nothing here looks inside an event, a snapshot or a value.
//! The SQL stays in what databases with PostgreSQL's wire share; docs/storage-format.md has the layout.

mod cluster;
mod codes;
mod connection;
mod fault;
mod hints;
mod migrate;
pub mod raw;
mod read;
mod rebuild;
mod store;
mod submissions;
mod tables;
#[cfg(feature = "testing")]
pub mod testing;
mod transfer;
mod write;

pub use connection::url::{BadUrl, is_schema, is_url};
pub use migrate::LAYOUT;
pub use store::{PostgresOptions, PostgresStore, is_away};
pub use submissions::{NotSubmitted, submit_in};

/// The drivers whose pools and transactions a program hands over: of this version.
pub use {deadpool_postgres, tokio_postgres};
