//! What slow jobs want decided while no caller waits for it: their alarms, starts and reports.
//!
//! Invariant: it goes in small parts, one at a time, so that hundreds of slow jobs of one instant delay whoever comes
//! after them by one part and not by all of it.

use std::collections::VecDeque;

use ordo_model::JobId;
use ordo_model::job::Command;

use crate::commit::batcher::Submission;

/// How many of them a round takes. The slow pool finishes a few hundred runs a second: this is no bound for it.
const PART: usize = 16;

#[derive(Debug, Default)]
pub struct Behind {
    waiting: VecDeque<Submission>,
    is_under_way: bool,
}

impl Behind {
    /// Takes out what can wait.
    pub(crate) fn set_aside(&mut self, submissions: &mut Vec<Submission>, is_slow: impl Fn(JobId) -> bool) {
        let can_wait = |submission: &mut Submission| {
            let command = &submission.request.order.command;
            matches!(command, Command::Wake | Command::Start { .. } | Command::Report { .. })
                && is_slow(submission.request.job_id)
        };
        self.waiting.extend(submissions.extract_if(.., can_wait));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_ready(&self) -> bool {
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
    use crate::commit::planner::Request;
    use uuid::Uuid;

    fn order(number: u128, command: Command) -> Submission {
        Submission::unanswered(Request::new(JobId(Uuid::from_u128(number)), command))
    }

    #[test]
    fn alarms_of_slow_jobs_go_in_parts_and_one_part_at_a_time() {
        let mut behind = Behind::default();
        let mut submissions: Vec<Submission> = (0..50).map(|number| order(number, Command::Wake)).collect();
        submissions.push(order(7, Command::Resume));
        behind.set_aside(&mut submissions, |job| job.0.as_u128() < 20);
        assert_eq!(submissions.len(), 31, "quick jobs and what somebody asked for go on");
        assert_eq!(behind.part().map(Iterator::count), Some(PART));
        assert!(behind.part().is_none() && !behind.is_ready(), "the first part is under way");
        behind.landed();
        assert_eq!(behind.part().map(Iterator::count), Some(20 - PART));
        behind.landed();
        assert!(!behind.is_ready() && behind.is_empty());
    }
}
