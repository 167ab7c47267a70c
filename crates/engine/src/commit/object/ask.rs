//! One command on one object, on its way through the batcher, and its answer.

use std::sync::Arc;

use ordo_model::object::Object;
use ordo_model::{EntityId, Timestamp};
use ordo_store::{Chunk, Dedup, Fault, NewEvent};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::Stored;
use super::state::{State, Versioned, encode_event, typed};

/// What becomes durable together with the command, and only if it leads to something.
#[derive(Debug, Clone, Default)]
pub struct CommitExtras {
    pub dedup: Vec<Dedup>,
    /// Chunks whose owners the new state names.
    pub chunks: Vec<Chunk>,
}

/// What a command led to. It is durable.
#[derive(Debug, Clone)]
pub struct Committed<T: Object> {
    pub state: Arc<Versioned<T>>,
    pub events: Vec<T::Event>,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommandError<R: std::error::Error> {
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
    #[error("Ordo is shutting down")]
    Stopped,
}

/// Why an ask came back without having been carried out.
#[derive(Debug, Clone)]
pub(crate) enum Lost {
    Duplicate(Vec<u8>),
    Store(Arc<Fault>),
    Contended,
    Stopped,
}

/// An ask of any kind.
pub(crate) trait Ask: Send + Sync {
    fn entity(&self) -> EntityId;
    /// Whether it carries this dedup key.
    fn claims(&self, key: &[u8]) -> bool;
    /// May be called again if the commit was lost to somebody else.
    fn decide(&mut self, before: Option<&Arc<dyn State>>, now: Timestamp) -> Option<Step>;
    fn answer(self: Box<Self>, lost: Option<Lost>);
}

/// Where a command leads.
pub(crate) struct Step {
    pub(crate) state: Arc<dyn State>,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) extras: CommitExtras,
}

pub(crate) struct TypedAsk<T: Stored> {
    id: Uuid,
    command: T::Command,
    extras: CommitExtras,
    verdict: Option<Result<Committed<T>, CommandError<T::Refusal>>>,
    reply: oneshot::Sender<Result<Committed<T>, CommandError<T::Refusal>>>,
}

pub(crate) type Reply<T> = oneshot::Receiver<Result<Committed<T>, CommandError<<T as Object>::Refusal>>>;

impl<T: Stored> TypedAsk<T> {
    pub(crate) fn pair(id: Uuid, command: T::Command, extras: CommitExtras) -> (Box<dyn Ask>, Reply<T>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(TypedAsk::<T> { id, command, extras, verdict: None, reply }), answer)
    }

    fn consider(
        &self,
        before: Option<&Versioned<T>>,
        now: Timestamp,
    ) -> Result<Committed<T>, CommandError<T::Refusal>> {
        let value = before.map(|kept| &kept.value);
        let events = T::decide(self.id, value, self.command.clone(), now).map_err(CommandError::Refused)?;
        let mut value = value.cloned();
        for event in &events {
            value = Some(T::apply(self.id, value, event, now).map_err(|e| damaged(e.to_string()))?);
        }
        let value = value.ok_or_else(|| damaged("a command without effect on something that is not there".into()))?;
        let version = before.map_or(0, |kept| kept.version) + events.len() as u64;
        Ok(Committed { state: Arc::new(Versioned { id: self.id, version, value }), events })
    }
}

fn damaged<R: std::error::Error>(text: String) -> CommandError<R> {
    CommandError::Store(Arc::new(Fault::damaged(text)))
}

impl<T: Stored> Ask for TypedAsk<T> {
    fn entity(&self) -> EntityId {
        EntityId { kind: T::KIND, id: self.id }
    }

    fn claims(&self, key: &[u8]) -> bool {
        self.extras.dedup.iter().any(|dedup| dedup.key == key)
    }

    fn decide(&mut self, before: Option<&Arc<dyn State>>, now: Timestamp) -> Option<Step> {
        let verdict = match before.map(typed::<T>).transpose() {
            Ok(before) => self.consider(before.as_deref(), now),
            Err(fault) => Err(CommandError::Store(Arc::new(fault))),
        };
        let step = verdict.as_ref().ok().filter(|committed| !committed.events.is_empty()).map(|committed| Step {
            state: committed.state.clone(),
            events: committed.events.iter().map(|event| encode_event(event, now)).collect(),
            extras: self.extras.clone(),
        });
        self.verdict = Some(verdict);
        step
    }

    fn answer(self: Box<Self>, lost: Option<Lost>) {
        let answer = match lost {
            None => self.verdict.unwrap_or(Err(CommandError::Contended)),
            Some(Lost::Duplicate(value)) => Err(CommandError::Duplicate(value)),
            Some(Lost::Store(fault)) => Err(CommandError::Store(fault)),
            Some(Lost::Contended) => Err(CommandError::Contended),
            Some(Lost::Stopped) => Err(CommandError::Stopped),
        };
        // Whoever asked may have stopped waiting; what was decided stands.
        drop(self.reply.send(answer));
    }
}
