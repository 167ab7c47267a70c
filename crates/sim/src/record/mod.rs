//! What is written down of a simulated world: for the oracle, and for people.

pub mod history;
pub(crate) mod log;
pub(crate) mod trace;
