//! The wire: what Ordo is over HTTP, once for the server, the clients and the tests.
//!
//! Invariant: a request or an answer has one type here, a route one row in the table ([`Operation`]). The description
//! at `/openapi.json` is derived from both; nothing about it is written down a second time.

pub mod access;
pub mod alerting;
pub mod audit;
mod code;
pub mod events;
pub mod executors;
pub mod forecast;
pub mod hooks;
pub mod jobs;
mod openapi;
mod operation;
mod page;
mod problem;
pub mod reports;
mod route;
mod routes;
pub mod runs;
pub mod upkeep;

pub use code::Code;
pub use openapi::openapi;
pub use operation::Operation;
pub use page::Page;
pub use problem::{FieldError, ProblemDetails};
pub use route::{Method, Need, Route, RouteBody};
