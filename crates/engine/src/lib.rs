//! The engine: takes commands in, fires what is due, runs it, and keeps the books.
//!
//! Whatever chooses is synchronous and deterministic ([`core`], [`planner`]); [`engine`] is the shell that owns the
//! tasks. The simulator drives the same parts without it.

pub mod batcher;
mod behind;
mod cache;
mod chains;
pub mod chance;
pub mod change;
pub mod change_hint;
pub mod check;
pub mod clock;
pub mod cluster;
pub mod codec;
pub mod committer;
pub mod core;
pub mod deliveries;
pub mod dispatch;
pub mod engine;
pub mod incidents;
pub mod job_page;
pub mod job_search;
pub mod keys;
pub mod log_reader;
pub mod log_writer;
pub mod logs;
pub mod metrics;
pub mod monitors;
pub mod notifications;
pub mod object;
pub mod object_queries;
mod orders;
pub mod partitions;
pub mod planner;
mod post;
pub mod projection;
pub mod queries;
mod reconciler;
pub mod recovery;
pub mod remote;
mod result;
pub mod retention;
pub mod ring;
mod run_log;
pub mod runner;
pub mod secrets;
pub mod sender;
pub mod series;
mod shell;
mod stepping;
pub mod timekeeper;
pub mod tokens;
pub mod tool;
pub mod trace;
mod work_queue;
mod workflow;

pub use committer::SubmitError;
pub use engine::{Engine, Options};
pub use object::{CommandError, CommitExtras, Committed, Stored, Versioned};
pub use runner::Tools;
pub use sender::{Outgoing, Retries, SendError, Sender, Senders, Sent};
