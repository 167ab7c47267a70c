//! Who is being reconciled to, and who waits: one queue for looking, one for each sender.
//!
//! Invariant: an entity stands in one queue or is active in one, never twice. Asked for meanwhile, it comes once more.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ordo_model::EntityId;

/// How many entities are looked at at once.
const RECONCILING_MAX: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Queue {
    /// Work of Ordo's own: quick.
    Any,
    /// Work that waits for somebody outside.
    Sender(String),
}

#[derive(Debug, Default)]
struct QueueOfKind {
    waiting: VecDeque<EntityId>,
    active: usize,
}

#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    lines: BTreeMap<Queue, QueueOfKind>,
    /// Whether it was asked for again since it is here.
    known: HashMap<EntityId, bool>,
}

impl WorkQueue {
    pub(crate) fn want(&mut self, entity: EntityId) {
        match self.known.get_mut(&entity) {
            Some(again) => *again = true,
            None => {
                self.known.insert(entity, false);
                self.lines.entry(Queue::Any).or_default().waiting.push_back(entity);
            }
        }
    }

    /// What may begin now.
    pub(crate) fn next(&mut self, concurrency: impl Fn(&str) -> usize) -> Option<(EntityId, Queue)> {
        for (queue, line) in &mut self.lines {
            if line.waiting.is_empty() {
                continue;
            }
            let limit = match queue {
                Queue::Any => RECONCILING_MAX,
                Queue::Sender(name) => concurrency(name),
            };
            if line.active < limit
                && let Some(entity) = line.waiting.pop_front()
            {
                line.active += 1;
                if *queue == Queue::Any {
                    // What was asked for while it waited is seen now.
                    self.known.insert(entity, false);
                }
                return Some((entity, queue.clone()));
            }
        }
        None
    }

    /// Whether nothing is looked at, and nothing waits for that.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.lines.contains_key(&Queue::Any)
    }

    /// It goes on in another queue.
    pub(crate) fn move_on(&mut self, entity: EntityId, from: &Queue, to: Queue) {
        self.leave(from);
        self.lines.entry(to).or_default().waiting.push_back(entity);
    }

    pub(crate) fn done(&mut self, entity: EntityId, queue: &Queue) {
        self.leave(queue);
        if self.known.remove(&entity) == Some(true) {
            self.want(entity);
        }
    }

    fn leave(&mut self, queue: &Queue) {
        if let Some(line) = self.lines.get_mut(queue) {
            line.active -= 1;
            if line.active == 0 && line.waiting.is_empty() {
                self.lines.remove(queue);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::Kind;
    use uuid::Uuid;

    fn notification(id: u128) -> EntityId {
        EntityId { kind: Kind::Notification, id: Uuid::from_u128(id) }
    }

    fn slack() -> Queue {
        Queue::Sender("slack".into())
    }

    #[test]
    fn an_entity_queued_while_it_is_reconciled_comes_once_more() {
        let mut work = WorkQueue::default();
        work.want(notification(1));
        work.want(notification(1));
        let (entity, queue) = work.next(|_| 1).unwrap();
        assert!(work.next(|_| 1).is_none(), "asked for twice before it began: once");
        work.want(notification(1));
        work.done(entity, &queue);
        let (entity, queue) = work.next(|_| 1).unwrap();
        work.done(entity, &queue);
        assert!(work.next(|_| 1).is_none());
        assert!(work.known.is_empty() && work.lines.is_empty());
    }

    #[test]
    fn a_sender_that_is_busy_does_not_keep_others_waiting() {
        let mut work = WorkQueue::default();
        for id in 0..3 {
            work.want(notification(id));
            let (entity, queue) = work.next(|_| 1).unwrap();
            work.move_on(entity, &queue, slack());
        }
        let (first, queue) = work.next(|_| 1).unwrap();
        assert_eq!(queue, slack());
        assert!(work.next(|_| 1).is_none(), "one at a time");
        work.want(notification(9));
        assert_eq!(work.next(|_| 1).unwrap(), (notification(9), Queue::Any));
        work.done(first, &slack());
        assert_eq!(work.next(|_| 1).unwrap().0, notification(1));
    }
}
