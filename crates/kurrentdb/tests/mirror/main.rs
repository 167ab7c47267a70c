//! A mirror against a server that speaks KurrentDB's gRPC: everything arrives once and in order, whatever happens.

#![allow(clippy::unwrap_used, unreachable_pub)]

mod conflicts;
mod failures;
mod gaps;
mod stories;
mod stub;
mod world;
