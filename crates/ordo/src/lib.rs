//! Ordo inside a Rust program: the same durable scheduler, without a server beside it.
//!
//! Open a store, say which async functions are tools, schedule jobs. What is acknowledged survives a crash; an attempt is
//! begun at most once; after a restart what was missed follows the job's policies, exactly as with `ordo serve`.
//!
//! ```no_run
//! use ordo::{JobBuilder, Ordo};
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//!
//! #[derive(Serialize, Deserialize)]
//! struct Email {
//!     to: String,
//! }
//!
//! # async fn example() -> Result<(), ordo::Error> {
//! let ordo = Ordo::open("app.db")
//!     .tool("email", |email: Email, _context| async move { Ok::<_, String>(json!({ "sent_to": email.to })) })
//!     .start()
//!     .await?;
//! let job = JobBuilder::new("welcome", "email").input(&Email { to: "ada@example.org".into() }).cron("0 9 * * *", "Europe/Berlin");
//! ordo.schedule(job).await?;
//! # Ok(())
//! # }
//! ```
//!
//! For tests of one's own schedules the clock can be set: see [`Opening::with_clock`] and [`Ordo::advance`].

mod embedded;

pub use embedded::{Context, Error, JobBuilder, Opening, Ordo};
pub use ordo_engine::clock::{Clock, SetClock, SystemClock};
pub use ordo_engine::tool::{Failure, Tool, Work};
pub use ordo_model::job::{Definition, Job, JobState, Run, RunStatus};
pub use ordo_model::{JobId, Millis, RunId, Timestamp};
