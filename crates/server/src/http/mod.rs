//! What every request passes: listener, limits, bodies, headers, problems.

pub(crate) mod body;
pub(crate) mod compression;
pub(crate) mod cookies;
pub(crate) mod idempotency;
pub(crate) mod if_match;
pub(crate) mod listen;
pub(crate) mod params;
pub(crate) mod path;
pub(crate) mod peer;
pub(crate) mod problem;
pub(crate) mod rate;
pub(crate) mod security_headers;
pub(crate) mod streams;
pub(crate) mod trace;
