//! The limits of the tools, on one page.
//!
//! Invariant: what a tool keeps of its output fits into a result and a reason of the model.

use std::time::Duration;

use ordo_model::limits::{LOG_LINE_MAX_BYTES, OUTPUT_TAIL_BYTES, REASON_MAX_BYTES, RESULT_MAX_BYTES};

/// Between TERM and KILL to a process group that is stopped.
pub const KILL_GRACE: Duration = Duration::from_secs(2);
/// After a command ended, or was killed, its output may stay open this long.
pub const OUTPUT_GRACE: Duration = Duration::from_secs(1);
/// How long a sweep waits for what it killed to be gone.
pub const SWEEP_GRACE: Duration = Duration::from_secs(2);
/// First and longest pause between two looks at a process group that is ending.
pub const GROUP_LOOK_MIN: Duration = Duration::from_millis(2);
pub const GROUP_LOOK_MAX: Duration = Duration::from_millis(50);
/// One read from a pipe.
pub const READ_BYTES: usize = 16 * 1024;
/// What a failure says of the end of stderr.
pub const STDERR_SHOWN_BYTES: usize = 400;
pub const STDERR_SHOWN_LINES: usize = 3;

pub const REDIRECTS_MAX: usize = 3;
/// What a result keeps of a response.
pub const RESPONSE_BODY_MAX_BYTES: usize = 64 * 1024;
pub const RESPONSE_HEADERS_MAX: usize = 64;
pub const RESPONSE_HEADER_MAX_BYTES: usize = 1024;
/// What a failure says of the response's body.
pub const BODY_SHOWN_BYTES: usize = 300;

/// A byte of text takes up to six in JSON (`\u0000`).
const JSON_GROWTH: usize = 6;

const _: () = assert!(STDERR_SHOWN_BYTES < REASON_MAX_BYTES && BODY_SHOWN_BYTES < REASON_MAX_BYTES);
const _: () = assert!(OUTPUT_TAIL_BYTES * JSON_GROWTH < RESULT_MAX_BYTES);
const _: () = assert!(
    (RESPONSE_BODY_MAX_BYTES + RESPONSE_HEADERS_MAX * RESPONSE_HEADER_MAX_BYTES) * JSON_GROWTH < RESULT_MAX_BYTES
);
const _: () = assert!(READ_BYTES <= LOG_LINE_MAX_BYTES * 4);
const _: () = assert!(GROUP_LOOK_MIN.as_millis() <= GROUP_LOOK_MAX.as_millis());
