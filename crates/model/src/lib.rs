//! The rules of Ordo as pure functions: no clock, no disk, no network, no chance.
//!
//! Invariant: only `decide` chooses and only `apply` moves; whatever they need is an argument. The table of time zones
//! (`zones`) is a constant of the process instead.

mod access;
pub mod actor;
pub mod executor;
pub mod forecast;
pub mod hook;
pub mod id;
pub mod incident;
pub mod job;
pub mod limits;
mod log_stream;
pub mod moment;
pub mod monitor;
pub mod notification;
pub mod object;
#[cfg(feature = "openapi")]
mod openapi;
pub mod outbox;
pub mod planted;
pub mod routing;
pub mod schedule;
pub mod strict;
pub mod subscription;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod time;
pub mod trace;
pub mod zones;

pub use access::role::{Right, Role};
pub use access::{api_token, credential, executor_scope, login, role, secret, secret_reference};
pub use actor::{Actor, ActorSource};
pub use id::{EntityId, FencingToken, Incarnation, JobId, Kind, RunId};
pub use job::submission;
pub use log_stream::LogStream;
pub use moment::{ClockFrame, Moment};
pub use notification::{channel, silence};
pub use time::{Millis, Timestamp};
pub use trace::TraceParent;
