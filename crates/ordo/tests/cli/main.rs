//! The promises of the command line, kept by the real binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

#[allow(dead_code, reason = "the tests of the adapters need more of it")]
#[path = "../../../adapters/tests/adapters/double/mod.rs"]
mod double;

#[cfg(feature = "kurrentdb")]
#[allow(dead_code, unreachable_pub, reason = "the tests of the mirror need more of it")]
#[path = "../../../kurrentdb/tests/mirror/stub/mod.rs"]
mod stub;

mod access;
mod alerting;
mod daemon;
mod first_steps;
mod hooks;
mod jobs;
mod refusals;
mod store;
mod terminal;
