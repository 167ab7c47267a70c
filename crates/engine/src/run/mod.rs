//! Executing an attempt in this process: tools, their log lines, results, secrets and traces.

pub(crate) mod gate;
pub mod log_reader;
pub mod log_writer;
pub mod logs;
pub(crate) mod result;
mod run_log;
pub(crate) mod runner;
pub mod secrets;
pub mod tool;
pub mod tool_check;
pub mod trace;
