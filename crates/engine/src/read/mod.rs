//! Lists, look-ups, series and counters: everything that reads and changes nothing.

pub mod change_hint;
pub mod job_list;
mod job_source;
pub mod metrics;
pub mod mirror;
pub mod object_queries;
pub mod page;
pub mod queries;
pub mod run_list;
pub mod series;
pub mod upcoming;
pub mod waiting;
