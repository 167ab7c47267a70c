//! One command on one entity on its way through the kernel, whatever its kind, and how it ends.
//!
//! Invariant: whoever waits for a command is answered once, and only when its effect is durable or known not to be.

use std::sync::Arc;

use ordo_model::{EntityId, Moment};
use ordo_store::Fault;

use super::change::Change;
use super::planner::EntityWork;
use crate::read::change_hint::ChangeHint;
use crate::read::metrics::Metrics;

/// Why a command was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError<R: std::error::Error = ordo_model::job::Refusal> {
    #[error(transparent)]
    Refused(R),
    /// Somebody did the same before; what they left behind.
    #[error("this was done before")]
    Duplicate(Vec<u8>),
    /// The store failed; whether the command took effect is not known.
    #[error("{0}")]
    Store(Arc<Fault>),
    #[error("others kept changing it: try again")]
    Contended,
    /// As much waits for the store as may wait.
    #[error("too many commands are waiting to be written: try again in a moment")]
    Overloaded,
    #[error("Ordo is shutting down")]
    Stopped,
}

impl<R: std::error::Error> From<Fault> for SubmitError<R> {
    fn from(fault: Fault) -> SubmitError<R> {
        SubmitError::Store(Arc::new(fault))
    }
}

impl From<ordo_model::job::Refusal> for SubmitError {
    fn from(refusal: ordo_model::job::Refusal) -> SubmitError {
        SubmitError::Refused(refusal)
    }
}

/// What keeps a command that was decided from being carried out.
#[derive(Debug, Clone)]
pub(crate) enum Lost {
    Duplicate(Vec<u8>),
    Store(Arc<Fault>),
    Contended,
    /// What it needs a share of is used up.
    Exhausted,
    Stopped,
}

impl Lost {
    pub(crate) fn into_error<R: std::error::Error>(self) -> SubmitError<R> {
        match self {
            Lost::Duplicate(value) => SubmitError::Duplicate(value),
            Lost::Store(fault) => SubmitError::Store(fault),
            Lost::Contended | Lost::Exhausted => SubmitError::Contended,
            Lost::Stopped => SubmitError::Stopped,
        }
    }
}

/// What a command that was carried out leaves to be made known.
pub(crate) struct Announcements<'a> {
    pub(crate) metrics: &'a Metrics,
    pub(crate) hints: &'a mut Vec<ChangeHint>,
}

/// A command of any kind.
pub(crate) trait PendingCommand: Send + Sync {
    fn entity(&self) -> EntityId;

    /// The keys under which it must not happen twice. Only asked for when a command was lost.
    fn keys(&self) -> Vec<&[u8]>;

    /// The keys of quotas that it takes a share of, once it is decided.
    fn quota_keys(&self) -> &[Vec<u8>] {
        &[]
    }

    /// Whether it brings its entity into being, under an id that is most likely new.
    fn creates(&self) -> bool;

    /// Nobody outside waits for it: if its entity is slow, others may go first.
    fn can_wait(&self) -> bool;

    /// Whether it reports of an attempt: it is kept until it is written, and can be decided anew whatever it was decided on.
    fn is_report(&self) -> bool {
        false
    }

    /// Decides on the entity as the round has left it so far. False: it cannot be decided beside what is in the round
    /// already, and comes again in a later one. May be called again if the commit was lost. `is_shared`: other nodes
    /// write to the store too.
    fn decide(&mut self, work: &mut EntityWork, now: Moment, is_shared: bool) -> bool;

    /// What the engine gets back if nothing came of the round.
    fn undo(&self, change: &mut Change);

    /// It was lost and is decided anew: what it had reserved went back.
    fn rewind(&mut self);

    /// Whether it is to be decided anew although it was lost so, so often before.
    fn tries_again(&self, lost: &Lost, tries: u32) -> bool;

    /// Answers whoever waits.
    fn settle(self: Box<Self>, lost: Option<Lost>, announce: &mut Announcements<'_>);
}

/// A command, and how often it was lost to somebody else.
pub struct Submission {
    pub(crate) command: Box<dyn PendingCommand>,
    pub(crate) tries: u32,
    /// Its share of what may wait at once; the engine's own commands have none.
    pub(crate) permit: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl Submission {
    pub(crate) fn new(command: impl PendingCommand + 'static) -> Submission {
        Submission { command: Box::new(command), tries: 0, permit: None }
    }
}

impl std::fmt::Debug for Submission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Submission").field("entity", &self.command.entity()).field("tries", &self.tries).finish()
    }
}
