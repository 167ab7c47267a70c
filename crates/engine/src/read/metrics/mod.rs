//! What the engine counted since it assignment.
//!
//! Invariant: nothing here has a job, a run or a label in its name: what is kept does not grow with what is scheduled.

mod histogram;

use std::sync::atomic::{AtomicU64, Ordering};

use ordo_model::job::{Event, Run, RunStatus, SkipReason};

pub use self::histogram::{Histogram, HistogramReading};
use crate::commit::job_command::Accepted;
use crate::dispatch::deliveries::DeliveryCounts;
use crate::read::series::{RunEnd, Series};

const LATENESS_MS: [u64; 16] =
    [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];
const DURATION_MS: [u64; 15] =
    [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000];
const COMMIT_MICROS: [u64; 15] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    10_000_000,
];
const COMMIT_ORDERS: [u64; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

#[derive(Debug)]
pub struct Metrics {
    pub triggered: AtomicU64,
    pub late: AtomicU64,
    pub completed: AtomicU64,
    pub failed: AtomicU64,
    pub cancelled: AtomicU64,
    /// Rounds that the store could not make durable.
    pub commit_faults: AtomicU64,
    /// From the time a run was scheduled for, jitter included, to the start of its first attempt.
    pub lateness_ms: Histogram,
    /// From the start of a run's first attempt to the run's end.
    pub duration_ms: Histogram,
    /// From the decision of a round until it is durable.
    pub commit_micros: Histogram,
    /// How many commands a round carries.
    pub commit_commands: Histogram,
    pub deliveries: DeliveryCounts,
    /// From an event until it was handed on to the senders.
    pub outbox_lag_ms: Histogram,
    /// From an event until a sender had delivered it.
    pub notification_lag_ms: Histogram,
    pub notifications_sent: AtomicU64,
    /// Tries that failed.
    pub notifications_failed: AtomicU64,
    pub notifications_dead_lettered: AtomicU64,
    /// Rows of other programs that became commands, and that did not.
    pub submissions_accepted: AtomicU64,
    pub submissions_refused: AtomicU64,
    /// Streams that the scrub has read and held against their events, and what did not agree.
    pub scrub_streams: AtomicU64,
    pub scrub_differences: AtomicU64,
    /// The same minute by minute.
    pub series: Series,
    skipped: [AtomicU64; REASONS.len()],
}

/// Every reason, at the place of its counter.
const REASONS: [SkipReason; SkipReason::ALL.len()] = SkipReason::ALL;

const fn place(reason: SkipReason) -> usize {
    match reason {
        SkipReason::Misfire => 0,
        SkipReason::CatchUpLimit => 1,
        SkipReason::Paused => 2,
        SkipReason::Overlap => 3,
        SkipReason::QueueFull => 4,
        SkipReason::Changed => 5,
        SkipReason::Held => 6,
        SkipReason::Expired => 7,
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            triggered: AtomicU64::default(),
            late: AtomicU64::default(),
            completed: AtomicU64::default(),
            failed: AtomicU64::default(),
            cancelled: AtomicU64::default(),
            submissions_accepted: AtomicU64::default(),
            submissions_refused: AtomicU64::default(),
            scrub_streams: AtomicU64::default(),
            scrub_differences: AtomicU64::default(),
            commit_faults: AtomicU64::default(),
            lateness_ms: Histogram::new(&LATENESS_MS),
            duration_ms: Histogram::new(&DURATION_MS),
            commit_micros: Histogram::new(&COMMIT_MICROS),
            commit_commands: Histogram::new(&COMMIT_ORDERS),
            deliveries: DeliveryCounts::default(),
            outbox_lag_ms: Histogram::new(&LATENESS_MS),
            notification_lag_ms: Histogram::new(&LATENESS_MS),
            notifications_sent: AtomicU64::default(),
            notifications_failed: AtomicU64::default(),
            notifications_dead_lettered: AtomicU64::default(),
            series: Series::default(),
            skipped: Default::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn scrubbed(&self, streams: u64, differences: u64) {
        self.scrub_streams.fetch_add(streams, Ordering::Relaxed);
        self.scrub_differences.fetch_add(differences, Ordering::Relaxed);
    }

    pub fn round(&self, orders: usize, micros: u64) {
        self.commit_commands.observe(orders as u64);
        self.commit_micros.observe(micros);
    }

    pub fn round_failed(&self) {
        add(&self.commit_faults, 1);
    }

    pub fn accepted(&self, accepted: &Accepted) {
        for event in &accepted.events {
            self.event(event, &accepted.runs);
        }
        for run in accepted.runs.iter() {
            self.run(run);
        }
    }

    fn event(&self, event: &Event, runs: &[Run]) {
        match event {
            Event::JobTriggered { timeliness, .. } => {
                add(&self.triggered, 1);
                add(&self.late, u64::from(!timeliness.is_on_time()));
            }
            Event::JobSkipped { reason, gap, .. } => {
                add(&self.skipped[place(*reason)], gap.map_or(1, |gap| gap.count));
            }
            Event::RunExpired { .. } => add(&self.skipped[place(SkipReason::Expired)], 1),
            // The report of the first attempt: only now is it known when that one began.
            Event::JobExecuted { run_id, attempt: 1, .. } | Event::JobFailed { run_id, attempt: 1, .. } => {
                let run = runs.iter().find(|run| run.id == *run_id);
                if let Some(late) = run.and_then(|run| run.lateness_ms) {
                    let late = u64::try_from(late).unwrap_or(0);
                    self.lateness_ms.observe(late);
                    if let Some(started_at) = run.and_then(|run| run.started_at) {
                        self.series.started(started_at, late);
                    }
                }
            }
            Event::JobExecuted { .. }
            | Event::JobFailed { .. }
            | Event::JobScheduled { .. }
            | Event::JobUpdated { .. }
            | Event::JobPaused { .. }
            | Event::JobResumed { .. }
            | Event::JobCancelled { .. }
            | Event::JobStarted { .. }
            | Event::RunReady { .. }
            | Event::RunReturned { .. }
            | Event::RunBroadcast { .. }
            | Event::ShardTriggered { .. }
            | Event::RunCancelRequested { .. }
            | Event::RunCancelled { .. }
            | Event::RunOrphaned { .. }
            | Event::AttemptExtended { .. }
            | Event::ClockStepped { .. }
            | Event::BackfillRequested { .. }
            | Event::HistoryTrimmed { .. }
            | Event::JobFollowed {}
            | Event::UpstreamEnded { .. }
            | Event::Published { .. } => {}
        }
    }

    /// A run is among those an order touched in its last state exactly once.
    fn run(&self, run: &Run) {
        let (counter, how) = match &run.status {
            RunStatus::Completed { .. } => (Some(&self.completed), RunEnd::Completed),
            RunStatus::Failed { .. } => (Some(&self.failed), RunEnd::Failed),
            RunStatus::Cancelled { .. } => (Some(&self.cancelled), RunEnd::Cancelled),
            // Counted by reason, from its event.
            RunStatus::Skipped { .. } => (None, RunEnd::Skipped),
            RunStatus::Pending { .. } | RunStatus::Running { .. } => return,
        };
        counter.into_iter().for_each(|counter| add(counter, 1));
        self.series.ended(run.finished_at.unwrap_or(run.fired_at), how);
        if let (Some(start), Some(end)) = (run.started_at, run.finished_at) {
            self.duration_ms.observe(u64::try_from(end.ms() - start.ms()).unwrap_or(0));
        }
    }

    /// Occurrences that led to no run, by reason.
    pub fn skipped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        REASONS.iter().map(|reason| (reason.name(), Metrics::read(&self.skipped[place(*reason)])))
    }

    pub(crate) fn count(counter: &AtomicU64) {
        add(counter, 1);
    }

    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_stands_at_its_place() {
        for (at, reason) in REASONS.iter().enumerate() {
            assert_eq!(place(*reason), at);
        }
    }
}
