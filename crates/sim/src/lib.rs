//! The world in one thread from a seed: the real core, the real rules and the real store on a simulated disk.
//!
//! Invariant: no clock, no chance but the seed's, no thread. What a seed found once it finds again.

mod client;
mod closing;
mod commits;
mod disk;
mod ending;
mod executor;
mod happening;
pub mod history;
mod log;
mod misfortune;
mod node;
pub mod oracle;
mod ready;
mod rng;
mod scenario;
mod trace;
mod workload;
mod world;

pub use history::History;
pub use oracle::{Violation, judge};
pub use trace::Trace;
pub use world::Simulation;
