//! A job: what was asked, what it is doing now, and the rules between the two.

pub mod action;
mod after;
mod apply;
mod command;
mod decide;
pub(crate) mod definition;
mod event;
mod key;
mod outbox;
mod pace;
mod packed_definition;
mod policy;
mod reaction;
mod run;
mod shard;
mod state;
mod trigger;
mod verdict;

pub use after::{After, AfterMode, AfterOn, UpstreamEnd};
pub use apply::{Unfoldable, apply, create};
pub use command::{AttemptReport, Command, Refusal, SlotReservation, SlottedCommand};
pub use decide::{Decided, decide};
pub use definition::{Definition, Invalid};
pub use event::{Cause, Event, SkipReason, Timeliness};
pub use key::{ConcurrencyKey, KeySource, OnConflict, RateLimit, UniqueKey};
pub use outbox::Notice;
pub use pace::{Pace, Pool};
pub use policy::{Block, Misfire, Retention, Retry, Routing};
pub use reaction::{IncidentPolicy, Reaction};
pub use run::{AttemptError, Run, RunStatus};
pub use shard::{Shard, ShardEnd, ShardPosition};
pub use state::{ActiveRun, Attempt, Backfill, Job, JobState, Last, Phase, RunHistory, Stage};
pub use trigger::Trigger;
pub use verdict::Verdict;
