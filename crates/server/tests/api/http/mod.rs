//! What holds for every request and every answer.

mod compression;
mod errors;
mod idempotency;
mod openapi;
mod stream_ends;
mod strictness;
mod trace;
mod wire;
