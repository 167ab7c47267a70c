//! Attends to entities that have something to do: their alarm rang, or somebody knows better.
//!
//! Invariant: one entity is attended to by one task at a time; different ones in parallel, up to a limit. Whoever was
//! attended to gets its alarm back into the ring, whatever came of it.

use std::collections::{BTreeSet, HashMap, VecDeque};

use ordo_model::EntityId;
use ordo_store::Fault;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};

use crate::batcher::chain;
use crate::change::Change;
use crate::core::Input;
use crate::engine::Engine;
use crate::object;

/// How many entities are attended to at once.
const ATTENDING_MAX: usize = 256;

pub(crate) struct Attendants {
    pub(crate) engine: Engine,
    pub(crate) wanted: mpsc::UnboundedReceiver<EntityId>,
    pub(crate) core: mpsc::UnboundedSender<Input>,
}

#[derive(Default)]
struct Book {
    active: BTreeSet<EntityId>,
    /// Asked for while it was being attended to: once more after that.
    again: BTreeSet<EntityId>,
    queue: VecDeque<EntityId>,
    queued: BTreeSet<EntityId>,
}

impl Book {
    /// What may begin now.
    fn next(&mut self) -> Option<EntityId> {
        if self.active.len() >= ATTENDING_MAX {
            return None;
        }
        let entity = self.queue.pop_front()?;
        self.queued.remove(&entity);
        self.active.insert(entity);
        Some(entity)
    }

    fn want(&mut self, entity: EntityId) {
        if self.active.contains(&entity) {
            self.again.insert(entity);
        } else {
            self.enqueue(entity);
        }
    }

    fn done(&mut self, entity: EntityId) {
        self.active.remove(&entity);
        if self.again.remove(&entity) {
            self.enqueue(entity);
        }
    }

    fn enqueue(&mut self, entity: EntityId) {
        if self.queued.insert(entity) {
            self.queue.push_back(entity);
        }
    }
}

impl Attendants {
    pub(crate) async fn run(mut self) {
        let mut book = Book::default();
        let mut tasks: JoinSet<()> = JoinSet::new();
        let mut names: HashMap<Id, EntityId> = HashMap::new();
        loop {
            tokio::select! {
                wanted = self.wanted.recv() => match wanted {
                    Some(entity) => book.want(entity),
                    None => break,
                },
                Some(done) = tasks.join_next_with_id() => {
                    let task = done.as_ref().map_or_else(tokio::task::JoinError::id, |(task, ())| *task);
                    if let Some(entity) = names.remove(&task) {
                        book.done(entity);
                        self.say_if_died(entity, done.err());
                    }
                }
            }
            while let Some(entity) = book.next() {
                let task = tasks.spawn(attend(self.engine.clone(), entity, self.core.clone()));
                names.insert(task.id(), entity);
            }
        }
    }

    /// A task that died has told nobody: the alarm must go back into the ring.
    fn say_if_died(&self, entity: EntityId, error: Option<tokio::task::JoinError>) {
        if let Some(error) = error {
            tracing::error!(%entity, %error, "whoever attended to it died; it is tried again");
            drop(self.core.send(Input::Changed(vec![Change { failed: true, ..Change::of(entity) }])));
        }
    }
}

async fn attend(engine: Engine, entity: EntityId, core: mpsc::UnboundedSender<Input>) {
    let outcome = match object::attend(&engine, entity).await {
        Ok(()) => next_alarm(&engine, entity).await,
        Err(fault) => Err(fault),
    };
    let change = outcome.unwrap_or_else(|fault| {
        tracing::warn!(%entity, error = %chain(&fault), "what is due could not be done; it is tried again");
        Change { failed: true, ..Change::of(entity) }
    });
    drop(core.send(Input::Changed(vec![change])));
}

/// The alarm as it stands now. One that is still due has not been served: it must not spin.
async fn next_alarm(engine: &Engine, entity: EntityId) -> Result<Change, Fault> {
    let alarm = engine.queries().store().load(&[entity]).await?.pop().flatten().and_then(|snapshot| snapshot.alarm);
    let Some(alarm) = alarm else { return Ok(Change::of(entity)) };
    let failed = alarm.at <= engine.clock().now();
    Ok(Change { alarm: Some(alarm.at), rank: alarm.rank, failed, ..Change::of(entity) })
}
