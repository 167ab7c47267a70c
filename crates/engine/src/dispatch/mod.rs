//! Who runs what: waiting runs, free places, executors near and far, and the limits that runs share.

mod choosing;
pub mod dispatcher;
mod keys;
mod line;
pub mod need;
mod parking;
mod pools;
mod remote;
mod slots;

pub use choosing::Start;
pub use dispatcher::{Dispatcher, Find, Overdue};
pub use remote::Restored;
pub use slots::{PoolSize, PoolSizes};

#[cfg(test)]
mod tests;
