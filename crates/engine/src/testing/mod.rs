//! What tests of the engine, and of every layer above it, begin with. Behind the feature `testing`: no program that is
//! shipped has it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

pub mod counting;
pub mod incidents;
pub mod recorder;
pub mod tools;
mod world;

pub use world::{PATIENCE, TICK_RATE, World, eventually, every, failed, manual, options};
