//! What just changed, for those who watch. A hint: whoever gets it, or missed some, looks at the store again.

use ordo_model::{EntityId, JobId, RunId};
use tokio::sync::broadcast;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeHint {
    Job(JobId),
    Run(RunId),
    Log(RunId),
    /// Another node wrote something.
    Elsewhere,
    /// Anything that is not a job.
    Object(EntityId),
}

impl ChangeHint {
    /// Whether it may be about something that is not a job.
    const fn is_of_objects(self) -> bool {
        match self {
            ChangeHint::Object(_) | ChangeHint::Elsewhere => true,
            ChangeHint::Job(_) | ChangeHint::Run(_) | ChangeHint::Log(_) => false,
        }
    }
}

/// How many hints a slow watcher may lag behind before it has to look at everything.
const CHANGE_HINT_BACKLOG: usize = 4_096;

/// Where hints are sent. Runs change thousands of times a second: whoever does not care about them is not woken by them.
#[derive(Debug, Clone)]
pub(crate) struct ChangeHints {
    all: broadcast::Sender<ChangeHint>,
    objects: broadcast::Sender<ChangeHint>,
}

impl ChangeHints {
    pub(crate) fn new() -> ChangeHints {
        ChangeHints {
            all: broadcast::channel(CHANGE_HINT_BACKLOG).0,
            objects: broadcast::channel(CHANGE_HINT_BACKLOG).0,
        }
    }

    /// There may be nobody who watches.
    pub(crate) fn send(&self, hint: ChangeHint) {
        if hint.is_of_objects() {
            drop(self.objects.send(hint));
        }
        drop(self.all.send(hint));
    }

    pub(crate) fn watch(&self) -> broadcast::Receiver<ChangeHint> {
        self.all.subscribe()
    }

    pub(crate) fn watch_objects(&self) -> broadcast::Receiver<ChangeHint> {
        self.objects.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use ordo_model::Kind;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn whoever_watches_objects_is_not_woken_by_runs() {
        let hints = ChangeHints::new();
        let (mut all, mut objects) = (hints.watch(), hints.watch_objects());
        let object = ChangeHint::Object(EntityId { kind: Kind::Subscription, id: Uuid::from_u128(1) });
        let (run, job) = (ChangeHint::Run(RunId(Uuid::from_u128(2))), ChangeHint::Job(JobId(Uuid::from_u128(3))));
        for hint in [run, job, object, ChangeHint::Log(RunId(Uuid::from_u128(2))), ChangeHint::Elsewhere] {
            hints.send(hint);
        }
        assert_eq!([(); 5].map(|()| all.try_recv().unwrap())[..3], [run, job, object]);
        assert_eq!([(); 2].map(|()| objects.try_recv().unwrap()), [object, ChangeHint::Elsewhere]);
        objects.try_recv().expect_err("nothing else was for it");
    }
}
