//! The tools against real processes and a real server, as the engine uses them.

#![allow(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

mod bench;
mod confining;
mod http;
mod leftovers;
mod named;
mod shell;
mod ssrf;
mod stopping;
mod toolbox;
