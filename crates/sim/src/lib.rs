//! The world in one thread from a seed: the real core, the real rules and the real store on a simulated disk.
//!
//! Invariant: no clock, no chance but the seed's, no thread. What a seed found once it finds again.

mod actors;
mod closing;
mod commits;
mod disk;
mod ending;
mod happening;
mod misfortune;
pub mod oracle;
mod record;
mod rng;
mod scenario;
pub mod survey;
pub mod whole;
mod workload;
mod world;

pub use oracle::{Violation, judge};
pub use record::history;
pub use record::history::History;
pub use record::trace::Trace;
pub use world::Simulation;
