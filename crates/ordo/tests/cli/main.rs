//! The promises of the command line, kept by the real binary.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "kurrentdb")]
#[allow(dead_code, unreachable_pub, reason = "the tests of the mirror need more of it")]
#[path = "../../../kurrentdb/tests/mirror/stub/mod.rs"]
mod stub;

mod access;
mod actors;
mod chains;
mod configuration;
mod confined_tools;
mod copy_broken_off;
mod daemon;
mod discovery;
mod first_steps;
mod hooks;
mod import;
mod incidents;
mod jobs;
mod kurrentdb;
mod log_lines;
mod notifications;
mod postgres;
mod readers;
mod refusals;
mod runs;
mod secrets;
mod service;
mod store;
mod telemetry;
mod tls;
