//! The API as its users meet it: a real engine on a real store in a temporary folder, asked over HTTP.

#![allow(clippy::unwrap_used)]

mod batch;
mod compression;
mod contract;
mod errors;
mod events;
mod executors;
mod exposition;
mod idempotency;
mod jobs;
mod lists;
mod logs;
mod metrics;
mod openapi;
mod orders;
mod runs;
mod status;
mod store;
mod streams;
mod tools;
mod trace;
mod wire;
mod world;
