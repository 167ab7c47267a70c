//! What a job is doing now: small enough to be written with every change.
//!
//! Invariant: the alarm follows from the state (`next_wake`), so a job that needs waking cannot be stored without it.
//! Finished runs are not here; they are rows beside it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::after::UpstreamEnd;
use super::definition::Definition;
use super::definition::policy::Routing;
use super::definition::trigger::Trigger;
use super::event::{Cause, Timeliness};
use super::outbox::Notice;
use super::pace::{Pace, Pool};
use super::run::{AttemptError, Run, RunStatus};
use super::shard::{Shard, ShardEnd, ShardPosition};
use crate::id::{FencingToken, Incarnation, JobId, RunId};
use crate::limits::{AGEING_STEP, PRIORITY_MAX, RETENTION_SLACK, RETENTION_SLACK_MIN};
use crate::moment::ClockFrame;
use crate::outbox::{self, Outbox};
use crate::schedule::{Occurrence, Rule};
use crate::text::is_default;
use crate::time::{Millis, Timestamp};
use crate::trace::TraceParent;

/// How many numbers are tried for a run whose id says which one it has; what was skipped or ended meanwhile lies in between.
const NUMBERS_TRIED: usize = 200;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    #[serde(with = "super::definition::packed")]
    pub definition: Arc<Definition>,
    /// Moves with the definition only.
    pub revision: u64,
    /// How many events the job has had.
    pub version: u64,
    pub phase: Phase,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The first occurrence without an outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Occurrence>,
    /// The newest nominal time that has its outcome: a changed trigger begins after it, so that none is fired twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accounted_to: Option<Timestamp>,
    /// Runs that are not over, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ActiveRun>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backfills: Vec<Backfill>,
    /// How many runs (and skipped records) there have been; numbers the next.
    pub run_count: u64,
    pub last_token: FencingToken,
    #[serde(default)]
    pub history: RunHistory,
    /// Others wait for the ends of its runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub followed: bool,
    /// How often that was said: grows whenever somebody checks a chain that leads over this job.
    #[serde(default, skip_serializing_if = "is_default")]
    pub followed_times: u64,
    /// How the jobs that this one comes after have ended since its last run of the chain, under `all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrived: Vec<UpstreamEnd>,
    /// Events that are still to be published.
    #[serde(default, skip_serializing_if = "Outbox::is_empty")]
    pub outbox: Outbox<Notice>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub pace: Pace,
    /// How the clock stood when the lengths of the active runs were laid out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<ClockFrame>,
    /// How far the wall clock was set back behind the beat of an `every` schedule: its nominal times run ahead by that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub set_back_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Phase {
    Active,
    Paused {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        since: Timestamp,
    },
    Held,
    Cancelled,
}

/// The phase as people see it: an active job with nothing left to do is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Active,
    Paused,
    Held,
    Finished,
    Cancelled,
}

impl JobState {
    pub const ALL: [JobState; 5] =
        [JobState::Active, JobState::Paused, JobState::Held, JobState::Finished, JobState::Cancelled];

    pub const fn name(self) -> &'static str {
        match self {
            JobState::Active => "active",
            JobState::Paused => "paused",
            JobState::Held => "held",
            JobState::Finished => "finished",
            JobState::Cancelled => "cancelled",
        }
    }

    /// Part of stored keys, so it never changes.
    pub const fn code(self) -> u8 {
        match self {
            JobState::Active => 0,
            JobState::Paused => 1,
            JobState::Held => 2,
            JobState::Finished => 3,
            JobState::Cancelled => 4,
        }
    }

    pub fn named(name: &str) -> Option<JobState> {
        JobState::ALL.into_iter().find(|state| state.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActiveRun {
    pub id: RunId,
    pub cause: Cause,
    #[serde(default, skip_serializing_if = "Timeliness::is_on_time")]
    pub timeliness: Timeliness,
    pub fired_at: Timestamp,
    /// The job's version when the run began.
    pub version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
    pub stage: Stage,
    /// Attempts begun so far.
    pub attempts: u32,
    /// How many of them were given back without having been begun by their executor.
    #[serde(default, skip_serializing_if = "is_default")]
    pub returned: u32,
    /// Set when it is one share of another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<AttemptError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelling: Option<String>,
    /// It was still running when the next occurrence came, and that was announced.
    #[serde(default, skip_serializing_if = "is_default")]
    pub overran: bool,
    /// By how much the wall clock was set since the run came to be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub clock_moved_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Stage {
    /// Waits for its turn in the job, then for a free slot.
    Queued,
    /// Failed, and waits before it is tried again. It keeps its turn.
    Backoff {
        until: Timestamp,
    },
    Running(Attempt),
    /// Its shards are under way; it is over when all of them are.
    Broadcast {
        total: u32,
        done: Vec<ShardEnd>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub number: u32,
    pub token: FencingToken,
    pub executor: Incarnation,
    pub started_at: Timestamp,
    pub deadline: Timestamp,
    /// Set when the executor is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_at: Option<Timestamp>,
    /// The concurrency key that it holds, as the definition said when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency_key: Option<String>,
}

/// Occurrences being run once more: `next` is the first that was not yet triggered, `to` is not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backfill {
    pub next: Occurrence,
    pub to: Timestamp,
}

/// What is kept of runs that are over.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunHistory {
    /// Finished runs that still have a row.
    pub kept: u32,
    /// How many times old runs were forgotten.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trims: u64,
    /// When the oldest of them ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Last>,
    pub failures_in_row: u32,
    /// Occurrences since the last completed run that did not happen when they should have.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missed_in_row: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LastRun))]
pub struct Last {
    pub run_id: RunId,
    pub status: String,
    pub at: Timestamp,
}

impl Job {
    pub fn state(&self) -> JobState {
        match &self.phase {
            Phase::Paused { .. } => JobState::Paused,
            Phase::Held => JobState::Held,
            Phase::Cancelled => JobState::Cancelled,
            Phase::Active if self.has_nothing_left() => JobState::Finished,
            Phase::Active => JobState::Active,
        }
    }

    fn has_nothing_left(&self) -> bool {
        match &self.definition.trigger {
            Trigger::Scheduled(_) => self.next.is_none() && self.active.is_empty() && self.backfills.is_empty(),
            Trigger::Webhook { .. } | Trigger::Manual => false,
        }
    }

    /// When the job fires next by itself, as far as its phase lets it.
    pub fn next_tick_at(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Active => self.next.map(|occurrence| occurrence.due),
            Phase::Paused { .. } | Phase::Held | Phase::Cancelled => None,
        }
    }

    /// The next moment at which something must be done without anybody asking. What waits in the outbox is looked at
    /// within the delay.
    pub fn next_wake(&self, flush_delay: Millis) -> Option<Timestamp> {
        outbox::wake(self.next_turn(), self.outbox.since(), flush_delay)
    }

    /// The next moment at which something must be decided: what waits in the outbox needs no decision.
    pub fn next_turn(&self) -> Option<Timestamp> {
        let runs = self.active.iter().filter_map(|run| match &run.stage {
            Stage::Queued => self.expires_at(run),
            Stage::Backoff { until } => Some(*until),
            Stage::Running(attempt) => Some(attempt.settle_at.map_or(attempt.deadline, |at| at.min(attempt.deadline))),
            Stage::Broadcast { .. } => None,
        });
        runs.chain(self.next_tick_at()).min()
    }

    /// How the job ranks among others of the same moment: 0 comes first.
    pub fn rank(&self) -> u8 {
        PRIORITY_MAX - self.definition.priority
    }

    /// Runs that could start now if there were a place for them: those whose turn it is in the job, and shards.
    pub fn startable(&self) -> impl Iterator<Item = &ActiveRun> {
        let width = self.definition.block.width() + usize::from(crate::is_planted!(OverlapIgnored));
        // More than `width` may be running when the block strategy was narrowed meanwhile.
        let free = width.saturating_sub(self.whole_runs().filter(|run| run.is_under_way()).count());
        let waits = |run: &&ActiveRun| matches!(run.stage, Stage::Queued);
        let shards = self.active.iter().filter(|run| run.shard.is_some()).filter(waits);
        shards.chain(self.whole_runs().take(width).filter(waits).take(free))
    }

    /// The runs that the block strategy counts: shards count as the run they are part of.
    pub fn whole_runs(&self) -> impl Iterator<Item = &ActiveRun> {
        self.active.iter().filter(|run| run.shard.is_none())
    }

    /// When a run that never found an executor is given up.
    pub fn expires_at(&self, run: &ActiveRun) -> Option<Timestamp> {
        let length = self.definition.expire_after.filter(|_| run.attempts == 0 && run.shard.is_none())?;
        Some(run.since().plus(length).moved(run.clock_moved_ms))
    }

    /// How far the nominal times of `trigger` run ahead of the clock: whole beats of an interval that has begun to beat
    /// and whose clock was set back since. So it goes on beating, and no nominal time is given out twice.
    pub fn beat_ahead(&self, trigger: &Trigger) -> Millis {
        match trigger.schedule().map(|schedule| &schedule.rule) {
            Some(Rule::Every { every }) if self.accounted_to.is_some() => {
                Millis::from_ms(self.set_back_ms - self.set_back_ms % every.ms().max(1))
            }
            Some(Rule::Every { .. } | Rule::At { .. } | Rule::Cron { .. }) | None => Millis::from_ms(0),
        }
    }

    /// Where a waiting run stands among all others: by the time it has waited since, each step of priority being worth
    /// AGEING_STEP. So the higher go first, and the lower are not kept waiting for ever.
    pub fn turn_of(&self, run: &ActiveRun) -> Timestamp {
        run.since().plus(AGEING_STEP.saturating_mul(u64::from(self.rank())))
    }

    /// Which pool runs the job, as of its last event.
    pub fn pool(&self) -> Pool {
        self.pace.seen_at(self.updated_at).pool()
    }

    /// The run's number among all of the job, read from its id; None if it lies too far back to look for.
    pub fn number_of(&self, run: RunId) -> Option<u64> {
        let newer = self.active.iter().rev().take_while(|other| other.id != run).count() as u64;
        let newest = self.run_count.saturating_sub(newer);
        (1..=newest).rev().take(NUMBERS_TRIED).find(|number| run.is_of(self.id, *number))
    }

    /// The concurrency key that an attempt of the run holds if it begins now. What goes to all is limited where it is executed:
    /// share by share.
    pub fn concurrency_key_of(&self, run: &ActiveRun) -> Option<String> {
        let limit = self.definition.concurrency_key.as_ref().filter(|_| !self.goes_to_all(run))?;
        Some(limit.key.of(&self.definition.label, self.input_of(run)))
    }

    /// The key under which the start of an attempt of the run counts for its rate.
    pub fn rate_key_of(&self, run: &ActiveRun) -> Option<String> {
        let limit = self.definition.rate_limit.as_ref().filter(|_| !self.goes_to_all(run))?;
        Some(limit.key.of(&self.definition.label, self.input_of(run)))
    }

    fn goes_to_all(&self, run: &ActiveRun) -> bool {
        self.definition.routing == Routing::ShardingBroadcast && run.shard.is_none()
    }

    fn input_of<'a>(&'a self, run: &'a ActiveRun) -> &'a Value {
        run.tool_input.as_ref().unwrap_or(&self.definition.tool_input)
    }

    pub fn active_run(&self, id: RunId) -> Option<&ActiveRun> {
        self.active.iter().find(|run| run.id == id)
    }

    /// Whether it keeps more runs than its retention says, by so many that trimming is worth a commit.
    pub fn is_overfull(&self) -> bool {
        let runs = self.definition.retention.runs;
        let slack = (runs / 10).clamp(RETENTION_SLACK_MIN, RETENTION_SLACK);
        self.history.kept > runs.saturating_add(slack)
    }

    /// When the job's history is to be trimmed, or the whole job forgotten.
    pub fn retention_due(&self) -> Option<Timestamp> {
        let retention = self.definition.retention;
        let over = match self.state() {
            JobState::Finished | JobState::Cancelled if self.active.is_empty() => {
                Some(self.updated_at.plus(retention.age))
            }
            JobState::Active | JobState::Paused | JobState::Held | JobState::Finished | JobState::Cancelled => None,
        };
        if self.is_overfull() {
            return Some(Timestamp::MIN);
        }
        // A tenth of the age is slack: old runs are trimmed together, not one by one.
        let slack = crate::time::Millis::from_ms(retention.age.ms() / 10);
        let by_age = self.history.oldest.map(|oldest| oldest.plus(retention.age).plus(slack));
        over.into_iter().chain(by_age).min()
    }

    /// Whether the whole job may be forgotten at `now`.
    pub fn is_forgettable(&self, now: Timestamp) -> bool {
        match self.state() {
            JobState::Finished | JobState::Cancelled => {
                self.active.is_empty()
                    && self.outbox.is_empty()
                    && self.updated_at.plus(self.definition.retention.age) <= now
            }
            JobState::Active | JobState::Paused | JobState::Held => false,
        }
    }
}

impl ActiveRun {
    pub fn attempt(&self) -> Option<&Attempt> {
        match &self.stage {
            Stage::Running(attempt) => Some(attempt),
            Stage::Queued | Stage::Backoff { .. } | Stage::Broadcast { .. } => None,
        }
    }

    fn is_under_way(&self) -> bool {
        match &self.stage {
            Stage::Running(_) | Stage::Broadcast { .. } => true,
            Stage::Queued | Stage::Backoff { .. } => false,
        }
    }

    /// How many shards it has.
    pub(super) fn shards(&self) -> u32 {
        match &self.stage {
            Stage::Broadcast { total, .. } => *total,
            Stage::Queued | Stage::Backoff { .. } | Stage::Running(_) => 0,
        }
    }

    /// Since when the run could have started.
    pub fn since(&self) -> Timestamp {
        self.cause.occurrence().map_or(self.fired_at, |occurrence| occurrence.due)
    }

    /// Attempts that count: those that an executor began.
    pub fn tried(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.returned)
    }

    /// The run as people see it while it is not over.
    pub fn view(&self, job: &Job) -> Run {
        self.view_as(job, self.status(), None)
    }

    pub fn status(&self) -> RunStatus {
        match &self.stage {
            Stage::Queued => RunStatus::Pending { retry_at: None, waiting_for: None },
            Stage::Backoff { until } => RunStatus::Pending { retry_at: Some(*until), waiting_for: None },
            Stage::Running(_) | Stage::Broadcast { .. } => RunStatus::Running { cancelling: self.cancelling.clone() },
        }
    }

    /// The moment against which lateness counts: the nominal time, with its jitter if the job has any. A run that
    /// nobody scheduled for a moment of its own cannot be late.
    fn on_time(&self, job: &Job) -> Option<Timestamp> {
        let jittered = job.definition.trigger.schedule().is_some_and(|schedule| schedule.jitter.is_some());
        match self.cause {
            Cause::Schedule { occurrence, .. } if jittered => Some(occurrence.due),
            // A beat that goes on after the clock was set back is due before its nominal time.
            Cause::Schedule { occurrence, .. } => Some(occurrence.nominal.min(occurrence.due)),
            Cause::Backfill { .. }
            | Cause::Manual
            | Cause::Retry { .. }
            | Cause::Webhook { .. }
            | Cause::After { .. } => None,
        }
    }

    pub(super) fn view_as(&self, job: &Job, status: RunStatus, finished_at: Option<Timestamp>) -> Run {
        let occurrence = self.cause.occurrence();
        Run {
            id: self.id,
            job_id: job.id,
            label: job.definition.label.clone(),
            scheduled_for: occurrence.map(|o| o.nominal),
            due_at: occurrence.filter(|o| o.due != o.nominal).map(|o| o.due),
            fired_at: self.fired_at,
            started_at: self.first_started_at,
            finished_at,
            lateness_ms: self.first_started_at.zip(self.on_time(job)).map(|(start, due)| start.ms() - due.ms()),
            attempt: self.attempts,
            executor: self.attempt().map(|attempt| attempt.executor.executor.clone()),
            parent_id: self.shard.map(|shard| shard.parent),
            shard: self.shard.map(|shard| ShardPosition { index: shard.index, total: shard.total }),
            cause: self.cause,
            timeliness: self.timeliness,
            tool_input: self.tool_input.clone(),
            traceparent: self.traceparent,
            errors: self.errors.clone(),
            status,
            version: self.version,
        }
    }
}
