//! Lies about a world: each takes a history that is true and makes it false in one way.

use std::collections::BTreeMap;

use ordo_model::job::{AttemptReport, Cause, Event, Timeliness};
use ordo_model::{JobId, RunId, Timestamp};
use ordo_sim::History;
use ordo_sim::history::{Fact, FactKind, Reply};
use uuid::Uuid;

/// None: this history has nothing that could be lied about in this way.
pub(crate) type HistoryTamper = fn(&mut History) -> Option<()>;

pub(crate) const ALL: [(&str, HistoryTamper); 22] = [
    ("a fire is missing", drop_a_fire),
    ("an occurrence is fired twice", fire_twice),
    ("a fire comes 1 ms early", fire_early),
    ("a fire is late for no reason", fire_late),
    ("a fire is late and said to be on time", say_on_time),
    ("an acknowledged command is lost", lose_an_acknowledged_command),
    ("an acknowledged creation is lost", lose_a_creation),
    ("a refused command took effect", refuse_what_was_done),
    ("a gap counts one too many", miscount_a_gap),
    ("a gap leaves one out", shorten_a_gap),
    ("an execution without a start", execute_out_of_nothing),
    ("an attempt is executed twice", execute_twice),
    ("an attempt is never executed", execute_never),
    ("an attempt begins before the one before it is over", overlap_attempts),
    ("a token is given twice", repeat_a_token),
    ("a run goes on after its end", go_on_after_the_end),
    ("a run never ends", leave_a_run_stuck),
    ("a success nobody reported", succeed_by_itself),
    ("recovered though nobody restarted", recover_without_restart),
    ("a stale report is accepted", accept_a_stale_report),
    ("a crash takes a commit with it", lose_a_commit_in_a_crash),
    ("the snapshot differs from the events", differ_at_the_end),
];

fn find(history: &History, wanted: impl Fn(&Fact) -> bool) -> Option<usize> {
    history.facts.iter().position(wanted)
}

fn find_event(history: &History, wanted: impl Fn(&Event) -> bool) -> Option<usize> {
    find(history, |fact| matches!(&fact.what, FactKind::Logged { event, acked: true, .. } if wanted(event)))
}

fn event_mut(history: &mut History, place: usize) -> (&mut i64, &mut Event) {
    match &mut history.facts[place].what {
        FactKind::Logged { at, event, .. } => (at, event),
        other => panic!("not a log entry: {other:?}"),
    }
}

fn is_fire(event: &Event) -> bool {
    matches!(event, Event::JobTriggered { cause: Cause::Schedule { .. }, timeliness: Timeliness::OnTime, .. })
}

fn run_of(event: &Event) -> Option<RunId> {
    match event {
        Event::JobTriggered { run_id, .. }
        | Event::JobStarted { run_id, .. }
        | Event::JobExecuted { run_id, .. }
        | Event::JobFailed { run_id, .. }
        | Event::RunReady { run_id }
        | Event::RunCancelRequested { run_id, .. }
        | Event::RunCancelled { run_id, .. }
        | Event::RunReturned { run_id, .. }
        | Event::RunExpired { run_id }
        | Event::RunBroadcast { run_id, .. }
        | Event::ShardTriggered { run_id, .. }
        | Event::RunOrphaned { run_id, .. }
        | Event::AttemptExtended { run_id, .. } => Some(*run_id),
        _ => None,
    }
}

/// Makes the versions fit again, so that only the lie itself can be found out.
fn renumber(history: &mut History) {
    let mut versions: BTreeMap<JobId, u64> = BTreeMap::new();
    let fit = |found: &mut BTreeMap<JobId, u64>, versions: &BTreeMap<JobId, u64>| {
        found.retain(|job, _| versions.contains_key(job));
        found.iter_mut().for_each(|(job, version)| *version = versions[job]);
    };
    for fact in &mut history.facts {
        match &mut fact.what {
            FactKind::Logged { job, version, .. } => {
                let next = versions.entry(*job).or_default();
                *next += 1;
                *version = *next;
            }
            FactKind::Booted { found, .. } => fit(found, &versions),
            _ => {}
        }
    }
    fit(&mut history.end.found, &versions);
}

/// Takes a run out of the world, with all that is known of it.
fn forget_run(history: &mut History, run: RunId) {
    history.facts.retain(|fact| match &fact.what {
        FactKind::Logged { event, .. } => run_of(event) != Some(run),
        FactKind::Executing { run: other, .. } | FactKind::Reported { run: other, .. } => *other != run,
        _ => true,
    });
    renumber(history);
}

fn drop_a_fire(history: &mut History) -> Option<()> {
    let place = find_event(history, is_fire)?;
    let run = run_of(event_mut(history, place).1)?;
    forget_run(history, run);
    Some(())
}

fn fire_twice(history: &mut History) -> Option<()> {
    let place = find_event(history, is_fire)?;
    let mut again = history.facts[place].clone();
    if let FactKind::Logged { event, .. } = &mut again.what
        && let Event::JobTriggered { run_id, .. } = event.as_mut()
    {
        *run_id = RunId(Uuid::from_u128(1));
    }
    history.facts.insert(place + 1, again);
    renumber(history);
    Some(())
}

fn fire_early(history: &mut History) -> Option<()> {
    let place = find_event(history, is_fire)?;
    let (at, event) = event_mut(history, place);
    let Event::JobTriggered { cause, .. } = event else { return None };
    *at = cause.occurrence()?.due.ms() - 1;
    Some(())
}

/// In the calm everything is on time.
fn fire_late(history: &mut History) -> Option<()> {
    let calm = find(history, |fact| matches!(fact.what, FactKind::Calm))?;
    let calm_mono = history.facts[calm].mono;
    let place = history.facts.iter().position(|fact| {
        fact.mono > calm_mono + 60_000 && matches!(&fact.what, FactKind::Logged { event, .. } if is_fire(event))
    })?;
    let late = 4_000;
    for fact in &mut history.facts[place..] {
        fact.mono += late;
        fact.wall += late;
    }
    let (at, _) = event_mut(history, place);
    *at += late;
    Some(())
}

fn say_on_time(history: &mut History) -> Option<()> {
    let late = |event: &Event| matches!(event, Event::JobTriggered { timeliness: Timeliness::Late, .. });
    let place = find_event(history, late)?;
    let (_, event) = event_mut(history, place);
    let Event::JobTriggered { timeliness, .. } = event else { return None };
    *timeliness = Timeliness::OnTime;
    Some(())
}

fn lose_an_acknowledged_command(history: &mut History) -> Option<()> {
    let wanted = |event: &Event| match event {
        Event::JobUpdated { definition, .. } => definition.description.is_some(),
        _ => false,
    };
    // The last of its job: nothing that follows depends on it.
    let place = history
        .facts
        .iter()
        .rposition(|fact| matches!(&fact.what, FactKind::Logged { event, acked: true, .. } if wanted(event)))?;
    let marker = match event_mut(history, place).1 {
        Event::JobUpdated { definition, .. } => definition.description.clone()?,
        _ => return None,
    };
    let op: u32 = marker.strip_prefix("op-")?.parse().ok()?;
    find(
        history,
        |fact| matches!(&fact.what, FactKind::Answered { op: answered, reply: Reply::Done } if *answered == op),
    )?;
    history.facts.remove(place);
    renumber(history);
    Some(())
}

fn lose_a_creation(history: &mut History) -> Option<()> {
    let place = find_event(history, |event| matches!(event, Event::JobScheduled { .. }))?;
    let FactKind::Logged { job: lost, .. } = history.facts[place].what else { return None };
    history.facts.retain(|fact| match &fact.what {
        FactKind::Logged { job, .. } | FactKind::Executing { job, .. } => *job != lost,
        _ => true,
    });
    let known: Vec<RunId> = history.facts.iter().filter_map(executed_run).collect();
    history.facts.retain(|fact| !matches!(&fact.what, FactKind::Reported { run, .. } if !known.contains(run)));
    renumber(history);
    Some(())
}

fn executed_run(fact: &Fact) -> Option<RunId> {
    match &fact.what {
        FactKind::Executing { run, .. } => Some(*run),
        _ => None,
    }
}

fn refuse_what_was_done(history: &mut History) -> Option<()> {
    let place = find_event(history, |event| matches!(event, Event::JobUpdated { .. }))?;
    let Event::JobUpdated { definition, .. } = event_mut(history, place).1 else { return None };
    let op: u32 = definition.description.clone()?.strip_prefix("op-")?.parse().ok()?;
    let answered =
        find(history, |fact| matches!(&fact.what, FactKind::Answered { op: answered, .. } if *answered == op))?;
    history.facts[answered].what = FactKind::Answered { op, reply: Reply::Refused("no".into()) };
    Some(())
}

fn miscount_a_gap(history: &mut History) -> Option<()> {
    let (_, event) = gap(history, 1)?;
    let Event::JobSkipped { gap: Some(gap), .. } = event else { return None };
    gap.count += 1;
    Some(())
}

fn shorten_a_gap(history: &mut History) -> Option<()> {
    let (_, event) = gap(history, 2)?;
    let Event::JobSkipped { gap: Some(gap), .. } = event else { return None };
    gap.from = Timestamp::from_ms(gap.from.ms() + 1).ok()?;
    gap.count -= 1;
    Some(())
}

/// A gap of the schedule with at least so many occurrences.
fn gap(history: &mut History, count: u64) -> Option<(&mut i64, &mut Event)> {
    let wanted = |event: &Event| {
        matches!(event, Event::JobSkipped { cause: Cause::Schedule { .. }, gap: Some(gap), .. }
            if gap.exact && gap.count >= count)
    };
    let place = find_event(history, wanted)?;
    Some(event_mut(history, place))
}

fn executing(history: &History) -> Option<usize> {
    find(history, |fact| matches!(fact.what, FactKind::Executing { .. }))
}

fn execute_out_of_nothing(history: &mut History) -> Option<()> {
    let place = executing(history)?;
    let mut other = history.facts[place].clone();
    if let FactKind::Executing { token, .. } = &mut other.what {
        *token += 1_000;
    }
    history.facts.insert(place + 1, other);
    Some(())
}

fn execute_twice(history: &mut History) -> Option<()> {
    let place = executing(history)?;
    let again = history.facts[place].clone();
    history.facts.insert(place + 1, again);
    Some(())
}

/// In the last generation, which heard of every commit.
fn execute_never(history: &mut History) -> Option<()> {
    let calm = find(history, |fact| matches!(fact.what, FactKind::Calm))?;
    let from = history.facts[calm..].iter().position(|fact| matches!(fact.what, FactKind::Executing { .. }))?;
    let FactKind::Executing { run, token, .. } = history.facts[calm + from].what else { return None };
    history.facts.retain(|fact| match &fact.what {
        FactKind::Executing { run: other, token: t, .. } => (*other, *t) != (run, token),
        _ => true,
    });
    Some(())
}

fn overlap_attempts(history: &mut History) -> Option<()> {
    let place = find_event(history, |event| matches!(event, Event::JobFailed { retry_at: Some(_), .. }))?;
    let run = run_of(event_mut(history, place).1)?;
    let ready = find_event(history, |event| matches!(event, Event::RunReady { run_id } if *run_id == run))?;
    let [first, second] = [place.max(ready), place.min(ready)];
    history.facts.remove(first);
    history.facts.remove(second);
    renumber(history);
    Some(())
}

/// The second attempt that a job starts has the token of the first.
fn repeat_a_token(history: &mut History) -> Option<()> {
    let mut given = BTreeMap::new();
    let again = history.facts.iter().enumerate().find_map(|(place, fact)| match &fact.what {
        FactKind::Logged { job, event, acked: true, .. } => match **event {
            Event::JobStarted { token, .. } => given.insert(*job, token).map(|earlier| (place, earlier)),
            _ => None,
        },
        _ => None,
    });
    let (place, earlier) = again?;
    let (_, Event::JobStarted { token, .. }) = event_mut(history, place) else { return None };
    *token = earlier;
    Some(())
}

fn go_on_after_the_end(history: &mut History) -> Option<()> {
    let place = find_event(history, |event| matches!(event, Event::JobExecuted { .. }))?;
    let again = history.facts[place].clone();
    history.facts.insert(place + 1, again);
    renumber(history);
    Some(())
}

fn leave_a_run_stuck(history: &mut History) -> Option<()> {
    let last = |fact: &Fact| matches!(&fact.what, FactKind::Logged { event, .. } if matches!(**event, Event::JobExecuted { .. }));
    let place = history.facts.iter().rposition(last)?;
    history.facts.remove(place);
    renumber(history);
    Some(())
}

fn succeed_by_itself(history: &mut History) -> Option<()> {
    let place = find_event(history, |event| matches!(event, Event::JobExecuted { .. }))?;
    let succeeded = run_of(event_mut(history, place).1)?;
    for fact in &mut history.facts {
        match &mut fact.what {
            FactKind::Reported { run, report, .. } if *run == succeeded => {
                *report = AttemptReport::Failed { started_at: None, reason: "broke".into() };
            }
            _ => {}
        }
    }
    Some(())
}

fn recover_without_restart(history: &mut History) -> Option<()> {
    let wanted = |event: &Event| matches!(event, Event::JobFailed { reason, .. } if reason.starts_with("broke"));
    let place = find_event(history, wanted)?;
    let (_, event) = event_mut(history, place);
    let Event::JobFailed { reason, .. } = event else { return None };
    *reason = "recovered from restart".into();
    Some(())
}

fn accept_a_stale_report(history: &mut History) -> Option<()> {
    let place = find(history, |fact| matches!(fact.what, FactKind::Stale { .. }))?;
    if let FactKind::Stale { refused, .. } = &mut history.facts[place].what {
        *refused = false;
    }
    Some(())
}

fn lose_a_commit_in_a_crash(history: &mut History) -> Option<()> {
    let place = history.facts.iter().rposition(
        |fact| matches!(&fact.what, FactKind::Booted { found, .. } if found.values().any(|version| *version > 1)),
    )?;
    let FactKind::Booted { found, .. } = &mut history.facts[place].what else { return None };
    *found.values_mut().find(|version| **version > 1)? -= 1;
    Some(())
}

fn differ_at_the_end(history: &mut History) -> Option<()> {
    *history.end.found.values_mut().next()? += 1;
    Some(())
}
