//! When a job fires by itself from now on.

use super::state::Job;
use crate::schedule::Occurrence;
use crate::time::Timestamp;

impl Job {
    /// Its fires from `from` until before `to`, soonest first, at most `limit`. None for a job that does not fire by
    /// itself as it stands: one that is paused, for example. What is overdue is not among them.
    pub fn fires_between(&self, from: Timestamp, to: Timestamp, limit: usize) -> Vec<Occurrence> {
        let (Some(next), Some(schedule)) = (self.next.filter(|_| self.next_tick_at().is_some()), self.schedule())
        else {
            return Vec::new();
        };
        // The nominal time of what is still to come may lie before `from`: jitter is added to it.
        let begin = if next.due >= from { next.nominal } else { from };
        let found = schedule.between(begin, to, limit, self.id.0);
        let mut found: Vec<Occurrence> = found.into_iter().filter(|one| one.due >= from && one.due < to).collect();
        found.sort_by_key(|one| one.due);
        found
    }

    fn schedule(&self) -> Option<&crate::schedule::Schedule> {
        self.definition.trigger.schedule()
    }
}
