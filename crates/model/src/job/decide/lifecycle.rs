//! A job is scheduled, changed, paused, resumed, cancelled.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::clock::Beats;
use super::draft::Draft;
use super::{Decided, attempts, clock, fire};
use crate::id::JobId;
use crate::job::apply::create;
use crate::job::command::Refusal;
use crate::job::definition::trigger::Trigger;
use crate::job::definition::{Definition, Invalid};
use crate::job::event::{Event, SkipReason};
use crate::job::state::{Job, Phase};
use crate::limits::{AT_GRACE, GAP_COUNT_MAX};
use crate::moment::Moment;
use crate::schedule::{Occurrence, Rule, Schedule};
use crate::time::{Millis, Timestamp};

pub(super) fn schedule(id: JobId, definition: Definition, held: bool, moment: Moment) -> Result<Decided, Refusal> {
    let now = moment.now;
    let definition = Arc::new(definition.prepared(now)?);
    let next = match &definition.trigger {
        Trigger::Scheduled(schedule) => some_time(first(schedule, now, id))?,
        Trigger::Webhook { .. } | Trigger::Manual => None,
    };
    let event = Event::JobScheduled { definition, held, next };
    let mut draft = Draft::new(create(id, &event, now).expect("the first event is JobScheduled"), now);
    clock::begin(&mut draft, moment.frame);
    let mut decided = draft.finish();
    decided.events.insert(0, event);
    Ok(decided)
}

/// The first occurrence of a trigger that a job gets at `now`, after those that have their outcome already.
fn first_of(job: &Job, trigger: &Trigger, now: Timestamp) -> Result<Option<Occurrence>, Refusal> {
    let Some(beats) = Beats::of(job, trigger) else { return Ok(None) };
    let schedule = trigger.schedule().filter(|schedule| matches!(schedule.rule, Rule::At { .. }));
    some_time(match (schedule, job.accounted_to) {
        (Some(one_off), _) => first(one_off, now, job.id),
        (None, accounted_to) => match (beats.first_at_or_after(now), accounted_to) {
            (Some(first), Some(accounted_to)) if first.nominal <= accounted_to => beats.next_after(accounted_to),
            (first, _) => first,
        },
    })
}

fn some_time(found: Option<Occurrence>) -> Result<Option<Occurrence>, Refusal> {
    found.map(Some).ok_or_else(|| Invalid::new("trigger", "the schedule has no time to come").into())
}

/// A one-off may be asked for a little after its time: it is due at once then, and not late by that.
fn first(schedule: &Schedule, now: Timestamp, id: JobId) -> Option<Occurrence> {
    match schedule.rule {
        Rule::At { .. } => {
            let only = schedule.first_at_or_after(now.minus(AT_GRACE), id.0)?;
            Some(Occurrence { due: only.due.max(now), ..only })
        }
        Rule::Every { .. } | Rule::Cron { .. } => schedule.first_at_or_after(now, id.0),
    }
}

/// A chain was checked against the job as it was: somebody who checked another chain meanwhile has not seen the change.
pub(super) fn refuse_followed(job: &Job, if_followed: Option<u64>) -> Result<(), Refusal> {
    match if_followed {
        Some(expected) if expected != job.followed_times => Err(Refusal::RevisionMoved { actual: job.revision }),
        Some(_) | None => Ok(()),
    }
}

pub(super) fn update(draft: &mut Draft, patch: &Map<String, Value>, if_revision: Option<u64>) -> Result<(), Refusal> {
    super::refuse_cancelled(&draft.job)?;
    if let Some(expected) = if_revision
        && expected != draft.job.revision
    {
        return Err(Refusal::RevisionMoved { actual: draft.job.revision });
    }
    let old = draft.job.definition.clone();
    let mut definition = old.patched(patch)?;
    keep_beat(&mut definition.trigger, &old.trigger);
    let same_trigger = definition.trigger == old.trigger;
    // The trigger of a job in flight is not judged anew: a one-off that fired long ago may still get another label.
    if same_trigger {
        definition.validate()?;
    } else {
        definition = definition.prepared(draft.now)?;
    }
    if definition == *old {
        return Ok(());
    }
    // What was due under the old definition gets its outcome under the old definition.
    fire::due(draft);
    skip_what_the_pause_hid(draft);
    let next = if same_trigger {
        draft.job.next
    } else {
        leave_trigger(draft);
        first_of(&draft.job, &definition.trigger, draft.now)?
    };
    draft.emit(Event::JobUpdated { definition: Arc::new(definition), next });
    Ok(())
}

/// The same interval, given again without a start, keeps its beat: saying a thing twice changes nothing.
fn keep_beat(new: &mut Trigger, old: &Trigger) {
    if let (Trigger::Scheduled(new), Trigger::Scheduled(old)) = (new, old)
        && matches!(new.rule, Rule::Every { .. })
        && new.start.is_none()
        && *new == (Schedule { start: None, ..old.clone() })
    {
        new.start = old.start;
    }
}

/// A trigger that is replaced leaves no occurrence without an outcome whose nominal time has come: neither one that
/// jitter or a pause held back, nor those a backfill has still to reach.
fn leave_trigger(draft: &mut Draft) {
    fire::end_backfills(draft);
    let (Some(next), Some(schedule)) = (draft.job.next, draft.job.definition.trigger.schedule()) else { return };
    let now = draft.now.plus(draft.job.beat_ahead(&draft.job.definition.trigger));
    if draft.job.phase == Phase::Held || next.nominal > now {
        return;
    }
    let end = now.plus(Millis::from_ms(1));
    let left = schedule.between(next.nominal, end, GAP_COUNT_MAX as usize, draft.job.id.0);
    let left = if left.is_empty() { vec![next] } else { left };
    fire::skip_all(draft, None, &left, None, SkipReason::Changed);
}

pub(super) fn pause(draft: &mut Draft, reason: Option<String>) -> Result<(), Refusal> {
    match draft.job.phase {
        Phase::Active => {
            fire::due(draft);
            draft.emit(Event::JobPaused { reason: reason.map(attempts::bounded) });
            Ok(())
        }
        Phase::Paused { .. } => Ok(()),
        Phase::Held => Err(Refusal::WrongState { state: "held", advice: "it does not run before it is resumed" }),
        Phase::Cancelled => Err(Refusal::WrongState { state: "cancelled", advice: "it does not run any more" }),
    }
}

pub(super) fn resume(draft: &mut Draft) -> Result<(), Refusal> {
    match draft.job.phase {
        Phase::Active => Ok(()),
        Phase::Held => {
            let next = anew(&draft.job, draft.now);
            draft.emit(Event::JobResumed { next });
            Ok(())
        }
        Phase::Paused { .. } => {
            skip_what_the_pause_hid(draft);
            draft.emit(Event::JobResumed { next: draft.job.next });
            Ok(())
        }
        Phase::Cancelled => Err(Refusal::WrongState { state: "cancelled", advice: "add a new job instead" }),
    }
}

/// A held job begins when it is resumed: earlier nominal times never were occurrences. A one-off keeps its time.
fn anew(job: &Job, now: Timestamp) -> Option<Occurrence> {
    match job.definition.trigger.schedule() {
        Some(schedule) if !job.definition.trigger.is_one_off() => schedule.first_at_or_after(now, job.id.0),
        Some(_) | None => job.next,
    }
}

/// Occurrences that came due while the job was paused are recorded as skipped. A one-off is not lost that way:
/// its misfire policy decides.
fn skip_what_the_pause_hid(draft: &mut Draft) {
    if !draft.job.definition.trigger.is_one_off() {
        skip_hidden(draft);
    }
}

fn skip_hidden(draft: &mut Draft) {
    let (Phase::Paused { .. }, Some(next)) = (&draft.job.phase, draft.job.next) else { return };
    if next.due <= draft.now {
        let hidden = fire::found(&draft.job, next, draft.now, 1);
        fire::skip_all(draft, hidden.older, &hidden.newest, hidden.next, SkipReason::Paused);
    }
}

pub(super) fn cancel(draft: &mut Draft, reason: Option<String>) -> Result<(), Refusal> {
    match draft.job.phase {
        Phase::Cancelled => return Ok(()),
        Phase::Active => fire::due(draft),
        Phase::Paused { .. } => skip_hidden(draft),
        Phase::Held => {}
    }
    draft.emit(Event::JobCancelled { reason: reason.map(attempts::bounded) });
    attempts::cancel_all(draft, "the job was cancelled");
    Ok(())
}
