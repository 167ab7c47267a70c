//! The wall clock was set: lengths move with it, and an interval keeps its beat.
//!
//! Invariant: after `follow` every length of the job is laid out on the clock as it stands now, so whatever is judged
//! next is judged by elapsed time.

use super::draft::Draft;
use crate::job::definition::trigger::Trigger;
use crate::job::event::Event;
use crate::job::state::Job;
use crate::moment::ClockFrame;
use crate::schedule::{Due, Occurrence, Rule, Schedule};
use crate::time::{Millis, Timestamp};

/// Takes in what was done to the clock since the job last heard of it.
pub(super) fn follow(draft: &mut Draft, frame: ClockFrame) {
    let job = &draft.job;
    if let Some(by_ms) = frame.moved_from(job.frame) {
        let lost = i64::try_from(job.set_back_ms).unwrap_or(i64::MAX).saturating_sub(by_ms);
        let step = stepped(job, by_ms, frame, u64::try_from(lost).unwrap_or(0));
        if !job.active.is_empty() || beats(job) {
            draft.emit(step);
        } else {
            draft.clock = Some(step);
        }
    }
    put_right(draft, frame);
}

/// A clock that has reached the nominal time of the beat was put right while nobody looked.
fn put_right(draft: &mut Draft, frame: ClockFrame) {
    let job = &draft.job;
    if job.set_back_ms > 0 && beats(job) && job.next.is_some_and(|next| next.nominal <= draft.now) {
        let step = stepped(job, 0, frame, 0);
        draft.emit(step);
    }
}

/// Whether the job has an interval that has begun to beat.
fn beats(job: &Job) -> bool {
    let rule = job.definition.trigger.schedule().map(|schedule| &schedule.rule);
    matches!(rule, Some(Rule::Every { .. })) && job.accounted_to.is_some()
}

fn stepped(job: &Job, by_ms: i64, frame: ClockFrame, set_back_ms: u64) -> Event {
    let trigger = &job.definition.trigger;
    let before = job.beat_ahead(trigger);
    let after = Job { set_back_ms, ..job.clone() }.beat_ahead(trigger);
    let moved = |next: Occurrence| Occurrence { due: next.due.plus(before).minus(after), ..next };
    let next = job.next.filter(|_| before != after).map(moved);
    Event::ClockStepped { by_ms, frame, set_back_ms, next }
}

/// A job that is new to a clock that was set before its time.
pub(super) fn begin(draft: &mut Draft, frame: ClockFrame) {
    if frame.moved_from(None).is_some() {
        draft.emit(Event::ClockStepped { by_ms: 0, frame, set_back_ms: 0, next: None });
    }
}

/// The occurrences of a job's schedule as they fall due on a clock that may have been set back.
pub(super) struct Beats<'a> {
    schedule: &'a Schedule,
    ahead: Millis,
    job: &'a Job,
}

impl<'a> Beats<'a> {
    /// Those of `trigger`, which the job has or is about to have.
    pub(super) fn of(job: &'a Job, trigger: &'a Trigger) -> Option<Beats<'a>> {
        Some(Beats { schedule: trigger.schedule()?, ahead: job.beat_ahead(trigger), job })
    }

    /// What the clock says, on the time line of the nominal times.
    pub(super) fn nominal(&self, moment: Timestamp) -> Timestamp {
        moment.plus(self.ahead)
    }

    fn due_at(&self, occurrence: Occurrence) -> Occurrence {
        Occurrence { due: occurrence.due.minus(self.ahead), ..occurrence }
    }

    pub(super) fn first_at_or_after(&self, from: Timestamp) -> Option<Occurrence> {
        self.schedule.first_at_or_after(self.nominal(from), self.job.id.0).map(|first| self.due_at(first))
    }

    pub(super) fn next_after(&self, nominal: Timestamp) -> Option<Occurrence> {
        self.schedule.next_after(nominal, self.job.id.0).map(|next| self.due_at(next))
    }

    pub(super) fn due(&self, first: Occurrence, now: Timestamp, keep: usize) -> Due {
        let first = Occurrence { due: self.nominal(first.due), ..first };
        let Due { older, newest, next } = self.schedule.due(first, self.nominal(now), keep, self.job.id.0);
        let newest = newest.into_iter().map(|occurrence| self.due_at(occurrence)).collect();
        Due { older, newest, next: next.map(|next| self.due_at(next)) }
    }
}
