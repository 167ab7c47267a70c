//! Who runs what: waiting runs, free places, executors near and far, and the limits that runs share.

mod choosing;
pub mod deliveries;
pub(crate) mod dispatcher;
mod draws;
pub mod executors;
mod keys;
mod nodes;
mod parking;
mod pools;
mod presence;
mod remote;
pub(crate) mod requirements;
mod run_queue;
mod slots;

pub use dispatcher::Find;
pub(crate) use dispatcher::{Dispatcher, Overdue};
pub use draws::Draws;
pub(crate) use remote::Restored;
pub use slots::{PoolSize, PoolSizes};

#[cfg(test)]
mod tests;
