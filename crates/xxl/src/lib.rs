//! Executors made for XXL-JOB, unchanged: they register, are called, call back, and are executors of Ordo like all others.
//!
//! Invariant: everything that decides stays in one place. Routing, blocking, leases, fencing tokens, retries and recovery are
//! the engine's; what is here translates between its protocol for remote executors and the one that XXL-JOB speaks.
//! Only groups that the configuration names are served, and their executors are called through the egress guard.

mod bridge;
mod client;
mod held;
mod input;
mod link;
mod options;
mod wire;

pub use bridge::Bridge;
pub use input::{TOOL, XxlInput};
pub use options::{UnusableGroup, XxlGroup, XxlOptions};
pub use wire::XxlAnswer;
