//! How an executor leaves: by its own goodbye, or because somebody asked it to go.
//!
//! Invariant: whoever leaves gets nothing more, and what it was not yet given goes back at once.

use uuid::Uuid;

use super::{ExecutorRegistry, Left, RegisteredExecutor};

impl ExecutorRegistry {
    /// From now on it gets nothing. None: it is not there.
    pub(crate) fn drain(&self, id: Uuid) -> Option<Left> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&id)?;
        member.asked = false;
        Some(member.close())
    }

    /// From now on the executor gets nothing, and its heartbeats ask it to leave. None: it is not there.
    pub(crate) fn ask_to_leave(&self, id: Uuid) -> Option<Left> {
        let mut inner = self.lock();
        let member = inner.members.get_mut(&id)?;
        member.asked = !member.draining || member.asked;
        Some(member.close())
    }

    /// Whether it was asked to go and has not yet said that it does.
    pub(crate) fn is_leaving(&self, id: Uuid) -> bool {
        self.lock().members.get(&id).is_some_and(|member| member.asked)
    }

    /// Whether nothing more will come for it.
    pub(crate) fn is_draining(&self, id: Uuid) -> bool {
        self.lock().members.get(&id).is_none_or(|member| member.draining)
    }

    /// Whether it was also answered a poll since.
    pub(crate) fn knows_that_it_drains(&self, id: Uuid) -> bool {
        self.lock().members.get(&id).is_none_or(|member| member.draining && member.heard_that_it_drains)
    }

    /// A poll of it is answered. Returns whether it is asked to go.
    pub(crate) fn answer_poll(&self, id: Uuid) -> bool {
        let mut inner = self.lock();
        let Some(member) = inner.members.get_mut(&id) else { return false };
        member.heard_that_it_drains = member.draining;
        member.asked
    }

    /// Those who wanted to leave and have nothing left.
    pub(crate) fn drained(&self) -> Vec<Uuid> {
        let inner = self.lock();
        let idle = inner
            .members
            .iter()
            .filter(|(_, member)| member.draining && !member.asked)
            .filter(|(_, member)| member.leases.is_empty() && member.inbox.is_empty());
        idle.map(|(id, _)| *id).collect()
    }
}

impl RegisteredExecutor {
    /// All that wait, and the one that has just found nothing and is about to.
    pub(super) fn wake_polls(&self) {
        self.inbox_signal.notify_waiters();
        self.inbox_signal.notify_one();
    }

    /// Nothing more is put into the inbox, and what stood in it comes back.
    fn close(&mut self) -> Left {
        self.draining = true;
        self.wake_polls();
        Left { undelivered: std::mem::take(&mut self.inbox).into(), running: self.leases.len() }
    }
}
