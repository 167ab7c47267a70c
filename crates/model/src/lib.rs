//! The rules of Ordo as pure functions: no clock, no disk, no network, no chance.
//!
//! Invariant: only `decide` chooses and only `apply` moves; whatever they need is an argument.

pub mod executor;
pub mod id;
pub mod job;
pub mod limits;
pub mod object;
pub mod routing;
pub mod schedule;
pub mod secret;
pub mod time;

pub use id::{EntityId, Incarnation, JobId, Kind, RunId, Token};
pub use time::{Millis, Timestamp};
