//! What tests of the server, and of every layer above it, begin with. Behind the feature `testing`: no program that is
//! shipped has it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod contract;
mod world;

pub use world::{TOKEN, TestResponse, World, job, request, text, texts};
