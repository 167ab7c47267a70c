//! Those who act in a simulated world.

pub(crate) mod client;
pub(crate) mod executor;
pub(crate) mod node;
pub(crate) mod ready;
