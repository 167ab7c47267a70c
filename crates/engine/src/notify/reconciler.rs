//! Attends to entities that have something to do: their alarm rang, or somebody knows better.
//!
//! Invariant: one entity is reconciled to by one task at a time; different ones in parallel, up to a limit. Whoever was
//! reconciled to gets its alarm back into the ring, whatever came of it. What waits for a sender waits in that sender's
//! own queue, so that a slow one delays nobody else.

use std::collections::HashMap;

use ordo_model::{EntityId, Kind};
use ordo_store::{Fault, Snapshot};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::commit::batcher::chain;
use crate::commit::change::Change;
use crate::commit::kinds;
use crate::core::Input;
use crate::engine::Engine;
use crate::notify::dispatcher;
use crate::notify::work_queue::{Queue, WorkQueue};

pub(crate) struct Reconciler {
    pub(crate) engine: Engine,
    pub(crate) inbox: mpsc::UnboundedReceiver<ReconcilerMessage>,
    pub(crate) core: mpsc::UnboundedSender<Input>,
    pub(crate) stopping: CancellationToken,
}

#[derive(Debug)]
pub(crate) enum ReconcilerMessage {
    /// An entity may have something to do.
    Wanted(EntityId),
    /// Say when nothing is being looked at, and how many were looked at so far. What waits for somebody outside does not count.
    Quiet(oneshot::Sender<u64>),
}

/// What came of looking at an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reconciled {
    /// What was due is done, or has its alarm.
    Done,
    /// It waits for another entity, which will nudge it; its alarm is kept in the store, and found there after a crash.
    Asleep,
    /// It goes on in the queue of this sender.
    Through(String),
}

impl Reconciler {
    pub(crate) async fn run(mut self) {
        let mut work = WorkQueue::default();
        let mut tasks: JoinSet<Reconciled> = JoinSet::new();
        let mut names: HashMap<Id, (EntityId, Queue)> = HashMap::new();
        let (mut looked_at, mut waiting_for_quiet) = (0, Vec::new());
        loop {
            tokio::select! {
                biased;
                () = self.stopping.cancelled() => break,
                Some(done) = tasks.join_next_with_id() => {
                    let task = done.as_ref().map_or_else(JoinError::id, |(task, _)| *task);
                    if let Some((entity, queue)) = names.remove(&task) {
                        let reconciled = done.map_or_else(|error| self.died(entity, &error), |(_, reconciled)| reconciled);
                        match reconciled {
                            Reconciled::Through(sender) => work.move_on(entity, &queue, Queue::Sender(sender)),
                            Reconciled::Done | Reconciled::Asleep => work.done(entity, &queue),
                        }
                    }
                }
                message = self.inbox.recv() => match message {
                    Some(ReconcilerMessage::Wanted(entity)) => work.want(entity),
                    Some(ReconcilerMessage::Quiet(reply)) => waiting_for_quiet.push(reply),
                    None => break,
                },
            }
            while let Some((entity, queue)) = work.next(|sender| self.concurrency(sender)) {
                let (engine, core) = (self.engine.clone(), self.core.clone());
                let task = tasks.spawn(reconcile(engine, entity, core, queue != Queue::Any));
                looked_at += u64::from(queue == Queue::Any);
                names.insert(task.id(), (entity, queue));
            }
            if work.is_quiet() {
                // Whoever does not wait any more need not know.
                waiting_for_quiet.drain(..).for_each(|reply| reply.send(looked_at).unwrap_or_default());
            }
        }
        tasks.shutdown().await;
    }

    fn concurrency(&self, sender: &str) -> usize {
        self.engine.senders().concurrency(sender)
    }

    /// A task that died reported nothing: the alarm must go back into the ring.
    fn died(&self, entity: EntityId, error: &JoinError) -> Reconciled {
        tracing::error!(%entity, %error, "whoever reconciled to it died; it is tried again");
        drop(self.core.send(Input::Changed(vec![Change { failed: true, ..Change::of(entity) }])));
        Reconciled::Done
    }
}

async fn reconcile(
    engine: Engine,
    entity: EntityId,
    core: mpsc::UnboundedSender<Input>,
    is_sending: bool,
) -> Reconciled {
    let reconciled = match is_sending {
        true => dispatcher::deliver(&engine, entity.id).await,
        false => kinds::reconcile(&engine, entity).await,
    };
    let settled = match &reconciled {
        Ok(Reconciled::Done) => settle(&engine, entity, &core).await,
        Ok(Reconciled::Asleep) => {
            drop(core.send(Input::Changed(vec![Change::of(entity)])));
            Ok(())
        }
        Ok(Reconciled::Through(_)) => Ok(()),
        Err(fault) => Err(fault.clone()),
    };
    if let Err(fault) = settled {
        tracing::warn!(%entity, error = %chain(&fault), "what is due could not be done; it is tried again");
        drop(core.send(Input::Changed(vec![Change { failed: true, ..Change::of(entity) }])));
        return Reconciled::Done;
    }
    reconciled.unwrap_or(Reconciled::Done)
}

/// Puts the alarm as it stands now back into the ring. A commit may come between reading and reporting, and its own
/// change before ours: therefore it is read again until what was reported last is what is stored.
async fn settle(engine: &Engine, entity: EntityId, core: &mpsc::UnboundedSender<Input>) -> Result<(), Fault> {
    // The rounds that change a job report to the core themselves, and its alarm was never taken out of the ring.
    if entity.kind == Kind::Job {
        return Ok(());
    }
    let mut reported = None;
    loop {
        let snapshot = engine.queries().store().load(&[entity]).await?.pop().flatten();
        let version = snapshot.as_ref().map_or(0, |snapshot| snapshot.version);
        if reported == Some(version) {
            return Ok(());
        }
        drop(core.send(Input::Changed(vec![after(engine, entity, snapshot.as_ref())])));
        reported = Some(version);
    }
}

/// One whose alarm is still due has not been served: it must not spin.
fn after(engine: &Engine, entity: EntityId, snapshot: Option<&Snapshot>) -> Change {
    let Some(alarm) = snapshot.and_then(|snapshot| snapshot.alarm) else { return Change::of(entity) };
    let failed = alarm.at <= engine.clock().now();
    Change { alarm: Some(alarm.at), rank: alarm.rank, failed, ..Change::of(entity) }
}
