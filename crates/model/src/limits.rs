//! Every limit of Ordo, on one page.
//!
//! Invariant: relations between limits are checked when this file compiles, not when a user trips over them.

use crate::time::Millis;

// --- what a job may look like -------------------------------------------------------------------
pub const LABEL_MAX_BYTES: usize = 200;
pub const TOOL_NAME_MAX_BYTES: usize = 100;
pub const TOOL_INPUT_MAX_BYTES: usize = 256 * 1024;
pub const NOTE_MAX_BYTES: usize = 1_000;
pub const GROUP_MAX_BYTES: usize = 100;
pub const HOOK_MAX_BYTES: usize = 100;
pub const CRON_MAX_BYTES: usize = 200;
pub const EXCLUSIONS_MAX: usize = 32;
/// Days in one exclusion of dates.
pub const EXCLUDED_DATES_MAX: usize = 1_000;
pub const PRIORITY_MAX: u8 = 9;
pub const PRIORITY_DEFAULT: u8 = 5;

// --- time ---------------------------------------------------------------------------------------
/// The shortest interval of an `every` schedule.
pub const EVERY_MIN: Millis = Millis::from_ms(1);
pub const EVERY_MAX: Millis = Millis::from_days(3_660);
pub const JITTER_MAX: Millis = Millis::from_days(1);
/// An `at` this far in the past still fires at once; older is refused.
pub const AT_GRACE: Millis = Millis::from_secs(60);
/// W: an occurrence late by at most this much is on time (the seed's pre-read window).
pub const MISFIRE_WINDOW: Millis = Millis::from_secs(5);
/// 2W: an occurrence later than this is a misfire; between W and 2W it fires and is recorded as late.
pub const MISFIRE_AFTER: Millis = Millis::from_secs(10);
/// One wake of one job fires at most this many occurrences; the rest becomes one skipped record.
pub const CATCH_UP_MAX: usize = 100;
/// Missed occurrences of a cron schedule are counted one by one up to here; beyond, the count is a lower bound.
pub const GAP_COUNT_MAX: u64 = 10_000;
/// A search for the next occurrence jumps over at most this many excluded windows; beyond, there is none.
pub const EXCLUDED_JUMPS_MAX: u64 = 4_000;
/// How many future occurrences a preview may show.
pub const PREVIEW_MAX: usize = 1_000;
/// How many occurrences one backfill may ask for.
pub const BACKFILL_MAX: usize = 10_000;
/// How many backfills one job may have under way.
pub const BACKFILLS_PER_JOB: usize = 8;

// --- runs and attempts --------------------------------------------------------------------------
pub const TIMEOUT_DEFAULT: Millis = Millis::from_hours(1);
pub const TIMEOUT_MAX: Millis = Millis::from_days(366);
/// After the timeout the executor has this long to report before the run is settled without it.
pub const TIMEOUT_GRACE: Millis = Millis::from_secs(30);
pub const ATTEMPTS_MAX: u32 = 100;
pub const BACKOFF_DEFAULT: Millis = Millis::from_secs(2);
pub const BACKOFF_MAX: Millis = Millis::from_hours(1);
/// Runs of one job waiting behind its block strategy; one more is recorded as skipped.
pub const BLOCK_QUEUE_MAX: usize = 100;
/// A run may be given back by executors so often; once more counts as a failed attempt.
pub const RETURNS_MAX: u32 = 20;
/// The longest an executor may ask to be left alone with a run it gives back.
pub const NACK_DELAY_MAX: Millis = Millis::from_days(1);
pub const EXPIRE_MAX: Millis = Millis::from_days(366);
pub const CONCURRENT_DEFAULT: u32 = 16;
pub const CONCURRENT_MAX: u32 = 256;
/// How many failed attempts of one run keep their error.
pub const ATTEMPT_ERRORS_KEPT: usize = 20;
pub const REASON_MAX_BYTES: usize = 4 * 1024;
/// A result up to this size lives inside its event; a larger one in chunks beside it.
pub const RESULT_INLINE_MAX_BYTES: usize = 4 * 1024;
pub const RESULT_MAX_BYTES: usize = 1024 * 1024;

// --- who runs what ------------------------------------------------------------------------------
/// Each step of priority is worth so much waiting: a run that has waited longer by this goes before the next higher one.
pub const AGEING_STEP: Millis = Millis::from_secs(30);
/// A run that took longer than this was slow.
pub const SLOW_AFTER: Millis = Millis::from_ms(500);
/// More slow runs than this within a minute move a job to the slow pool.
pub const SLOW_RUNS: u32 = 10;
/// How many executors share one broadcast; more get nothing.
pub const SHARDS_MAX: usize = 256;
pub const KEY_POINTER_MAX_BYTES: usize = 200;
/// A longer value of a key is told apart by its beginning and its hash.
pub const KEY_VALUE_MAX_BYTES: usize = 200;
pub const KEY_CONCURRENCY_MAX: u32 = 10_000;
pub const RATE_LIMIT_MAX: u32 = 10_000;
pub const RATE_PER_MAX: Millis = Millis::from_days(1);
pub const UNIQUE_WINDOW_MAX: Millis = Millis::from_days(366);
pub const EXECUTOR_NAME_MAX_BYTES: usize = 200;
pub const EXECUTOR_TOOLS_MAX: usize = 100;
pub const EXECUTOR_CAPACITY_MAX: u32 = 10_000;
/// An executor that was not heard of for this long is lost, and what it ran is settled.
pub const LEASE: Millis = Millis::from_secs(15);
/// How often an executor should let itself be heard.
pub const HEARTBEAT: Millis = Millis::from_secs(5);
/// An offer under `failover` that is not taken within this time goes to the next executor.
pub const OFFER: Millis = Millis::from_secs(2);
/// How long a lost executor is still shown.
pub const LOST_SHOWN: Millis = Millis::from_hours(1);
/// The longest a poll waits.
pub const POLL_WAIT_MAX: Millis = Millis::from_secs(60);
pub const POLL_MAX: usize = 1_000;
/// How many reports or chunks of log one request may bring.
pub const REPORTS_MAX: usize = 10_000;

// --- logs ---------------------------------------------------------------------------------------
pub const LOG_LINE_MAX_BYTES: usize = 16 * 1024;
/// All log text of one attempt; what comes after is counted, not kept.
pub const LOG_MAX_BYTES: usize = 8 * 1024 * 1024;
/// The tail of the output that a shell result carries.
pub const OUTPUT_TAIL_BYTES: usize = 2 * 1024;

// --- history ------------------------------------------------------------------------------------
pub const RETENTION_RUNS_DEFAULT: u32 = 1_000;
pub const RETENTION_RUNS_MAX: u32 = 1_000_000;
pub const RETENTION_AGE_DEFAULT: Millis = Millis::from_days(30);
/// A job may overshoot its retention by this many runs before it is trimmed: trimming goes in batches.
pub const RETENTION_SLACK: u32 = 100;

// --- lists --------------------------------------------------------------------------------------
pub const PAGE_DEFAULT: usize = 50;
pub const PAGE_MAX: usize = 200;
pub const BATCH_JOBS_MAX: usize = 10_000;

const _: () = assert!(MISFIRE_WINDOW.ms() < MISFIRE_AFTER.ms());
const _: () = assert!(MISFIRE_AFTER.ms() <= AT_GRACE.ms());
const _: () = assert!(RESULT_INLINE_MAX_BYTES <= RESULT_MAX_BYTES);
const _: () = assert!(LOG_LINE_MAX_BYTES < LOG_MAX_BYTES);
const _: () = assert!(CONCURRENT_DEFAULT <= CONCURRENT_MAX);
const _: () = assert!(BACKOFF_DEFAULT.ms() <= BACKOFF_MAX.ms());
const _: () = assert!(2 * HEARTBEAT.ms() < LEASE.ms());
const _: () = assert!(OFFER.ms() < LEASE.ms());
const _: () = assert!(PAGE_DEFAULT <= PAGE_MAX);
const _: () = assert!(PRIORITY_DEFAULT <= PRIORITY_MAX);
