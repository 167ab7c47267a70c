//! Every limit of Ordo, on one page.
//!
//! Invariant: relations between limits are checked when this file compiles, not when a user trips over them.

use crate::time::Millis;

// --- what a job may look like -------------------------------------------------------------------
/// The label of a job.
pub const LABEL_MAX_BYTES: usize = 200;
/// The name of a tool.
pub const TOOL_NAME_MAX_BYTES: usize = 100;
/// The input of a job, as JSON.
pub const TOOL_INPUT_MAX_BYTES: usize = 256 * 1024;
/// Values inside each other in the input of a job, the result of a run or the filter of a hook. Readers of JSON give up at 128, and
/// what is stored adds some.
pub const JSON_DEPTH_MAX: usize = 100;
/// The description of a job, and the address of its runbook.
pub const NOTE_MAX_BYTES: usize = 1_000;
/// Tags of one job.
pub const TAGS_MAX: usize = 16;
/// A tag of a job.
pub const TAG_MAX_BYTES: usize = 40;
/// The name of a group of executors.
pub const GROUP_MAX_BYTES: usize = 100;
/// The slug of a hook.
pub const HOOK_MAX_BYTES: usize = 100;
/// A cron expression.
pub const CRON_MAX_BYTES: usize = 200;
/// Exclusions of one job.
pub const EXCLUSIONS_MAX: usize = 32;
/// Days in one exclusion of dates.
pub const EXCLUDED_DATES_MAX: usize = 1_000;
/// The highest priority.
pub const PRIORITY_MAX: u8 = 9;
/// The priority of a job that names none.
pub const PRIORITY_DEFAULT: u8 = 5;

// --- time ---------------------------------------------------------------------------------------
/// The shortest interval of an `every` schedule.
pub const EVERY_MIN: Millis = Millis::from_ms(1);
/// The longest interval of an `every` schedule.
pub const EVERY_MAX: Millis = Millis::from_days(3_660);
/// The longest jitter of a schedule.
pub const JITTER_MAX: Millis = Millis::from_days(1);
/// An `at` this far in the past still fires at once; older is refused.
pub const AT_GRACE: Millis = Millis::from_secs(60);
/// The wall clock was set if it differs from elapsed time by this much more than before; less is the slewing of NTP.
pub const CLOCK_STEP_MIN: Millis = Millis::from_secs(1);
/// W: an occurrence late by at most this much is on time (the seed's pre-read window).
pub const MISFIRE_WINDOW: Millis = Millis::from_secs(5);
/// 2W: an occurrence later than this is a misfire; between W and 2W it fires and is recorded as late.
pub const MISFIRE_AFTER: Millis = Millis::from_secs(10);
/// One wake of one job fires at most this many occurrences; the rest becomes one skipped record.
pub const CATCH_UP_MAX: usize = 100;
/// How old a missed occurrence may be to be made up for by `fire_all`, unless the job says otherwise.
pub const CATCH_UP_WINDOW_DEFAULT: Millis = Millis::from_days(1);
/// Missed occurrences of a cron schedule are counted one by one up to here; beyond, the count is a lower bound.
pub const GAP_COUNT_MAX: u64 = 10_000;
/// A search for the next occurrence jumps over at most this many excluded windows; beyond, there is none.
pub const EXCLUDED_JUMPS_MAX: u64 = 4_000;
/// How many future occurrences a preview may show.
pub const PREVIEW_MAX: usize = 1_000;
/// How many jobs a forecast looks at, those that fire soonest; beyond, its counts are the least.
pub const FORECAST_JOBS_MAX: usize = 5_000;
/// How many fires of one job a forecast counts one by one; a job with more goes on at the pace of its first ones.
pub const FORECAST_FIRES_PER_JOB_MAX: usize = 1_000;
/// How many of its first fires say the pace of such a job.
pub const FORECAST_PACE_FIRES: usize = 100;
/// How many fires of all jobs a forecast counts; beyond, its counts are the least.
pub const FORECAST_FIRES_MAX: usize = 100_000;
/// How many jobs a forecast learns the durations of; the others count as a moment.
pub const FORECAST_LEARNED_JOBS_MAX: usize = 1_000;
/// From how many of its last runs the duration of a job is learned.
pub const FORECAST_LEARNED_RUNS: usize = 10;
/// From how many of its last runs the duration of a job is learned whose last ten are not over.
pub const FORECAST_BEHIND_RUNS: usize = 200;
/// Of how many such jobs.
pub const FORECAST_BEHIND_JOBS_MAX: usize = 25;
/// How many collisions, overlaps and quiet times a forecast names.
pub const FORECAST_SHOWN_MAX: usize = 20;
/// A shorter time without runs is not called quiet.
pub const FORECAST_QUIET_MIN: Millis = Millis::from_secs(30 * 60);
/// A shorter time in which more wants to run than there are slots is not named.
pub const FORECAST_SATURATION_MIN: Millis = Millis::from_secs(1);
/// Two such times that are less apart than this are one.
pub const FORECAST_SATURATION_APART: Millis = Millis::from_secs(60);
/// How many days a forecast may reach.
pub const FORECAST_DAYS_MAX: usize = 62;
/// How many jobs that do not exist one forecast may be asked about.
pub const FORECAST_ADDED_MAX: usize = 100;
/// How many occurrences one backfill may ask for.
pub const BACKFILL_MAX: usize = 10_000;
/// How many backfills one job may have under way.
pub const BACKFILLS_PER_JOB: usize = 8;

// --- runs and attempts --------------------------------------------------------------------------
/// The timeout of a job that names none.
pub const TIMEOUT_DEFAULT: Millis = Millis::from_hours(1);
/// The longest timeout.
pub const TIMEOUT_MAX: Millis = Millis::from_days(366);
/// After the timeout the executor has this long to report before the run is settled without it.
pub const TIMEOUT_GRACE: Millis = Millis::from_secs(30);
/// Attempts of one run, the first one included.
pub const ATTEMPTS_MAX: u32 = 100;
/// The wait before the first retry of a job that names none.
pub const BACKOFF_DEFAULT: Millis = Millis::from_secs(2);
/// The longest wait between two attempts.
pub const BACKOFF_MAX: Millis = Millis::from_hours(1);
/// Runs of one job waiting behind its block strategy; one more is recorded as skipped.
pub const BLOCK_QUEUE_MAX: usize = 100;
/// A run may be given back by executors so often; once more counts as a failed attempt.
pub const RETURNS_MAX: u32 = 20;
/// The longest an executor may ask to be left alone with a run it gives back.
pub const NACK_DELAY_MAX: Millis = Millis::from_days(1);
/// The longest time that a run may be given to find an executor.
pub const EXPIRE_MAX: Millis = Millis::from_days(366);
/// Runs side by side of a job that is `concurrent` and names no maximum.
pub const CONCURRENT_DEFAULT: u32 = 16;
/// The most runs side by side that a job may allow.
pub const CONCURRENT_MAX: u32 = 256;
/// How many failed attempts of one run keep their error.
pub const ATTEMPT_ERRORS_KEPT: usize = 20;
/// The reason of a failure; a longer one is cut.
pub const REASON_MAX_BYTES: usize = 4 * 1024;
/// So many commands of callers may wait for the store at once; more are refused with `overloaded` until some are written.
pub const WAITING_COMMANDS_MAX: usize = 65_536;
/// A result up to this size lives inside its event; a larger one in chunks beside it.
pub const RESULT_INLINE_MAX_BYTES: usize = 4 * 1024;
/// The result of a run, as JSON; a larger one makes the attempt fail.
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
/// The JSON pointer of a key.
pub const KEY_POINTER_MAX_BYTES: usize = 200;
/// A longer value of a key is identified by its beginning and its hash.
pub const KEY_VALUE_MAX_BYTES: usize = 200;
/// The most runs at once that a concurrency key may allow.
pub const KEY_CONCURRENCY_MAX: u32 = 10_000;
/// The most runs that a rate limit may allow in its time.
pub const RATE_LIMIT_MAX: u32 = 10_000;
/// The longest time of a rate limit.
pub const RATE_PER_MAX: Millis = Millis::from_days(1);
/// The longest time for which a unique key may hold.
pub const UNIQUE_WINDOW_MAX: Millis = Millis::from_days(366);
/// How many jobs one job may come after.
pub const AFTER_JOBS_MAX: usize = 32;
/// How many jobs may lie ahead of a job in its chain.
pub const CHAIN_JOBS_MAX: usize = 1_000;
/// A chain that goes on longer than this is stopped: two changes at once may have made it a ring.
pub const CHAIN_DEPTH_MAX: u32 = 1_000;
/// The name of an executor.
pub const EXECUTOR_NAME_MAX_BYTES: usize = 200;
/// Tools that one executor offers.
pub const EXECUTOR_TOOLS_MAX: usize = 100;
/// Runs that one executor may take at once.
pub const EXECUTOR_CAPACITY_MAX: u32 = 10_000;
/// So many executors of one token are known at once, those counted that were lost within the last hour; more are refused.
pub const EXECUTORS_PER_TOKEN_MAX: usize = 1_000;
/// So many executors of all tokens together.
pub const EXECUTORS_MAX: usize = 5_000;
/// What a fencing token stays below: a number that every reader of JSON takes as it is.
pub const FENCING_TOKEN_MAX: u64 = 1 << 53;
/// How many groups, and how many tools, a token may name that its executors serve.
pub const TOKEN_SCOPE_MAX: usize = 100;
/// An executor that was not heard of for this long is lost, and what it ran is settled.
pub const LEASE: Millis = Millis::from_secs(15);
/// How often an executor should let itself be heard.
pub const HEARTBEAT: Millis = Millis::from_secs(5);
/// An offer under `failover` that is not taken within this time goes to the next executor.
pub const OFFER: Millis = Millis::from_secs(2);
/// An executor that was not heard of for this long confirms what it is sent before it begins it, if it can: it may be
/// frozen with its request open. What it does not confirm within `OFFER` goes to another.
pub const CONFIRM_AFTER: Millis = Millis::from_ms(100);
/// How long a lost executor is still shown.
pub const LOST_SHOWN: Millis = Millis::from_hours(1);
/// The longest a poll waits.
pub const POLL_WAIT_MAX: Millis = Millis::from_secs(60);
/// Runs that one poll may ask for.
pub const POLL_MAX: usize = 1_000;
/// How many reports or chunks of log one request may bring.
pub const REPORTS_MAX: usize = 10_000;

// --- hooks --------------------------------------------------------------------------------------
/// The largest payload of a hook unless it says otherwise.
pub const PAYLOAD_DEFAULT_BYTES: u64 = 1024 * 1024;
/// What a hook may at most allow.
pub const PAYLOAD_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// All headers of a delivery together; one with more is refused.
pub const DELIVERY_HEADERS_MAX_BYTES: usize = 64 * 1024;
/// The longest delivery id that is shown; a longer one is cut for display, not where deliveries are compared.
pub const SENDER_ID_MAX_BYTES: usize = 255;
/// How far the time in a signature may be from ours.
pub const SIGNATURE_WINDOW: Millis = Millis::from_secs(300);
/// How many signatures of one delivery are compared: two stand there while a secret is replaced. The rest is not looked at.
pub const SIGNATURES_MAX: usize = 5;
/// How long a delivery is remembered: the same one again within this time is a duplicate.
pub const DELIVERY_KEPT: Millis = Millis::from_days(7);
/// A delivery whose runs are not over is checked at least this often, should the news of their end be lost.
pub const DELIVERY_CHECK_MIN: Millis = Millis::from_secs(10);
/// The longest time between two such checks.
pub const DELIVERY_CHECK_MAX: Millis = Millis::from_hours(1);
/// A delivery that found the queue of a job full tries again after this, and ever less often.
pub const DELIVERY_WAIT_MIN: Millis = Millis::from_secs(1);
/// The longest time between two such tries.
pub const DELIVERY_WAIT_MAX: Millis = Millis::from_secs(60);
/// Values in the `one_of` of a filter.
pub const FILTER_VALUES_MAX: usize = 100;
/// The filter of a hook, as JSON.
pub const FILTER_MAX_BYTES: usize = 16 * 1024;

// --- logs ---------------------------------------------------------------------------------------
/// One line of a log; a longer one is cut, or continued on the next where a command wrote it.
pub const LOG_LINE_MAX_BYTES: usize = 16 * 1024;
/// All log text of one attempt; what comes after is counted, not kept.
pub const LOG_MAX_BYTES: usize = 8 * 1024 * 1024;
/// The tail of the output that a shell result carries.
pub const OUTPUT_TAIL_BYTES: usize = 2 * 1024;

// --- history ------------------------------------------------------------------------------------
/// Finished runs that a job keeps if it does not say.
pub const RETENTION_RUNS_DEFAULT: u32 = 1_000;
/// The most finished runs that a job may keep.
pub const RETENTION_RUNS_MAX: u32 = 1_000_000;
/// How long a job keeps finished runs if it does not say.
pub const RETENTION_AGE_DEFAULT: Millis = Millis::from_days(30);
/// A job may overshoot its retention by this many runs before it is trimmed: trimming goes in batches.
pub const RETENTION_SLACK: u32 = 100;
/// A job that keeps few runs overshoots by few: by a tenth, and at least by this many.
pub const RETENTION_SLACK_MIN: u32 = 5;

/// Everything that is stored is read and checked within this time,
pub const SCRUB_WITHIN: Millis = Millis::from_days(7);
/// a part of it this often.
pub const SCRUB_EVERY: Millis = Millis::from_secs(60);

// --- secrets ------------------------------------------------------------------------------------
/// The longest value of a secret; a longer one is refused.
pub const SECRET_MAX_BYTES: usize = 64 * 1024;

// --- tokens -------------------------------------------------------------------------------------
/// The name of a token.
pub const TOKEN_NAME_MAX_BYTES: usize = 128;
/// The longest time for which a token that expires may be good.
pub const TOKEN_EXPIRY_MAX: Millis = Millis::from_days(3_660);
/// How long a token that was revoked or has expired is still listed.
pub const TOKEN_KEPT: Millis = Millis::from_days(30);
/// How many sessions of browsers that ended before their time a token remembers; one more ends all of its sessions.
pub const ENDED_SESSIONS_MAX: usize = 200;
/// How many streams (events, logs, open pages) one token may have at once; more are refused.
pub const STREAMS_PER_TOKEN_MAX: usize = 100;
/// How many streams one server has at once, of all tokens together.
pub const STREAMS_MAX: usize = 2_000;
/// The use of a token is written down at most this often.
pub const TOKEN_USE_NOTED: Millis = Millis::from_hours(1);

// --- subscriptions ------------------------------------------------------------------------------
/// The address of a subscription.
pub const SUBSCRIPTION_URL_MAX_BYTES: usize = 2_000;
/// The description of a subscription.
pub const SUBSCRIPTION_TEXT_MAX_BYTES: usize = 1_000;
/// Patterns of events in one subscription.
pub const SUBSCRIPTION_EVENTS_MAX: usize = 50;
/// How many may be enabled at once: each event is held against all of them.
pub const SUBSCRIPTIONS_MAX: usize = 500;
/// A secret that was replaced goes on signing for this long.
pub const WEBHOOK_SECRET_OVERLAP: Millis = Millis::from_days(1);

// --- channels -----------------------------------------------------------------------------------
/// Channels in the store; more are refused. Each message is held against all of them.
pub const CHANNELS_MAX: usize = 200;
/// Receivers of a channel that sends mail.
pub const CHANNEL_RECIPIENTS_MAX: usize = 50;

// --- notifications ------------------------------------------------------------------------------
/// What waits in an outbox is looked at within this time, however the commit that put it there went on.
/// The configuration may say otherwise, up to OUTBOX_FLUSH_DELAY_MAX.
pub const OUTBOX_FLUSH_DELAY: Millis = Millis::from_ms(100);
/// The longest delay that the configuration may name.
pub const OUTBOX_FLUSH_DELAY_MAX: Millis = Millis::from_hours(1);
/// Outboxes are looked at on the beat, so that those filled at about the same time share a commit.
pub const OUTBOX_BEAT: Millis = Millis::from_ms(50);
/// A run is said to run longer than its interval only if it has been running for this long.
pub const OVERRAN_MIN: Millis = Millis::from_secs(1);
/// The title of an incident.
pub const INCIDENT_TITLE_MAX_BYTES: usize = 300;
/// A description, and a note.
pub const INCIDENT_TEXT_MAX_BYTES: usize = 16 * 1024;
/// The identifier of an incident.
pub const IDENTIFIER_MAX_BYTES: usize = 200;
/// The name of a person or a program that did something.
pub const ACTOR_MAX_BYTES: usize = 200;
/// Jobs and runs an incident is linked to; more are refused.
pub const INCIDENT_LINKS_MAX: usize = 100;
/// Action items of an incident; more are refused.
pub const INCIDENT_ACTIONS_MAX: usize = 100;
/// How far ahead an incident may be snoozed, and a silence may last.
pub const INCIDENT_SNOOZE_MAX: Millis = Millis::from_days(30);
/// For how long it is kept who logged in to the dashboard, and who was turned away.
pub const LOGIN_RETENTION: Millis = Millis::from_days(90);
/// So many refused logins from one address are recorded a day; further ones leave no trace but in the log.
pub const LOGIN_DENIALS_MAX: u32 = 20;
/// Silences at a time; more are refused.
pub const SILENCES_MAX: usize = 200;
/// The written part of a postmortem, in Markdown.
pub const POSTMORTEM_MAX_BYTES: usize = 64 * 1024;
/// What a sender keeps in mind about an incident, as JSON.
pub const REMEMBERED_MAX_BYTES: usize = 4 * 1024;
/// Steps of one escalation chain.
pub const ESCALATION_STEPS_MAX: usize = 20;
/// Escalation chains in the store; more are refused.
pub const ESCALATION_CHAINS_MAX: usize = 200;
/// How many failures in a row a job may be allowed before it opens an incident.
pub const INCIDENT_AFTER_MAX: u32 = 1_000;
/// How often a notification is tried, whatever the sender's schedule says.
pub const NOTIFICATION_ATTEMPTS_MAX: u32 = 100;
/// However long a receiver asks to be left alone, a notification is tried again after this.
pub const NOTIFICATION_RETRY_DELAY_MAX: Millis = Millis::from_days(2);
/// A delivered notification is kept for this long.
pub const NOTIFICATION_RETENTION: Millis = Millis::from_days(7);
/// A notification that was given up is kept for this long.
pub const DEAD_LETTER_RETENTION: Millis = Millis::from_days(90);
/// The body of a ping that is kept.
pub const PING_BODY_MAX_BYTES: usize = 64 * 1024;
/// The name of a monitor.
pub const MONITOR_NAME_MAX_BYTES: usize = 100;
/// The shortest period of a monitor.
pub const MONITOR_PERIOD_MIN: Millis = Millis::from_secs(1);
/// The longest grace of a monitor.
pub const MONITOR_GRACE_MAX: Millis = Millis::from_days(366);

// --- submissions ---------------------------------------------------------------------------------
/// The job, or the input, of one row in `ordo.submissions`, as JSON text; a larger one fails the `INSERT`.
pub const SUBMISSION_MAX_BYTES: usize = 512 * 1024;
/// Submissions that a node takes at once.
pub const SUBMISSIONS_TAKEN: usize = 200;
/// How often a node looks for submissions that no notification told it of.
pub const SUBMISSION_SWEEP_EVERY: Millis = Millis::from_secs(1);
/// How long a node has a submission for itself; one that it did not settle by then is taken again.
pub const SUBMISSION_CLAIM: Millis = Millis::from_secs(30);
/// A submission that has to wait (too many runs of its job wait, its tool is not there) is taken again after this,
pub const SUBMISSION_PAUSE_MIN: Millis = Millis::from_secs(1);
/// and each time after twice as long, up to this.
pub const SUBMISSION_PAUSE_MAX: Millis = Millis::from_secs(30);
/// A submission for a tool that nobody offers is taken so often, within about a minute, before it is refused.
pub const SUBMISSION_TOOL_TRIES: u32 = 7;
/// How long it is remembered which submissions were carried out, besides in their rows. One that was taken so long ago
/// and has no outcome is refused: nobody knows whether it was carried out.
pub const SUBMISSION_REMEMBERED: Millis = Millis::from_days(7);
/// How long the row of an accepted submission stays.
pub const SUBMISSION_KEPT: Millis = Millis::from_days(1);
/// How long the row of a refused submission stays.
pub const SUBMISSION_REFUSED_KEPT: Millis = Millis::from_days(30);

// --- lists --------------------------------------------------------------------------------------
/// Items on a page of a list if the caller does not say.
pub const PAGE_DEFAULT: usize = 50;
/// The most items on a page of a list.
pub const PAGE_MAX: usize = 200;
/// Jobs in one batch.
pub const BATCH_JOBS_MAX: usize = 10_000;

const _: () = assert!(MISFIRE_WINDOW.ms() < MISFIRE_AFTER.ms());
const _: () = assert!(MISFIRE_AFTER.ms() <= AT_GRACE.ms());
const _: () = assert!(RESULT_INLINE_MAX_BYTES <= RESULT_MAX_BYTES);
const _: () = assert!(LOG_LINE_MAX_BYTES < LOG_MAX_BYTES);
const _: () = assert!(CONCURRENT_DEFAULT <= CONCURRENT_MAX);
const _: () = assert!(BACKOFF_DEFAULT.ms() <= BACKOFF_MAX.ms());
const _: () = assert!(EXECUTORS_PER_TOKEN_MAX <= EXECUTORS_MAX);
const _: () = assert!(2 * HEARTBEAT.ms() < LEASE.ms());
const _: () = assert!(OFFER.ms() < LEASE.ms());
const _: () = assert!(PAYLOAD_DEFAULT_BYTES <= PAYLOAD_MAX_BYTES);
const _: () =
    assert!(DELIVERY_CHECK_MIN.ms() <= DELIVERY_CHECK_MAX.ms() && DELIVERY_CHECK_MAX.ms() < DELIVERY_KEPT.ms());
const _: () = assert!(DELIVERY_WAIT_MIN.ms() <= DELIVERY_WAIT_MAX.ms());
const _: () =
    assert!(OUTBOX_BEAT.ms() <= OUTBOX_FLUSH_DELAY.ms() && OUTBOX_FLUSH_DELAY.ms() <= OUTBOX_FLUSH_DELAY_MAX.ms());
const _: () = assert!(TOOL_INPUT_MAX_BYTES < SUBMISSION_MAX_BYTES);
const _: () = assert!(SUBMISSION_PAUSE_MIN.ms() <= SUBMISSION_PAUSE_MAX.ms());
const _: () = assert!(SUBMISSION_CLAIM.ms() < SUBMISSION_REMEMBERED.ms());
const _: () = assert!(SUBMISSION_KEPT.ms() <= SUBMISSION_REFUSED_KEPT.ms());
const _: () = assert!(PAGE_DEFAULT <= PAGE_MAX);
const _: () = assert!(PRIORITY_DEFAULT <= PRIORITY_MAX);
