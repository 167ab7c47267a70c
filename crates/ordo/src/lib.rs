//! Ordo inside a Rust program: the same durable scheduler, without a server beside it.
//!
//! Open a store, register async functions as handlers, and ensure the jobs you want. What is acknowledged survives a crash; an
//! attempt is started at most once; after a restart missed occurrences follow the job's policies, exactly as with `ordo serve`.
//!
//! ```
//! use std::time::Duration;
//!
//! use ordo::{Context, Cron, Ordo, ToolKey, Weekday, ZoneName};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Email {
//!     to: String,
//! }
//!
//! // Ties the handler, its jobs and their results by type.
//! const EMAIL: ToolKey<Email, String> = ToolKey::new("email");
//!
//! async fn send(email: Email, context: Context) -> Result<String, std::io::Error> {
//!     context.log("sending");
//!     Ok(format!("sent to {}", email.to))
//! }
//!
//! # async fn example() -> Result<(), ordo::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("app.db");
//! let ordo = Ordo::open(path).handle(EMAIL, send).start().await?;
//!
//! // At every start: the job exists once and is as written here.
//! let mondays = Cron::weekly(Weekday::Mon, 9, 0)?.zone(ZoneName::new("Europe/Berlin")?);
//! let digest = EMAIL.job("digest", &Email { to: "all@example.org".into() }).on(mondays);
//! let digest = ordo.ensure(digest).await?.into_job();
//!
//! // Now, for somebody else, and wait for what the handler returns.
//! let said = ordo.call(&digest, &Email { to: "ada@example.org".into() }).await?;
//! assert_eq!(said, "sent to ada@example.org");
//!
//! ordo.shutdown(Duration::from_secs(30)).await;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! | you want | see |
//! |---|---|
//! | a store in a file, in memory, in PostgreSQL shared by several programs | [`Ordo::open`], [`Ordo::in_memory`], [`Ordo::postgres`] |
//! | PostgreSQL through a pool that the program has anyway | [`Ordo::postgres_with`] |
//! | a handler with typed input and result | [`ToolKey`], [`Opening::handle`] |
//! | middleware around every attempt | [`Opening::layer`], [`Call`] |
//! | a schedule that cannot be misspelt | [`Every`], [`Cron`], [`At`], [`ZoneName`], [`JobBuilder::on`] |
//! | a job that exists once however often the program starts | [`Ordo::ensure`] |
//! | a run with its own input, and its result | [`Ordo::trigger_with`], [`Ordo::call`], [`Ordo::result`] |
//! | work that becomes durable with the program's own transaction | [`Ordo::enqueue_in`], [`Enqueuer`] |
//! | find, list, pause, resume, cancel, trigger | [`Ordo::find`], [`Ordo::list`], [`Ordo::pause`], [`Ordo::resume`], [`Ordo::cancel`], [`Ordo::trigger`] |
//! | retries, timeouts, overlap, missed occurrences, limits | [`JobBuilder`] |
//! | one job after another, with what it returned | [`JobBuilder::after`], [`Upstream`] |
//! | a schedule under test, with a clock you move | [`Opening::with_clock`], [`Ordo::advance`] |
//! | a graceful end | [`Ordo::shutdown`] |
//!
//! # What a handler may rely on
//!
//! - Its input was of its type when the job was stored: what it cannot take is refused then.
//! - It is called at most once for each attempt. A run has more than one attempt only if the job says so
//!   ([`JobBuilder::attempts`]), or if a crash cut it off and the job is [idempotent](JobBuilder::idempotent).
//! - It stops when its future is dropped: a cancelled or timed-out attempt ends at its next `.await`.
//!   [`Context::fence`] grows with every attempt of the job, so that whatever it writes to can refuse an older one.
//!
//! # Testing what a schedule does
//!
//! With a clock that only moves when it is told to, a month passes in the time that the work itself takes:
//!
//! ```
//! use std::time::Duration;
//! use ordo::{Context, Cron, Ordo, SetClock, ToolKey, ZoneName};
//!
//! const REPORT: ToolKey<u32, ()> = ToolKey::new("report");
//!
//! # async fn example() -> Result<(), ordo::Error> {
//! let clock = SetClock::new("2027-03-27T00:00:00Z".parse().unwrap());
//! let report = |_: u32, _: Context| async { Ok::<_, String>(()) };
//! let ordo = Ordo::in_memory().with_clock(clock).handle(REPORT, report).start().await?;
//! let daily = Cron::daily(9, 0)?.zone(ZoneName::new("Europe/Berlin")?);
//! let job = ordo.schedule(REPORT.job("report", &1).on(daily)).await?;
//! ordo.advance(Duration::from_secs(2 * 86_400)).await?;
//! let fired: Vec<String> = ordo.runs(job.id()).await?.iter().rev().map(|run| run.fired_at.to_string()).collect();
//! // The clocks change on the 28th.
//! assert_eq!(fired, ["2027-03-27T08:00:00.000Z", "2027-03-28T07:00:00.000Z"]);
//! # ordo.shutdown(Duration::ZERO).await;
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

#![warn(missing_docs)]

mod embedded;

pub use embedded::{
    At, Call, Context, Cron, Ensured, Error, Every, JobBuilder, JobHandle, Opening, Ordo, ToolKey, Upstream, ZoneName,
};
#[cfg(feature = "postgres")]
pub use embedded::{Enqueuer, SubmissionId, SubmittedWork};
pub use ordo_engine::clock::{Clock, SetClock, SystemClock};
pub use ordo_engine::tool::{Failure, Tool, Work};
pub use ordo_model::incident::Severity;
pub use ordo_model::job::{
    AfterMode, AfterOn, Block, ConcurrencyKey, Definition, IncidentPolicy, Job, JobState, KeySource, Misfire,
    OnConflict, RateLimit, Retry, Routing, Run, RunStatus, Trigger, UniqueKey,
};
pub use ordo_model::schedule::{Exclusion, Repeated, Skipped, Weekday};
pub use ordo_model::{JobId, Millis, RunId, Timestamp};

/// The driver whose pools and transactions a program hands over, in the version that Ordo uses.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use ordo_store_postgres::{deadpool_postgres, tokio_postgres};
}
