//! Lies about a whole world: each makes one history false in one way, and names the words in which it must be found out.
//!
//! Versions are left as they are: a hole in a stream is found out too, but that is not what a lie is judged by.

use std::sync::Arc;

use ordo_model::job::{Cause, Definition, Event};
use ordo_model::notification::NotificationEvent;
use ordo_model::{JobId, RunId, Timestamp};
use ordo_sim::whole::WholeHistory;
use ordo_sim::whole::facts::{AnyEvent, Deed, SenderReply, WholeAnswer, Wish, WorkResult};
use uuid::Uuid;

/// None: this history has nothing that could be lied about in this way.
pub(crate) type WholeTamper = fn(&mut WholeHistory) -> Option<()>;

pub(crate) const ALL: [(&str, &str, WholeTamper); 25] = [
    ("an occurrence is missing", "but the next one without is", drop_a_fire),
    ("an occurrence is fired twice", "but the next one without is", |history| twice(history, is_fire)),
    ("a fire comes 1 ms early", "fired early", fire_early),
    ("an event is of tomorrow", "a time that has not come", write_tomorrow),
    ("a run goes on after its end", "is over, and something happened to it", go_on_after_the_end),
    ("a run never ends", "has runs that never end", never_end),
    ("a token is given twice", "does not come after", repeat_a_token),
    ("a retry comes before its time", "by its policy", retry_early),
    ("an attempt is executed twice", "was executed 2 times", execute_twice),
    ("an execution without a start", "without a start in the log", execute_out_of_nothing),
    ("somebody else executes an attempt", "the log gave it to", execute_elsewhere),
    ("an attempt that a heartbeat named is given up", "after a heartbeat that named it", give_up_what_was_named),
    ("a failure is recorded as a success", "is recorded as completed", succeed_by_itself),
    ("an acknowledged command is lost", "was acknowledged and is lost", lose_a_command),
    ("a refused command took effect", "was refused and took effect", refuse_what_was_done),
    ("a crash takes a commit with it", "was at version", lose_a_commit),
    ("a snapshot is of another version", "was at version", differ_at_the_end),
    ("a slot is never given back", "places are taken by", leak_a_slot),
    ("a run that should be kept is gone", "it should keep", eat_a_run),
    ("a delivery leads to two runs", "led to", |history| twice(history, is_delivered)),
    ("a delivery leads to no run", "never came to", |history| drop_trigger(history, is_delivered)),
    ("a notification that nobody got", "and nobody got it", deliver_to_nobody),
    ("more hold a concurrency key than may", "may run", exceed_a_key),
    ("more begin in a time than may", "may", exceed_a_rate),
    ("an end is chained twice", "twice", |history| twice(history, is_chained)),
];

fn job_event(deed: &Deed) -> Option<(JobId, &Event)> {
    match deed {
        Deed::Logged { entity, event: AnyEvent::Job(event), .. } => Some((JobId(entity.id), event)),
        _ => None,
    }
}

fn find(history: &WholeHistory, wanted: impl Fn(&Event) -> bool) -> Option<usize> {
    history.facts.iter().position(|fact| job_event(&fact.what).is_some_and(|(_, event)| wanted(event)))
}

fn event_mut(history: &mut WholeHistory, place: usize) -> Option<(&mut i64, &mut Event)> {
    match &mut history.facts.get_mut(place)?.what {
        Deed::Logged { at, event: AnyEvent::Job(event), .. } => Some((at, event)),
        _ => None,
    }
}

fn find_deed(history: &WholeHistory, wanted: impl Fn(&Deed) -> bool) -> Option<usize> {
    history.facts.iter().position(|fact| wanted(&fact.what))
}

fn is_fire(event: &Event) -> bool {
    matches!(event, Event::JobTriggered { cause: Cause::Schedule { .. }, .. })
}

fn is_delivered(event: &Event) -> bool {
    matches!(event, Event::JobTriggered { cause: Cause::Webhook { replay: 0, .. }, .. })
}

fn is_chained(event: &Event) -> bool {
    matches!(event, Event::JobTriggered { cause: Cause::After { .. }, .. })
}

fn is_executed(event: &Event) -> bool {
    matches!(event, Event::JobExecuted { .. })
}

/// The first of two fires of a job whose clock says when it is due.
fn drop_a_fire(history: &mut WholeHistory) -> Option<()> {
    let fires = |fact: &ordo_sim::whole::facts::WholeFact| {
        job_event(&fact.what).filter(|(_, event)| is_fire(event)).map(|(job, _)| job)
    };
    let job = history.facts.iter().filter_map(fires).find(|job| {
        history.facts.iter().filter_map(fires).filter(|other| other == job).count() > 1 && !history.is_set_back
    })?;
    let place = history.facts.iter().position(|fact| fires(fact) == Some(job))?;
    history.facts.remove(place);
    Some(())
}

fn drop_trigger(history: &mut WholeHistory, wanted: fn(&Event) -> bool) -> Option<()> {
    let place = find(history, wanted)?;
    history.facts.remove(place);
    Some(())
}

fn twice(history: &mut WholeHistory, wanted: fn(&Event) -> bool) -> Option<()> {
    if history.is_set_back {
        return None;
    }
    let place = find(history, wanted)?;
    let again = history.facts[place].clone();
    history.facts.insert(place + 1, again);
    let (_, Event::JobTriggered { run_id, .. }) = event_mut(history, place + 1)? else { return None };
    *run_id = RunId(Uuid::from_u128(1));
    Some(())
}

fn fire_early(history: &mut WholeHistory) -> Option<()> {
    let place = find(history, is_fire)?;
    let (at, event) = event_mut(history, place)?;
    let Event::JobTriggered { cause, .. } = event else { return None };
    *at = cause.occurrence()?.due.ms() - 1;
    Some(())
}

fn write_tomorrow(history: &mut WholeHistory) -> Option<()> {
    if history.is_set_back {
        return None;
    }
    let place = find(history, is_executed)?;
    *event_mut(history, place)?.0 += 86_400_000;
    Some(())
}

fn go_on_after_the_end(history: &mut WholeHistory) -> Option<()> {
    let place = find(history, is_executed)?;
    let again = history.facts[place].clone();
    history.facts.insert(place + 1, again);
    Some(())
}

fn never_end(history: &mut WholeHistory) -> Option<()> {
    let place = find(history, is_executed)?;
    history.facts.remove(place);
    Some(())
}

fn repeat_a_token(history: &mut WholeHistory) -> Option<()> {
    let mut given: Vec<(JobId, ordo_model::FencingToken)> = Vec::new();
    let again = history.facts.iter().enumerate().find_map(|(place, fact)| match job_event(&fact.what)? {
        (job, Event::JobStarted { token, .. }) => {
            let earlier = given.iter().find(|(other, _)| *other == job).map(|(_, token)| (place, *token));
            given.push((job, *token));
            earlier
        }
        _ => None,
    });
    let (place, earlier) = again?;
    let (_, Event::JobStarted { token, .. }) = event_mut(history, place)? else { return None };
    *token = earlier;
    Some(())
}

fn retry_early(history: &mut WholeHistory) -> Option<()> {
    let place = find(history, |event| matches!(event, Event::JobFailed { retry_at: Some(_), .. }))?;
    let (_, Event::JobFailed { retry_at: Some(at), .. }) = event_mut(history, place)? else { return None };
    *at = Timestamp::from_ms(at.ms() - 1).ok()?;
    Some(())
}

fn executing(history: &WholeHistory) -> Option<usize> {
    find_deed(history, |deed| matches!(deed, Deed::Executing { .. }))
}

fn execute_twice(history: &mut WholeHistory) -> Option<()> {
    let place = executing(history)?;
    let again = history.facts[place].clone();
    history.facts.insert(place + 1, again);
    Some(())
}

fn execute_out_of_nothing(history: &mut WholeHistory) -> Option<()> {
    let place = executing(history)?;
    let Deed::Executing { token, .. } = &mut history.facts[place].what else { return None };
    *token += 1_000_000;
    Some(())
}

fn execute_elsewhere(history: &mut WholeHistory) -> Option<()> {
    let place = executing(history)?;
    let Deed::Executing { by, .. } = &mut history.facts[place].what else { return None };
    *by = Uuid::from_u128(1);
    Some(())
}

/// The heartbeat of an executor is acknowledged a moment before the attempt is given up as silent.
fn give_up_what_was_named(history: &mut WholeHistory) -> Option<()> {
    let is_silent =
        |event: &Event| matches!(event, Event::JobFailed { reason, .. } if reason.contains("no longer has"));
    let place = find(history, is_silent)?;
    let (_, Event::JobFailed { run_id: silent, .. }) = job_event(&history.facts[place].what)? else { return None };
    let given = history.facts[..place].iter().rev().find_map(|fact| match job_event(&fact.what)? {
        (_, Event::JobStarted { run_id, token, executor, .. }) if run_id == silent => {
            Some((executor.generation, *token))
        }
        _ => None,
    });
    let (by, token) = given?;
    let mut heard = history.facts[place].clone();
    heard.what = Deed::Heartbeat { by, sent: heard.mono - 1, attempts: vec![(*silent, token.0)] };
    history.facts.insert(place, heard);
    Some(())
}

fn succeed_by_itself(history: &mut WholeHistory) -> Option<()> {
    let place = find_deed(history, |deed| matches!(deed, Deed::Executed { end: WorkResult::Well, .. }))?;
    let Deed::Executed { run: worked, end, .. } = &mut history.facts[place].what else { return None };
    let worked = *worked;
    *end = WorkResult::Badly("broke".into());
    find(history, |event| matches!(event, Event::JobExecuted { run_id, .. } if *run_id == worked)).map(|_| ())
}

/// A run that somebody asked for, whose asking was acknowledged.
fn acknowledged_trigger(history: &WholeHistory) -> Option<(u32, usize)> {
    history.facts.iter().find_map(|fact| {
        let Deed::Asked { op, wish: Wish::Trigger { marker, .. } } = &fact.what else { return None };
        find_deed(
            history,
            |deed| matches!(deed, Deed::Answered { op: answered, answer: WholeAnswer::Done(_) } if answered == op),
        )?;
        let by = |event: &Event| match event {
            Event::JobTriggered { cause: Cause::Manual, tool_input: Some(input), .. } => input["by"] == **marker,
            _ => false,
        };
        Some((*op, find(history, by)?))
    })
}

fn lose_a_command(history: &mut WholeHistory) -> Option<()> {
    let is_skip = |event: &Event| matches!(event, Event::JobSkipped { cause: Cause::Manual, .. });
    if find(history, is_skip).is_some() {
        return None;
    }
    let (_, place) = acknowledged_trigger(history)?;
    history.facts.remove(place);
    Some(())
}

fn refuse_what_was_done(history: &mut WholeHistory) -> Option<()> {
    let (op, _) = acknowledged_trigger(history)?;
    let place = find_deed(history, |deed| matches!(deed, Deed::Answered { op: answered, .. } if *answered == op))?;
    history.facts[place].what = Deed::Answered { op, answer: WholeAnswer::Refused("no".into()) };
    Some(())
}

fn lose_a_commit(history: &mut WholeHistory) -> Option<()> {
    let place = find_deed(
        history,
        |deed| matches!(deed, Deed::NodeUp { found, .. } if found.values().any(|version| *version > 1)),
    )?;
    let Deed::NodeUp { found, .. } = &mut history.facts[place].what else { return None };
    *found.values_mut().find(|version| **version > 1)? -= 1;
    Some(())
}

fn differ_at_the_end(history: &mut WholeHistory) -> Option<()> {
    *history.end.found.values_mut().next()? += 1;
    Some(())
}

fn leak_a_slot(history: &mut WholeHistory) -> Option<()> {
    history.end.slots_taken += 100;
    Some(())
}

fn eat_a_run(history: &mut WholeHistory) -> Option<()> {
    let place = find(history, is_executed)?;
    let (job, _) = job_event(&history.facts[place].what)?;
    *history.end.kept.get_mut(&job)? = 0;
    Some(())
}

fn deliver_to_nobody(history: &mut WholeHistory) -> Option<()> {
    let delivered = |deed: &Deed| {
        matches!(deed, Deed::Logged { event: AnyEvent::Notification(event), .. }
            if matches!(**event, NotificationEvent::NotificationDelivered { .. }))
    };
    find_deed(history, delivered)?;
    for fact in &mut history.facts {
        if let Deed::Sent { reply, .. } = &mut fact.what {
            *reply = SenderReply::Passing { retry_after_ms: 0 };
        }
    }
    Some(())
}

/// Makes the definition of a job another one than it was when its run began.
fn redefine(history: &mut WholeHistory, place: usize, change: fn(&mut Definition)) -> Option<()> {
    let (job, _) = job_event(&history.facts[place].what)?;
    for fact in &mut history.facts {
        if let Deed::Logged { entity, event: AnyEvent::Job(event), .. } = &mut fact.what
            && entity.id == job.0
            && let Event::JobScheduled { definition, .. } | Event::JobUpdated { definition, .. } = event.as_mut()
        {
            change(Arc::make_mut(definition));
        }
    }
    Some(())
}

fn exceed_a_key(history: &mut WholeHistory) -> Option<()> {
    let place = find(history, |event| matches!(event, Event::JobStarted { concurrency_key: Some(_), .. }))?;
    redefine(history, place, |definition| {
        if let Some(limit) = &mut definition.concurrency_key {
            limit.max = 0;
        }
    })
}

fn exceed_a_rate(history: &mut WholeHistory) -> Option<()> {
    if history.is_set_back {
        return None;
    }
    let limited = |event: &Event| {
        matches!(event, Event::JobScheduled { definition, .. }
            if definition.rate_limit.is_some() && definition.routing != ordo_model::job::Routing::ShardingBroadcast)
    };
    let place = find(history, limited)?;
    let (job, _) = job_event(&history.facts[place].what)?;
    let is_start = |fact: &ordo_sim::whole::facts::WholeFact| matches!(job_event(&fact.what), Some((of, Event::JobStarted { .. })) if of == job);
    history.facts.iter().find(|fact| is_start(fact))?;
    redefine(history, place, |definition| {
        if let Some(rate) = &mut definition.rate_limit {
            rate.limit = 0;
        }
    })
}
