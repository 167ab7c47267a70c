//! What happens when something is asked of a job. Only this folder chooses.
//!
//! Invariant: `decide` is a pure function of job, order and moment; a refusal changes nothing.

mod attempts;
mod chain;
mod clock;
mod draft;
mod fire;
mod lifecycle;

use super::command::{Command, Refusal, SlottedCommand};
use super::definition::validate_input;
use super::event::{Cause, Event};
use super::run::Run;
use super::state::{Job, Phase};
use crate::id::JobId;
use crate::moment::Moment;
use draft::Draft;

/// What was decided: the events, the job after them, and the runs they touched (each as it is after the last of them).
#[derive(Debug, Clone)]
pub struct Decided {
    pub job: Job,
    pub events: Vec<Event>,
    pub runs: Vec<Run>,
}

pub fn decide(
    id: JobId,
    job: Option<Job>,
    slotted: SlottedCommand,
    now: impl Into<Moment>,
) -> Result<Decided, Refusal> {
    let moment = now.into();
    let SlottedCommand { command, mut reservation } = slotted;
    let (job, command) = match (job, command) {
        (None, Command::Schedule { definition, held }) => return lifecycle::schedule(id, *definition, held, moment),
        (None, _) => return Err(Refusal::NoSuchJob),
        (Some(_), Command::Schedule { .. }) => return Err(Refusal::Exists),
        (Some(job), command) => (job, command),
    };
    let mut draft = Draft::new(job, moment.now);
    clock::follow(&mut draft, moment.frame);
    match command {
        Command::Schedule { .. } => return Err(Refusal::Exists),
        Command::Update { patch, if_revision, if_followed } => {
            lifecycle::refuse_followed(&draft.job, if_followed)?;
            lifecycle::update(&mut draft, &patch, if_revision)?;
        }
        Command::Pause { reason } => lifecycle::pause(&mut draft, reason)?,
        Command::Resume => lifecycle::resume(&mut draft)?,
        Command::Cancel { reason } => lifecycle::cancel(&mut draft, reason)?,
        Command::Trigger { tool_input, traceparent } => {
            refuse_cancelled(&draft.job)?;
            tool_input.as_ref().map_or(Ok(()), validate_input)?;
            fire::trigger(&mut draft, Cause::Manual, Default::default(), fire::Given { tool_input, traceparent });
        }
        Command::Enqueue { tool_input } => {
            refuse_cancelled(&draft.job)?;
            tool_input.as_ref().map_or(Ok(()), validate_input)?;
            fire::enqueue(&mut draft, tool_input)?;
        }
        Command::Deliver { delivery, replay } => fire::deliver(&mut draft, delivery, replay)?,
        Command::RetryRun { run } => {
            refuse_cancelled(&draft.job)?;
            attempts::retry_run(&mut draft, &run)?;
        }
        Command::Backfill { from, to } => fire::backfill(&mut draft, from, to)?,
        Command::Wake => {
            attempts::settle_overdue(&mut draft);
            attempts::ready_retries(&mut draft);
            attempts::expire(&mut draft);
            fire::due(&mut draft);
        }
        Command::Start { run_id } => attempts::start(&mut draft, run_id, reservation.take())?,
        Command::Broadcast { run_id, executors } => attempts::broadcast(&mut draft, run_id, executors)?,
        Command::Report { run_id, token, report } => attempts::report(&mut draft, run_id, token, report)?,
        Command::CancelRun { run_id, reason } => attempts::cancel_run(&mut draft, run_id, reason)?,
        Command::Orphan { executor, settle_after } => attempts::orphan(&mut draft, &executor, settle_after),
        Command::Readopt { executor } => attempts::readopt(&mut draft, &executor),
        Command::Follow => {
            if !draft.job.followed {
                draft.emit(Event::JobFollowed {});
            }
        }
        Command::FollowAnew => draft.emit(Event::JobFollowed {}),
        Command::Arrive { end } => chain::arrive(&mut draft, *end)?,
        Command::Published { through } => {
            if draft.job.outbox.entries().first().is_some_and(|entry| entry.version <= through) {
                draft.emit(Event::Published { through });
            }
        }
        Command::Trim { trims, runs, below, oldest } => {
            if draft.job.history.trims != trims {
                return Err(Refusal::TrimmedMeanwhile);
            }
            draft.emit(Event::HistoryTrimmed { trims: trims + 1, runs, below, oldest });
        }
    }
    attempts::gather_shards(&mut draft);
    fire::pump_backfills(&mut draft);
    if let Some(reservation) = reservation {
        attempts::start_first(&mut draft, reservation);
    }
    Ok(draft.finish())
}

fn refuse_cancelled(job: &Job) -> Result<(), Refusal> {
    match job.phase {
        Phase::Cancelled => Err(Refusal::WrongState { state: "cancelled", advice: "add a new job instead" }),
        Phase::Active | Phase::Paused { .. } | Phase::Held => Ok(()),
    }
}
