//! Occurrences get their outcome: fired, fired late, fired by the misfire policy, or skipped with a reason.
//!
//! Invariant: after `due` every occurrence up to now is accounted for, by one JobTriggered or inside one JobSkipped.

use serde_json::Value;
use uuid::Uuid;

use super::clock::Beats;
use super::draft::Draft;
use super::{attempts, refuse_cancelled};
use crate::job::command::Refusal;
use crate::job::definition::Invalid;
use crate::job::definition::policy::{Block, Misfire};
use crate::job::event::{Cause, Event, SkipReason, Timeliness};
use crate::job::state::{Job, Phase};
use crate::job::verdict::Verdict;
use crate::limits::{BACKFILL_MAX, BACKFILLS_PER_JOB, BLOCK_QUEUE_MAX, CATCH_UP_MAX, MISFIRE_AFTER, MISFIRE_WINDOW};
use crate::schedule::{Due, Gap, Occurrence};
use crate::time::{Millis, Timestamp};
use crate::trace::TraceParent;

/// Gives every occurrence that is due its outcome.
pub(super) fn due(draft: &mut Draft) {
    let (Phase::Active, Some(first)) = (&draft.job.phase, draft.job.next) else { return };
    let now = if crate::is_planted!(EarlyBySecond) { draft.now.plus(Millis::from_secs(1)) } else { draft.now };
    if first.due > now {
        return;
    }
    let found = found(&draft.job, first, now, CATCH_UP_MAX);
    let plan = plan(found.older, &found.newest, draft.job.definition.misfire, draft.now);
    let next_after = |place: usize| plan.fire.get(place).map(|(occurrence, _)| *occurrence).or(found.next);

    if let Some((gap, last, reason)) = plan.skip {
        skip(draft, gap, last, next_after(0), reason);
    }
    for (place, (occurrence, timeliness)) in plan.fire.iter().enumerate() {
        if let Some(reason) = refused(&draft.job) {
            // Nothing ends within one wake: what is refused now is refused for all that follow, as one record.
            let rest: Vec<Occurrence> = plan.fire[place..].iter().map(|(occurrence, _)| *occurrence).collect();
            skip_all(draft, None, &rest, found.next, reason);
            return;
        }
        let cause = Cause::Schedule { occurrence: *occurrence, next: next_after(place + 1) };
        trigger(draft, cause, *timeliness, Given::default());
    }
}

/// What is due of the job's schedule at `now`: the newest `keep` one by one, those before as a gap.
pub(super) fn found(job: &Job, first: Occurrence, now: Timestamp, keep: usize) -> Due {
    let trigger = &job.definition.trigger;
    let found = match Beats::of(job, trigger) {
        Some(beats) if !trigger.is_one_off() => beats.due(first, now, keep),
        Some(_) | None => Due::default(),
    };
    // A one-off has only this one; nor may a schedule that a later version cannot read leave it without an outcome.
    if found.newest.is_empty() { Due { older: None, newest: vec![first], next: None } } else { found }
}

/// Which of the due occurrences fire, and which are recorded as skipped (always older than those that fire).
struct FirePlan {
    skip: Option<(Gap, Occurrence, SkipReason)>,
    fire: Vec<(Occurrence, Timeliness)>,
}

fn plan(older: Option<Gap>, newest: &[Occurrence], misfire: Misfire, now: Timestamp) -> FirePlan {
    let late = lateness(newest, now);
    let missed = late.iter().take_while(|late| **late > MISFIRE_AFTER).count();
    let allowed = match misfire {
        Misfire::DoNothing => 0,
        Misfire::FireOnceNow => missed.min(1),
        Misfire::FireAll { cap, window } => {
            late[..missed].iter().filter(|late| **late <= window).count().min(cap as usize)
        }
    };
    let skipped = missed - allowed;
    let fire = newest.iter().zip(&late).skip(skipped).map(|(o, late)| (*o, timeliness(*late))).collect();
    let skip = (older.is_some() || skipped > 0).then(|| {
        let gap = joined(older, &newest[..skipped]);
        let last = newest[..skipped].last().copied().unwrap_or(Occurrence { nominal: gap.to, due: gap.to });
        let limit_only = skipped == 0 && limit_only(misfire, missed, now.since(gap.to));
        (gap, last, if limit_only { SkipReason::CatchUpLimit } else { SkipReason::Misfire })
    });
    FirePlan { skip, fire }
}

/// Whether the occurrences before the newest would have fired if one wake might fire more. `late` is the lateness of
/// the last of them, `missed` how many of the newest misfired and were all allowed.
fn limit_only(misfire: Misfire, missed: usize, late: Millis) -> bool {
    match misfire {
        Misfire::DoNothing | Misfire::FireOnceNow => missed == 0,
        Misfire::FireAll { cap, window } => missed == 0 || (missed < cap as usize && late <= window),
    }
}

/// How late each one is. One whose jitter is shorter than its predecessor's waits for it and is not late by that.
fn lateness(newest: &[Occurrence], now: Timestamp) -> Vec<Millis> {
    let mut due = Timestamp::MIN;
    let late = newest.iter().map(|occurrence| {
        due = due.max(occurrence.due);
        now.since(due)
    });
    late.collect()
}

fn timeliness(late: Millis) -> Timeliness {
    if late > MISFIRE_AFTER {
        Timeliness::Misfire
    } else if late > MISFIRE_WINDOW {
        Timeliness::Late
    } else {
        Timeliness::OnTime
    }
}

/// The gap together with the occurrences that follow it. At least one of the two is not empty.
fn joined(older: Option<Gap>, newest: &[Occurrence]) -> Gap {
    let ends = newest.first().zip(newest.last());
    match (older, ends) {
        (Some(gap), Some((_, last))) => Gap { to: last.nominal, count: gap.count + newest.len() as u64, ..gap },
        (Some(gap), None) => gap,
        (None, Some((first, last))) => {
            Gap { from: first.nominal, to: last.nominal, count: newest.len() as u64, exact: true }
        }
        (None, None) => unreachable!("a gap of nothing is never recorded"),
    }
}

fn skip(draft: &mut Draft, gap: Gap, last: Occurrence, next: Option<Occurrence>, reason: SkipReason) {
    let cause = Cause::Schedule { occurrence: last, next };
    draft.emit(Event::JobSkipped {
        run_id: draft.next_run_id(),
        reason,
        cause,
        gap: Some(gap),
        verdict: Verdict::default(),
    });
}

/// Records the occurrences as skipped, if there are any; the schedule goes on with `next`.
pub(super) fn skip_all(
    draft: &mut Draft,
    older: Option<Gap>,
    newest: &[Occurrence],
    next: Option<Occurrence>,
    reason: SkipReason,
) {
    if let Some(last) = newest.last() {
        skip(draft, joined(older, newest), *last, next, reason);
    }
}

/// Why the block strategy lets no run come to be now, if it does not.
fn refused(job: &Job) -> Option<SkipReason> {
    let block = job.definition.block;
    let busy = job.whole_runs().count();
    match block {
        Block::Discard => (busy > 0).then_some(SkipReason::Overlap),
        Block::Serial | Block::Concurrent { .. } => {
            (busy >= block.width() + BLOCK_QUEUE_MAX).then_some(SkipReason::QueueFull)
        }
        Block::Cover => None,
    }
}

/// What whoever asks for a run gives along.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) tool_input: Option<Value>,
    pub(super) traceparent: Option<TraceParent>,
}

/// A run comes to be, unless the block strategy says otherwise.
pub(super) fn trigger(draft: &mut Draft, cause: Cause, timeliness: Timeliness, given: Given) {
    if let Some(reason) = refused(&draft.job) {
        let gap = cause.occurrence().map(|o| Gap { from: o.nominal, to: o.nominal, count: 1, exact: true });
        draft.emit(Event::JobSkipped { run_id: draft.next_run_id(), reason, cause, gap, verdict: Verdict::default() });
        return;
    }
    if draft.job.definition.block == Block::Cover {
        attempts::cancel_all(draft, "replaced by a newer run");
    }
    let Given { tool_input, traceparent } = given;
    draft.emit(Event::JobTriggered {
        run_id: draft.next_run_id(),
        cause,
        timeliness,
        tool_input,
        traceparent,
        verdict: Verdict::default(),
    });
}

/// A run that somebody asked for who can wait: while the queue is full it is refused, not recorded as skipped.
pub(super) fn enqueue(draft: &mut Draft, tool_input: Option<Value>) -> Result<(), Refusal> {
    if refused(&draft.job) == Some(SkipReason::QueueFull) {
        return Err(Refusal::QueueFull);
    }
    trigger(draft, Cause::Manual, Timeliness::OnTime, Given { tool_input, traceparent: None });
    Ok(())
}

/// A delivery gets its one run, or a record of why it does not. While the queue is full it has to wait: it is kept
/// anyway, so nothing is lost by that.
pub(super) fn deliver(draft: &mut Draft, delivery: Uuid, replay: u32) -> Result<(), Refusal> {
    let cause = Cause::Webhook { delivery, replay };
    let skipped = match draft.job.phase {
        Phase::Cancelled => return refuse_cancelled(&draft.job),
        Phase::Paused { .. } => Some(SkipReason::Paused),
        Phase::Held => Some(SkipReason::Held),
        Phase::Active => None,
    };
    match (skipped, refused(&draft.job)) {
        (Some(reason), _) => draft.emit(Event::JobSkipped {
            run_id: draft.next_run_id(),
            reason,
            cause,
            gap: None,
            verdict: Verdict::default(),
        }),
        (None, Some(SkipReason::QueueFull)) => return Err(Refusal::QueueFull),
        (None, _) => trigger(draft, cause, Timeliness::OnTime, Given::default()),
    }
    Ok(())
}

pub(super) fn backfill(draft: &mut Draft, from: Timestamp, to: Timestamp) -> Result<(), Refusal> {
    refuse_cancelled(&draft.job)?;
    let Some(schedule) = draft.job.definition.trigger.schedule() else {
        return Err(Refusal::WrongState { state: "not scheduled", advice: "only a schedule has times to fill" });
    };
    if draft.job.backfills.len() >= BACKFILLS_PER_JOB {
        return Err(Refusal::TooManyBackfills);
    }
    let to = to.min(draft.now);
    if from >= to {
        return Err(Invalid::new("from", "must lie before `to`, and both in the past").into());
    }
    let asked = schedule.between(from, to, BACKFILL_MAX + 1, draft.job.id.0);
    if asked.len() > BACKFILL_MAX {
        return Err(Invalid::new(
            "from",
            format!("the range holds more than {BACKFILL_MAX} occurrences: take a shorter one"),
        )
        .into());
    }
    let Some(next) = asked.first().copied() else {
        return Err(Invalid::new("from", "the schedule has no occurrence in that range").into());
    };
    draft.emit(Event::BackfillRequested { from, to, next });
    Ok(())
}

/// Triggers the next occurrences of a backfill while the job has room for them, so that its state stays small.
pub(super) fn pump_backfills(draft: &mut Draft) {
    while let Some(backfill) = draft.job.backfills.first().copied()
        && draft.job.whole_runs().count() < draft.job.definition.block.width()
    {
        let definition = draft.job.definition.clone();
        let next = definition
            .trigger
            .schedule()
            .and_then(|schedule| schedule.next_after(backfill.next.nominal, draft.job.id.0))
            .filter(|next| next.nominal < backfill.to);
        trigger(draft, Cause::Backfill { occurrence: backfill.next, next }, Timeliness::OnTime, Given::default());
    }
}

/// The schedule that the backfills follow is about to change: what they have not reached yet is recorded.
pub(super) fn end_backfills(draft: &mut Draft) {
    let definition = draft.job.definition.clone();
    let Some(schedule) = definition.trigger.schedule() else { return };
    while let Some(backfill) = draft.job.backfills.first().copied() {
        let rest = schedule.between(backfill.next.nominal, backfill.to, BACKFILL_MAX, draft.job.id.0);
        let gap = (!rest.is_empty()).then(|| joined(None, &rest));
        let cause = Cause::Backfill { occurrence: backfill.next, next: None };
        let run_id = draft.next_run_id();
        draft.emit(Event::JobSkipped { run_id, reason: SkipReason::Changed, cause, gap, verdict: Verdict::default() });
    }
}
