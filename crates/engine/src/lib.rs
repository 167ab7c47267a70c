//! The engine: takes commands in, fires what is due, runs it, and keeps the books.
//!
//! Whatever chooses is synchronous and deterministic ([`core`], [`planner`]); [`engine`] is the shell that owns the
//! tasks. The simulator drives the same parts without it.

pub mod batcher;
mod cache;
pub mod change;
pub mod check;
pub mod clock;
pub mod codec;
pub mod committer;
pub mod core;
pub mod dispatcher;
pub mod engine;
pub mod job_page;
pub mod job_search;
pub mod keys;
pub mod live;
pub mod log_reader;
pub mod log_writer;
pub mod logs;
pub mod metrics;
pub mod planner;
pub mod projection;
pub mod queries;
pub mod recovery;
pub mod retention;
pub mod ring;
mod run_log;
pub mod runner;
pub mod series;
mod shell;
pub mod slowness;
pub mod timekeeper;
pub mod tool;

pub use committer::SubmitError;
pub use engine::{Engine, Options};
pub use runner::Tools;
