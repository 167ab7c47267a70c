//! Lists, look-ups, series and counters: everything that reads and changes nothing.

pub mod audit;
pub mod change_hint;
pub mod job_list;
mod job_source;
pub mod metrics;
pub mod mirror;
pub mod object_queries;
pub mod page;
pub mod queries;
pub mod revisions;
pub mod run_list;
pub mod series;
pub(crate) mod standby;
pub mod upcoming;
pub mod waiting;
