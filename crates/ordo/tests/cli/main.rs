//! The promises of the command line, kept by the real binary.

#[path = "../common/mod.rs"]
mod common;

mod configuration;
mod daemon;
mod first_steps;
mod jobs;
mod refusals;
mod runs;
mod store;
