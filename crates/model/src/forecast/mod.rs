//! What fires in a time to come, how long it will keep executors busy, and what gets in each other's way.
//!
//! Invariant: pure, and bounded by what is handed in. A number is exact, or `is_exact` says that it is the least. A job of
//! which nobody knows how long it takes counts as a moment.

mod clock_changes;
mod collisions;
mod load;
#[cfg(test)]
mod tests;

pub use clock_changes::{ZoneClockChange, clock_changes};
pub use load::BIN_JOBS_MAX;
use serde::{Deserialize, Serialize};

use crate::id::JobId;
use crate::time::{Millis, Timestamp};

/// A job that fires by itself, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedJob {
    /// None: it does not exist yet.
    pub id: Option<JobId>,
    pub label: String,
    /// The place of its pool among those that are handed in; None where nothing could run it.
    pub pool: Option<usize>,
    pub took: Option<LearnedDuration>,
    /// Its fires inside the window, soonest first. Of a steady job the first ones, which say its pace.
    pub fires: Vec<Timestamp>,
    /// How many fires it has at least.
    pub count: u32,
    /// There are more fires than were looked for: the job is steady, it goes on at the same pace.
    pub is_steady: bool,
    /// How many of its runs may be under way at once.
    pub at_once: u32,
}

/// How long the last runs of a job took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LearnedDuration {
    /// Half of them took no longer.
    pub typical: Millis,
    /// The longest of them.
    pub longest: Millis,
    /// How many runs that was learned from; 0 when somebody said it.
    pub runs: u32,
}

/// Slots that runs share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForecastPool {
    pub name: String,
    pub slots: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Forecast {
    pub from: Timestamp,
    pub to: Timestamp,
    pub fires: u64,
    /// False: there are more fires than were looked at; every count is the least.
    pub is_exact: bool,
    /// How many jobs fire more often than is counted one by one; they are part of the load, not of the bins.
    pub steady_jobs: u32,
    /// How many of the jobs nobody knows the duration of.
    pub unknown_durations: u32,
    pub bins: Vec<ForecastBin>,
    pub pools: Vec<PoolLoad>,
    /// Times at which more wants to run than there are slots, soonest first.
    pub saturations: Vec<Saturation>,
    /// Jobs that fire in the same minute, most jobs first.
    pub collisions: Vec<Collision>,
    /// Jobs that fire again before their last run is likely to be over.
    pub overlaps: Vec<SelfOverlap>,
    /// Times without a run, longest first.
    pub quiet: Vec<QuietTime>,
    /// Nights in which a clock changes by which some of the jobs go, soonest first.
    pub clock_changes: Vec<ZoneClockChange>,
    pub jobs: Vec<JobForecast>,
    /// What was left out, in words.
    pub limits: Vec<String>,
}

/// One part of the window: an hour, or a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ForecastBin {
    pub from: Timestamp,
    pub to: Timestamp,
    pub fires: u32,
    /// The labels of some of the jobs that fire.
    pub jobs: Vec<String>,
    /// How many runs are likely to be under way at once.
    pub peak: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PoolLoad {
    pub pool: String,
    pub slots: u32,
    pub peak: u32,
    /// When the peak is reached first; null when nothing runs.
    pub peak_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Saturation {
    pub pool: String,
    pub slots: u32,
    pub from: Timestamp,
    pub to: Timestamp,
    pub peak: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Collision {
    /// The first minute in which they fire together.
    pub at: Timestamp,
    /// In how many minutes of the window the same jobs do.
    pub times: u32,
    /// How many jobs there are.
    pub count: u32,
    /// The labels of some of them.
    pub jobs: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SelfOverlap {
    pub label: String,
    /// The first fire that is likely to meet the run before it.
    pub at: Timestamp,
    pub times: u32,
    /// The time between the two fires.
    pub apart: Millis,
    pub typical: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuietTime {
    pub from: Timestamp,
    pub to: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobForecast {
    /// Null: it does not exist yet.
    pub id: Option<JobId>,
    pub label: String,
    pub fires: u32,
    /// False: it fires more often than is counted.
    pub is_exact: bool,
    pub next: Option<Timestamp>,
    /// Null: none of its last runs has completed.
    pub took: Option<LearnedDuration>,
}

/// `bounds`: where the bins begin, and where the last one ends; in order. `begin`: what lies before is the past.
pub fn forecast(jobs: &[PlannedJob], pools: &[ForecastPool], bounds: &[Timestamp], begin: Timestamp) -> Forecast {
    let (from, to) = match bounds {
        [from, .., to] => (*from, *to),
        [one] => (*one, *one),
        [] => (Timestamp::MIN, Timestamp::MIN),
    };
    let begin = begin.max(from).min(to);
    let curve = load::curve(jobs, pools.len(), begin, to);
    Forecast {
        from,
        to,
        fires: jobs.iter().map(|job| u64::from(job.count)).sum(),
        is_exact: jobs.iter().all(|job| !job.is_steady),
        steady_jobs: count(jobs.iter().filter(|job| job.is_steady).count()),
        unknown_durations: count(jobs.iter().filter(|job| job.took.is_none() && !job.fires.is_empty()).count()),
        bins: load::bins(jobs, &curve, bounds),
        pools: load::peaks(&curve, pools),
        saturations: load::saturations(&curve, pools, to),
        collisions: collisions::together(jobs),
        overlaps: collisions::with_itself(jobs),
        quiet: load::quiet(jobs, begin, to),
        clock_changes: Vec::new(),
        jobs: jobs.iter().filter(|job| !job.fires.is_empty()).map(job_forecast).collect(),
        limits: Vec::new(),
    }
}

impl LearnedDuration {
    /// From the durations of the last runs; None when there were none.
    pub fn learn(mut took: Vec<Millis>) -> Option<LearnedDuration> {
        took.sort_unstable();
        let longest = *took.last()?;
        Some(LearnedDuration { typical: took[(took.len() - 1) / 2], longest, runs: count(took.len()) })
    }

    /// As somebody says it.
    pub const fn said(length: Millis) -> LearnedDuration {
        LearnedDuration { typical: length, longest: length, runs: 0 }
    }
}

impl PlannedJob {
    fn typical(&self) -> Millis {
        self.took.map_or(Millis::from_ms(0), |took| took.typical)
    }
}

fn job_forecast(job: &PlannedJob) -> JobForecast {
    JobForecast {
        id: job.id,
        label: job.label.clone(),
        fires: job.count,
        is_exact: !job.is_steady,
        next: job.fires.first().copied(),
        took: job.took,
    }
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}
