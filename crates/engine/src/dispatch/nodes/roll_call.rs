//! Who is there, found out anew for runs that must not be given away on an old list.
//!
//! Invariant: a roll call counts for the runs that were known before it was asked for. One is under way at a time; what comes
//! meanwhile waits for the next, so that a burst costs a few looks at the store and not one for each run.

use std::collections::HashSet;

use ordo_model::RunId;

use crate::dispatch::parking::Blocker;

#[derive(Debug, Default)]
pub(in crate::dispatch) struct RollCalls {
    /// The number of the one that is under way, or was the last.
    number: u64,
    is_under_way: bool,
    is_wanted: bool,
    /// Runs that one was asked for after they came.
    called: HashSet<RunId>,
}

impl RollCalls {
    /// What a run waits for that is not to be given away before the next one.
    pub(in crate::dispatch) fn want(&mut self) -> Blocker {
        self.is_wanted = true;
        Blocker::RollCall(self.number + 1)
    }

    /// Whether one is to be made now.
    pub(in crate::dispatch) fn take_wanted(&mut self) -> bool {
        let begins = self.is_wanted && !self.is_under_way;
        if begins {
            self.number += 1;
            (self.is_wanted, self.is_under_way) = (false, true);
        }
        begins
    }

    /// It is answered; returns what waited for it.
    pub(in crate::dispatch) fn answered(&mut self) -> Blocker {
        self.is_under_way = false;
        Blocker::RollCall(self.number)
    }

    /// It could not be made: once more, for the same runs and those that came meanwhile.
    pub(in crate::dispatch) fn failed(&mut self) -> Blocker {
        (self.is_under_way, self.is_wanted) = (false, true);
        Blocker::RollCall(self.number)
    }

    pub(in crate::dispatch) fn counts_for(&self, run: RunId) -> bool {
        self.called.contains(&run)
    }

    pub(in crate::dispatch) fn called(&mut self, runs: impl IntoIterator<Item = RunId>) {
        self.called.extend(runs);
    }

    pub(in crate::dispatch) fn forget(&mut self, run: RunId) {
        self.called.remove(&run);
    }
}
