//! The HTTP server: the API, the dashboard, and who may do what.
//!
//! Invariant: a handler translates; it decides nothing. A success is answered only after the engine said it is durable.
//! `http` has what every request passes, `auth` who is calling and what they may do, `api` the handlers by resource,
//! `pages` the dashboard.

#![cfg_attr(not(feature = "dashboard"), allow(dead_code, reason = "what only pages use"))]

mod adapters;
mod api;
mod app;
mod auth;
mod http;
#[cfg(feature = "dashboard")]
mod pages;
mod routes;
#[cfg(feature = "testing")]
pub mod testing;

pub use adapters::Adapters;
pub use api::maintenance::{Maintenance, MaintenanceError};
pub use app::{App, NodeIdentity};
pub use auth::Auth;
pub use auth::access::{is_listed, need};
pub use auth::caller::Caller;
pub use http::listen::{serve_tcp, serve_unix};
pub use http::peer::Peer;
pub use http::problem::Problem;
pub use http::rate::RateLimits;
pub use routes::router;
