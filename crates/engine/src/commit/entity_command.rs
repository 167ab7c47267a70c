//! A command on an entity that is not a job: decided by the model, answered with the state it led to.

use std::sync::Arc;

use ordo_model::object::Object;
use ordo_model::{EntityId, Moment};
use ordo_store::{Chunk, Dedup, EventActor, Fault};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::change::Change;
use super::command::{Announcements, Lost, PendingCommand, SubmitError};
use super::kinds::Stored;
use super::planner::EntityWork;
use super::rounds::CONTENTION_MAX;
use super::state::{Versioned, encode_event, typed};
use crate::read::change_hint::ChangeHint;

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

/// What a command comes to, and all that is written because of it: also that the clock was set.
struct Considered<T: Object> {
    committed: Committed<T>,
    written: Vec<T::Event>,
}

type EntityReply<T> = Result<Committed<T>, SubmitError<<T as Object>::Refusal>>;

pub(crate) struct EntityCommand<T: Stored> {
    id: Uuid,
    command: T::Command,
    extras: CommitExtras,
    actor: EventActor,
    decided: Option<EntityReply<T>>,
    reply: oneshot::Sender<EntityReply<T>>,
}

impl<T: Stored> EntityCommand<T> {
    pub(crate) fn pair(
        id: Uuid,
        command: T::Command,
        extras: CommitExtras,
        actor: EventActor,
    ) -> (EntityCommand<T>, oneshot::Receiver<EntityReply<T>>) {
        let (reply, answer) = oneshot::channel();
        (EntityCommand { id, command, extras, actor, decided: None, reply }, answer)
    }

    fn consider(
        &self,
        before: Option<&Versioned<T>>,
        moment: Moment,
    ) -> Result<Considered<T>, SubmitError<T::Refusal>> {
        let now = moment.now;
        let mut value = before.map(|state| state.value.clone());
        let (mut written, mut events) = (Vec::new(), Vec::new());
        let apply = |value: &mut Option<T>, event: &T::Event| {
            *value = Some(T::apply(self.id, value.take(), event, now).map_err(|e| damaged(e.to_string()))?);
            Ok::<(), SubmitError<T::Refusal>>(())
        };
        // First its lengths of time are laid out on the clock as it stands now: they are judged by what really passed.
        let laid = value.as_ref().map(T::clock);
        if let Some(step) = laid.and_then(|laid| T::clock_stepped(moment.frame.moved_from(laid)?, moment.frame)) {
            apply(&mut value, &step)?;
            written.push(step);
        }
        for event in T::decide(self.id, value.as_ref(), self.command.clone(), now).map_err(SubmitError::Refused)? {
            apply(&mut value, &event)?;
            written.push(event.clone());
            events.push(event);
        }
        // What is new to a clock that was set before its time has nothing to move.
        let is_new = laid.is_none() && value.is_some() && moment.frame.moved_from(None).is_some();
        if let Some(begin) = is_new.then(|| T::clock_stepped(0, moment.frame)).flatten() {
            apply(&mut value, &begin)?;
            written.push(begin);
        }
        let value = value.ok_or_else(|| damaged("a command without effect on something that is not there".into()))?;
        let version = before.map_or(0, |state| state.version) + written.len() as u64;
        Ok(Considered {
            committed: Committed { state: Arc::new(Versioned { id: self.id, version, value }), events },
            written,
        })
    }
}

fn damaged<R: std::error::Error>(text: String) -> SubmitError<R> {
    SubmitError::Store(Arc::new(Fault::damaged(text)))
}

impl<T: Stored> PendingCommand for EntityCommand<T> {
    fn entity(&self) -> EntityId {
        EntityId { kind: T::KIND, id: self.id }
    }

    fn keys(&self) -> Vec<&[u8]> {
        self.extras.dedup.first().map(|dedup| dedup.key.as_slice()).into_iter().collect()
    }

    fn creates(&self) -> bool {
        false
    }

    fn can_wait(&self) -> bool {
        false
    }

    fn decide(&mut self, work: &mut EntityWork, moment: Moment, _is_shared: bool) -> bool {
        let now = moment.now;
        if work.is_gone() || self.extras.dedup.iter().any(|dedup| work.claims(&dedup.key)) {
            return false;
        }
        let answer = match work.state().map(typed::<T>).transpose() {
            Ok(before) => self.consider(before.as_deref(), moment),
            Err(fault) => Err(SubmitError::Store(Arc::new(fault))),
        };
        if let Ok(Considered { committed, written }) = answer.as_ref()
            && !written.is_empty()
        {
            let events = written.iter().map(|event| encode_event(event, now));
            work.advance(committed.state.clone(), events, &self.actor);
            // A command that finds nothing to do has not been carried out, whatever the clock gave reason to write down.
            if !committed.events.is_empty() {
                work.claim(self.extras.dedup.iter().cloned());
                work.attach(self.extras.chunks.iter().cloned());
            }
        }
        self.decided = Some(answer.map(|considered| considered.committed));
        true
    }

    fn undo(&self, _change: &mut Change) {}

    fn rewind(&mut self) {}

    fn tries_again(&self, lost: &Lost, tries: u32) -> bool {
        matches!(lost, Lost::Contended) && tries < CONTENTION_MAX
    }

    fn settle(self: Box<Self>, lost: Option<Lost>, announce: &mut Announcements<'_>) {
        let entity = self.entity();
        let answer = match lost {
            None => {
                announce.hints.push(ChangeHint::Object(entity));
                self.decided.unwrap_or(Err(SubmitError::Contended))
            }
            Some(lost) => Err(lost.into_error()),
        };
        // Whoever asked may have stopped waiting; what was decided stands.
        drop(self.reply.send(answer));
    }
}
