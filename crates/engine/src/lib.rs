//! The engine: takes commands in, fires what is due, runs it, and keeps the books.
//!
//! The folders follow the way of the data: `commit` takes commands and makes them durable, `time` knows what falls due,
//! `dispatch` decides where a run goes, `run` executes it, `notify` sends notifications, `read` serves lists and lookups,
//! `maintenance` checks, settles and forgets, `cluster` shares the work between nodes. Whatever chooses is synchronous and
//! deterministic ([`core`], [`rounds`]); [`Engine`] owns the tasks, and the simulator drives the same parts without it.

mod commit;
mod dispatch;
mod maintenance;
mod notify;
mod read;
mod run;
mod sync;
mod time;

pub mod cluster;
pub mod core;
pub mod engine;
mod random;
#[cfg(feature = "sim")]
pub mod simulated;
#[cfg(feature = "testing")]
pub mod testing;

pub use commit::batcher::chain as error_chain;
pub use commit::command::{Submission, SubmitError};
pub use commit::encoding::{actor, codec};
pub use commit::entity_command::{CommitExtras, Committed};
pub use commit::job_command::{Accepted, Claim, Extra, JobReply, Request};
pub use commit::kinds::{Stored, deliveries_prefix};
pub use commit::state::Versioned;
pub use commit::{change, rounds};
pub use dispatch::{Draws, Find, PoolSize, PoolSizes};
pub use dispatch::{deliveries, executors};
pub use engine::{Engine, EngineOptions, escalations, forecast, incidents, tokens};
pub use maintenance::{check, recovery, retention};
pub use notify::channels;
pub use notify::sender::{self, OutgoingMessage, Retries, SendError, Sender, Senders, Sent};
pub use read::waiting;
pub use read::{
    audit, change_hint, job_list, metrics, mirror, object_queries, page, queries, revisions, run_list, series, upcoming,
};
pub use run::runner::Tools;
pub use run::{log_reader, log_writer, logs, secrets, tool, tool_check, trace};
pub use time::{clock, partitions, timekeeper};
