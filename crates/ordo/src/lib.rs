//! Ordo inside a Rust program: the same durable scheduler, without a server beside it.
//!
//! Open a store, register async functions as handlers, and ensure the jobs you want. What is acknowledged survives a crash; an
//! attempt is started at most once; after a restart missed occurrences follow the job's policies, exactly as with `ordo serve`.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ordo::{Context, Ordo, ToolKey};
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
//! let ordo = Ordo::open("app.db").handle(EMAIL, send).start().await?;
//!
//! // At every start: the job exists once and is as written here.
//! let digest = EMAIL.job("digest", &Email { to: "ada@example.org".into() }).cron("0 9 * * MON", "Europe/Berlin");
//! let digest = ordo.ensure(digest).await?.job().id;
//!
//! // Now, and wait for what the handler returns.
//! let said: String = ordo.result(EMAIL, ordo.trigger(digest).await?).await?;
//!
//! ordo.shutdown(Duration::from_secs(30)).await;
//! # Ok(())
//! # }
//! ```
//!
//! | you want | see |
//! |---|---|
//! | a store in a file, in memory, in PostgreSQL shared by several programs | [`Ordo::open`], [`Ordo::in_memory`], [`Ordo::postgres`] |
//! | a handler with typed input and result | [`ToolKey`], [`Opening::handle`] |
//! | middleware around every attempt | [`Opening::layer`], [`Call`] |
//! | a job that exists once however often the program starts | [`Ordo::ensure`] |
//! | find, list, pause, resume, cancel, trigger | [`Ordo::find`], [`Ordo::list`], [`Ordo::pause`], [`Ordo::resume`], [`Ordo::cancel`], [`Ordo::trigger`] |
//! | retries, timeouts, overlap, missed occurrences, chains | [`JobBuilder`] |
//! | a schedule under test, with a clock you move | [`Opening::with_clock`], [`Ordo::advance`] |
//! | a graceful end | [`Ordo::shutdown`] |
//!
//! A handler stops when its future is dropped: a cancelled or timed-out attempt ends at its next `.await`. A handler may run
//! again after a crash only if its job is [idempotent](JobBuilder::idempotent).

mod embedded;

pub use embedded::{Call, Context, Ensured, Error, JobBuilder, Opening, Ordo, ToolKey};
pub use ordo_engine::clock::{Clock, SetClock, SystemClock};
pub use ordo_engine::tool::{Failure, Tool, Work};
pub use ordo_model::job::{Block, Definition, Job, JobState, Misfire, Run, RunStatus};
pub use ordo_model::{JobId, Millis, RunId, Timestamp};
