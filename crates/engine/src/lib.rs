//! The engine: takes commands in, fires what is due, runs it, and keeps the books.
//!
//! Whatever chooses is synchronous and deterministic ([`core`], [`planner`]); [`engine`] is the shell that owns the
//! tasks. The simulator drives the same parts without it.

mod attend;
pub mod batcher;
mod cache;
pub mod change;
pub mod check;
pub mod clock;
pub mod codec;
pub mod committer;
pub mod core;
pub mod dispatch;
pub mod engine;
pub mod job_search;
pub mod keys;
pub mod live;
pub mod log_reader;
pub mod log_writer;
pub mod logs;
pub mod metrics;
pub mod object;
pub mod object_queries;
pub mod planner;
pub mod projection;
pub mod queries;
pub mod recovery;
pub mod remote;
mod result;
pub mod retention;
pub mod ring;
mod run_log;
pub mod runner;
mod shell;
pub mod timekeeper;
pub mod tool;

pub use committer::SubmitError;
pub use engine::{Engine, Options};
pub use object::{Along, AskError, Kept, Stored, Told};
pub use runner::Tools;
