//! Lists, look-ups, series and counters: everything that reads and changes nothing.

pub mod change_hint;
pub mod job_page;
pub mod job_search;
pub mod metrics;
pub mod object_queries;
pub mod queries;
pub mod series;
