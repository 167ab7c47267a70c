//! A job: what was asked, what it is doing now, and the rules between the two.

pub mod action;
mod after;
mod apply;
mod command;
mod decide;
pub(crate) mod definition;
mod event;
mod fires;
mod outbox;
mod pace;
mod run;
mod shard;
mod state;
pub mod submission;
mod verdict;

pub use after::{After, AfterMode, AfterOn, UpstreamEnd};
pub use apply::{Unfoldable, apply, create};
pub use command::{AttemptReport, Command, Refusal, SlotReservation, SlottedCommand};
pub use decide::{Decided, decide};
pub use definition::diff::{FieldChange, field_changes};
pub use definition::key::{ConcurrencyKey, KeySource, OnConflict, RateLimit, UniqueKey};
pub use definition::policy::{Block, Misfire, Retention, Retry, Routing};
pub use definition::reaction::{IncidentPolicy, Reaction};
pub use definition::tags::{TAG_PATTERN, check_tag};
pub use definition::trigger::Trigger;
pub use definition::{Definition, Invalid};
pub use event::{Cause, Event, SkipReason, Timeliness};
pub use outbox::Notice;
pub use pace::{Pace, Pool};
pub use run::{AttemptError, Run, RunStatus, RunStatusKind};
pub use shard::{Shard, ShardEnd, ShardPosition};
pub use state::{ActiveRun, Attempt, Backfill, Job, JobState, Last, Phase, RunHistory, Stage};
pub use verdict::Verdict;
