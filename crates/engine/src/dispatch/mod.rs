//! Who runs what: waiting runs, free places, executors near and far, and the limits that runs share.

mod choosing;
pub mod dispatcher;
mod keys;
mod parking;
mod pools;
mod remote;
pub mod requirements;
mod run_queue;
mod slots;

pub use choosing::Start;
pub use dispatcher::{Dispatcher, Find, Overdue};
pub use remote::Restored;
pub use slots::{PoolSize, PoolSizes};

#[cfg(test)]
mod tests;
