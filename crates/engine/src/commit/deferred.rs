//! What slow jobs want decided while no caller waits for it: their alarms, starts and reports.
//!
//! Invariant: it goes in small parts, one at a time, so that hundreds of slow jobs of one instant delay whoever comes
//! after them by one part and not by all of it.

use std::collections::VecDeque;

use super::command::Submission;

/// How many of them a round takes. The slow pool finishes a few hundred runs a second: this is no bound for it.
const PART: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Deferred {
    waiting: VecDeque<Submission>,
    is_under_way: bool,
}

impl Deferred {
    pub(crate) fn push(&mut self, submission: Submission) {
        self.waiting.push_back(submission);
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Submission> {
        self.waiting.drain(..)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn is_ready(&self) -> bool {
        !self.is_under_way && !self.waiting.is_empty()
    }

    /// The part of the next round, if none is under way.
    pub(crate) fn part(&mut self) -> Option<impl Iterator<Item = Submission>> {
        self.is_ready().then(|| {
            self.is_under_way = true;
            self.waiting.drain(..self.waiting.len().min(PART))
        })
    }

    /// The round with the last part has landed.
    pub(crate) fn landed(&mut self) {
        self.is_under_way = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::job_command::Request;
    use ordo_model::JobId;
    use ordo_model::job::Command;
    use uuid::Uuid;

    #[test]
    fn what_is_deferred_goes_in_parts_and_one_part_at_a_time() {
        let mut deferred = Deferred::default();
        for number in 0..20 {
            deferred.push(Request::new(JobId(Uuid::from_u128(number)), Command::Wake).unanswered());
        }
        assert_eq!(deferred.part().map(Iterator::count), Some(PART));
        assert!(deferred.part().is_none() && !deferred.is_ready(), "the first part is under way");
        deferred.landed();
        assert_eq!(deferred.part().map(Iterator::count), Some(20 - PART));
        deferred.landed();
        assert!(!deferred.is_ready() && deferred.is_empty());
    }
}
