//! Where Ordo may connect to when somebody else wrote the address: the `http` tool and the webhooks it sends.
//!
//! Invariant: a [`Guarded`] client reaches only public addresses or those the configuration allows, also through
//! names; it follows no redirect by itself and never uses a proxy that the environment happens to name.

mod explain;
mod guard;
mod guarded;
mod network;
mod resolver;

pub use explain::{explain, explain_at, shown};
pub use guard::{Allowed, Forbidden, Guard, NotAllowable};
pub use guarded::{Guarded, NotReached};
pub use network::{Network, NotANetwork};
pub use resolver::{Lookup, SystemLookup};
