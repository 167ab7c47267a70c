//! How a round ends: joined with what became of its commit, each command is answered or decided anew.
//!
//! Invariant: what was built on a lost round is lost with it; an attempt that may have become durable although its commit failed is
//! given back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ordo_model::EntityId;
use ordo_model::job::{AttemptReport, Command};
use ordo_store::{CommitOutcome, Fault};

use super::{Flight, Rounds, Settled};
use crate::commit::change::{Change, SharedLimit};
use crate::commit::command::{Announcements, Lost, Submission};
use crate::commit::job_command::Request;
use crate::commit::planner::RoundPlan;
use crate::commit::state::EntityRef;

impl Rounds {
    /// Joins a round with what became of its commit.
    pub fn settle(&mut self, flight: Flight, outcomes: Result<Vec<CommitOutcome>, Fault>) -> Settled {
        let Flight { submissions, chunk_replies, has_deferred, holds: held_back, remembered, plan } = flight;
        if has_deferred {
            self.deferred.landed();
        }
        for entity in &held_back {
            self.busy.remove(entity);
        }
        let settled = match (plan, outcomes) {
            (Ok(plan), Ok(outcomes)) => self.settle_plan(plan, submissions, &remembered, outcomes),
            (Ok(plan), Err(fault)) => {
                let settled = self.settle_failed(submissions, &Arc::new(fault));
                self.disown(plan.changes.into_iter());
                settled
            }
            (Err(fault), _) => self.settle_failed(submissions, &Arc::new(fault)),
        };
        for reply in chunk_replies {
            drop(reply.send(settled.fault.clone().map_or(Ok(()), Err)));
        }
        self.open -= 1;
        if self.open == 0 {
            self.tainted.clear();
        }
        // What was held back came before what has not been looked at yet.
        while let Some(submission) = self.held.pop_back() {
            self.queue.push_front(submission);
        }
        settled
    }

    fn settle_plan(
        &mut self,
        plan: RoundPlan,
        submissions: Vec<Submission>,
        remembered: &BTreeSet<EntityId>,
        outcomes: Vec<CommitOutcome>,
    ) -> Settled {
        let guarded: BTreeSet<EntityId> = plan.item_entities.iter().copied().collect();
        let tainted = plan.states.iter().map(|(entity, _)| entity).filter(|entity| self.tainted.contains(entity));
        let mut lost: BTreeMap<EntityId, CommitOutcome> =
            tainted.map(|entity| (*entity, CommitOutcome::Conflict { actual: 0 })).collect();
        for (entity, outcome) in plan.item_entities.into_iter().zip(outcomes) {
            match outcome {
                CommitOutcome::Committed { .. } => {}
                CommitOutcome::Conflict { .. } if ordo_model::is_planted!(ConflictIgnored) => {}
                CommitOutcome::Conflict { .. } | CommitOutcome::Duplicate { .. } | CommitOutcome::Exhausted { .. } => {
                    drop(lost.insert(entity, outcome));
                }
            }
        }
        lost.extend(remembered.difference(&guarded).map(|entity| (*entity, CommitOutcome::Conflict { actual: 0 })));
        lost.keys().for_each(|entity| self.lose(*entity));
        if self.is_shared {
            let committed =
                plan.states.iter().filter(|(entity, _)| guarded.contains(entity) && !lost.contains_key(entity));
            committed.for_each(|(entity, state)| self.keep_if_under_way(*entity, state.as_ref()));
        }
        let mut settled = Settled::default();
        let mut again = Vec::new();
        for (submission, is_decided) in submissions.into_iter().zip(plan.decided) {
            let loss = match lost.get(&submission.command.entity()) {
                None => (!is_decided).then_some(Lost::Contended),
                Some(CommitOutcome::Duplicate { key, value })
                    if submission.command.keys().contains(&key.as_slice()) =>
                {
                    Some(Lost::Duplicate(value.clone()))
                }
                Some(CommitOutcome::Exhausted { key, .. }) if submission.command.quota_keys().contains(key) => {
                    Some(Lost::Exhausted)
                }
                Some(_) => Some(Lost::Contended),
            };
            again.extend(self.settle_one(submission, loss, &mut settled));
        }
        self.repeat(again);
        settled.changes.extend(plan.changes.into_iter().map(|change| match lost.get(&change.entity) {
            Some(CommitOutcome::Exhausted { key, until }) => {
                Change { exhausted: SharedLimit::read(key).map(|limit| (limit, *until)), ..undone(change) }
            }
            Some(_) => undone(change),
            None => change,
        }));
        settled
    }

    /// Whether the batch became durable is unknown: what is stored now must be read again.
    fn settle_failed(&mut self, submissions: Vec<Submission>, fault: &Arc<Fault>) -> Settled {
        let mut settled = Settled { fault: Some(fault.clone()), ..Settled::default() };
        let mut changes: BTreeMap<EntityId, Change> = BTreeMap::new();
        let mut again = Vec::new();
        for submission in submissions {
            let entity = submission.command.entity();
            self.lose(entity);
            let change = changes.entry(entity).or_insert_with(|| Change { failed: true, ..Change::of(entity) });
            submission.command.undo(change);
            again.extend(self.settle_one(submission, Some(Lost::Store(fault.clone())), &mut settled));
        }
        self.repeat(again);
        settled.changes = changes.into_values().collect();
        settled
    }

    /// Attempts that were to be started may have become durable although the commit failed: nobody executes them. Each is
    /// given back, which is refused if it is not there; it would be taken for running until its timeout otherwise.
    fn disown(&mut self, changes: impl Iterator<Item = Change>) {
        for attempt in changes.flat_map(|change| change.assignments) {
            let report = AttemptReport::Unclaimed { reason: "the store failed while it was started".into() };
            let command = Command::Report { run_id: attempt.run_id, token: attempt.token, report };
            self.push(Request::new(attempt.job_id, command).unanswered());
        }
    }

    /// Answers, or gives back what is to be decided anew.
    fn settle_one(&self, mut submission: Submission, lost: Option<Lost>, settled: &mut Settled) -> Option<Submission> {
        if let Some(lost) = &lost
            && submission.command.tries_again(lost, submission.tries)
        {
            submission.command.rewind();
            return Some(Submission { tries: submission.tries + 1, ..submission });
        }
        let mut announce = Announcements { metrics: &self.metrics, hints: &mut settled.hints };
        submission.command.settle(lost, &mut announce);
        None
    }

    /// What is decided anew came before all that waits.
    fn repeat(&mut self, again: Vec<Submission>) {
        again.into_iter().rev().for_each(|submission| self.queue.push_front(submission));
    }

    fn keep_if_under_way(&mut self, entity: EntityId, state: Option<&EntityRef>) {
        match state.filter(|state| state.is_under_way()) {
            Some(state) => self.under_way.keep(entity, state.clone()),
            None => self.under_way.forget(entity),
        }
    }

    fn lose(&mut self, entity: EntityId) {
        self.cache.forget(entity);
        self.under_way.forget(entity);
        if !self.is_shared {
            self.tainted.insert(entity);
        }
    }
}

/// Nothing of it happened: slots go back, the wake is tried again.
fn undone(change: Change) -> Change {
    let assigned = change.assignments.iter().filter(|_| !ordo_model::is_planted!(SlotLeaked));
    let assigned = assigned.map(|assignment| assignment.location);
    let returned = change.returned.into_iter().chain(assigned).collect();
    Change { returned, answered: change.answered, failed: true, rank: change.rank, ..Change::of(change.entity) }
}
