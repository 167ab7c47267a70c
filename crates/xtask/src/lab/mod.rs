//! What proofs with real processes share: nodes that are killed and paused, a client on their sockets, hosts in network
//! namespaces, a database, time, chance with a seed, and drawings.
//!
//! Invariant: nothing here knows a crate of the product. What is judged by it is judged from outside.

pub(crate) mod binary;
pub(crate) mod clock;
pub(crate) mod database;
pub(crate) mod drawing;
pub(crate) mod hosts;
pub(crate) mod node;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod scratch;
pub(crate) mod socket;
