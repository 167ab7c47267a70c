//! The API as its users meet it: a real engine on a real store in a temporary folder, asked over HTTP.

#![allow(clippy::unwrap_used)]

mod access;
mod actions;
mod actors;
mod batch;
mod chains;
mod compression;
mod errors;
mod events;
mod executor_gifts;
mod executor_identity;
mod executors;
mod exposition;
mod hooks;
mod idempotency;
mod incidents;
mod jobs;
mod lists;
mod login;
mod logs;
mod matrix;
mod metrics;
mod monitors;
mod openapi;
mod orders;
mod pages;
mod runs;
mod secrets;
mod slack;
mod status;
mod store;
mod stream_ends;
mod streams;
mod strictness;
mod subscriptions;
mod trace;
mod wire;
