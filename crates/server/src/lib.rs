//! The HTTP API: what Ordo is on the wire. The only crate that knows it.
//!
//! Invariant: a handler translates; it decides nothing. A success is answered only after the engine said it is durable.

mod app;
mod auth;
mod batch;
mod body;
mod code;
mod compression;
mod cron;
mod event_follow;
mod events;
mod executors;
mod health;
mod hex;
mod idempotency;
mod if_match;
mod job_form;
mod job_json;
mod job_list;
mod job_orders;
mod jobs;
mod listen;
mod log_follow;
mod logs;
mod maintenance;
mod metrics;
mod openapi;
mod params;
mod path;
mod peer;
mod problem;
mod reports;
mod routes;
mod runs;
mod sse;
mod status;
mod store;
mod streams;
mod tool_check;
mod trace;
mod unique;

pub use app::{App, Node};
pub use auth::Auth;
pub use code::Code;
pub use listen::{serve_tcp, serve_unix};
pub use maintenance::{Maintenance, MaintenanceError};
pub use openapi::openapi;
pub use peer::Peer;
pub use problem::{FieldError, Problem};
pub use routes::{paths, router};
