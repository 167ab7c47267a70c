//! How many runs are likely to be under way when: one sweep over their beginnings and ends.
//!
//! Invariant: load is counted in thousandths of a slot, so that a job that fires every second and takes a moment is a
//! small share of a slot and not a whole one.

use super::{Forecast, ForecastBin, ForecastPool, PlannedJob, PoolLoad, QuietTime, Saturation, count};
use crate::limits::{FORECAST_QUIET_MIN, FORECAST_SATURATION_APART, FORECAST_SATURATION_MIN, FORECAST_SHOWN_MAX};
use crate::time::Timestamp;

const SLOT: i64 = 1_000;
/// How many labels of those that fire in a bin are given.
pub const BIN_JOBS_MAX: usize = 5;

/// From this moment on, so much of each pool is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadStep {
    at: Timestamp,
    of_pools: Vec<i64>,
}

impl LoadStep {
    fn total(&self) -> i64 {
        self.of_pools.iter().sum()
    }
}

/// The load from step to step, in order; the first step is at `from`. The last place of each is for jobs without a pool.
pub(super) fn curve(jobs: &[PlannedJob], pools: usize, from: Timestamp, to: Timestamp) -> Vec<LoadStep> {
    let mut load = vec![0; pools + 1];
    let mut changes: Vec<(Timestamp, usize, i64)> = Vec::new();
    for job in jobs {
        let pool = job.pool.filter(|pool| *pool < pools).unwrap_or(pools);
        if job.is_steady {
            load[pool] += steady_load(job, from);
            continue;
        }
        for (place, fire) in job.fires.iter().enumerate() {
            // The next one waits, or takes its place.
            let next = job.fires.get(place + 1).filter(|_| job.at_once < 2).copied().unwrap_or(to);
            // What takes no time at all is still there for a moment.
            let end = fire.plus(job.typical()).min(next).max(fire.moved(1)).min(to);
            changes.push((*fire, pool, SLOT));
            changes.push((end, pool, -SLOT));
        }
    }
    changes.sort_unstable();
    let mut steps = vec![LoadStep { at: from, of_pools: load.clone() }];
    for (at, pool, by) in changes {
        load[pool] += by;
        match steps.last_mut() {
            Some(last) if last.at == at => last.of_pools[pool] += by,
            Some(_) | None => steps.push(LoadStep { at, of_pools: load.clone() }),
        }
    }
    steps
}

/// Of a job that goes on as it begins: its duration in relation to the time between two fires.
fn steady_load(job: &PlannedJob, from: Timestamp) -> i64 {
    let span = job.fires.last().map_or(0, |last| last.since(from).ms()).max(1);
    let busy = job.typical().ms().saturating_mul(job.fires.len() as u64);
    let most = SLOT.saturating_mul(i64::from(job.at_once));
    i64::try_from(busy.saturating_mul(SLOT as u64) / span).unwrap_or(i64::MAX).min(most)
}

/// Runs, of which a part is one.
fn runs(load: i64) -> u32 {
    u32::try_from((load.max(0) + SLOT - 1) / SLOT).unwrap_or(u32::MAX)
}

pub(super) fn bins(jobs: &[PlannedJob], curve: &[LoadStep], bounds: &[Timestamp]) -> Vec<ForecastBin> {
    let mut bins: Vec<ForecastBin> = bounds
        .windows(2)
        .map(|two| ForecastBin { from: two[0], to: two[1], fires: 0, jobs: Vec::new(), peak: 0 })
        .collect();
    let place = |at: Timestamp| bounds.partition_point(|bound| *bound <= at).checked_sub(1);
    // Steady jobs fire in every bin, how often nobody counted: they are part of the load.
    let counted = jobs.iter().filter(|job| !job.is_steady);
    for (job, fire) in counted.flat_map(|job| job.fires.iter().map(move |fire| (job, fire))) {
        if let Some(bin) = place(*fire).and_then(|place| bins.get_mut(place)) {
            bin.fires += 1;
            if bin.jobs.len() < BIN_JOBS_MAX && bin.jobs.last() != Some(&job.label) {
                bin.jobs.push(job.label.clone());
            }
        }
    }
    // A step reaches into every bin up to the next step.
    for (step, next) in curve.iter().zip(curve.iter().skip(1).map(|next| Some(next.at)).chain([None])) {
        let first = place(step.at).unwrap_or(0);
        let reached = bins.iter_mut().skip(first).take_while(|bin| next.is_none_or(|next| bin.from < next));
        reached.for_each(|bin| bin.peak = bin.peak.max(runs(step.total())));
    }
    bins
}

pub(super) fn peaks(curve: &[LoadStep], pools: &[ForecastPool]) -> Vec<PoolLoad> {
    let peak = |(place, pool): (usize, &ForecastPool)| {
        let most = curve.iter().map(|step| step.of_pools[place]).max().unwrap_or(0);
        let at = curve.iter().find(|step| step.of_pools[place] == most).map(|step| step.at);
        PoolLoad { pool: pool.name.clone(), slots: pool.slots, peak: runs(most), peak_at: at.filter(|_| most > 0) }
    };
    pools.iter().enumerate().map(peak).collect()
}

/// Where a pool is asked for more than it has for long enough that somebody notices; what follows soon is one.
pub(super) fn saturations(curve: &[LoadStep], pools: &[ForecastPool], to: Timestamp) -> Vec<Saturation> {
    let mut joined = Vec::new();
    for (place, pool) in pools.iter().enumerate() {
        let mut found: Vec<Saturation> = Vec::new();
        let mut open: Option<Saturation> = None;
        for step in curve {
            let wanted = runs(step.of_pools[place]);
            match (&mut open, wanted > pool.slots) {
                (Some(open), true) => open.peak = open.peak.max(wanted),
                (Some(_), false) => found.extend(open.take().map(|open| Saturation { to: step.at, ..open })),
                (None, true) => {
                    let (name, slots) = (pool.name.clone(), pool.slots);
                    open = Some(Saturation { pool: name, slots, from: step.at, to, peak: wanted });
                }
                (None, false) => {}
            }
        }
        found.extend(open);
        joined.extend(join(found));
    }
    joined.sort_by_key(|one: &Saturation| one.from);
    joined
}

/// Those of one pool, in order: what follows within a moment belongs together, and what is over in a moment is none.
fn join(found: Vec<Saturation>) -> Vec<Saturation> {
    let mut joined: Vec<Saturation> = Vec::new();
    for one in found.into_iter().filter(|one| one.to.since(one.from) >= FORECAST_SATURATION_MIN) {
        match joined.last_mut() {
            Some(last) if one.from.since(last.to) < FORECAST_SATURATION_APART => {
                last.to = last.to.max(one.to);
                last.peak = last.peak.max(one.peak);
            }
            Some(_) | None => joined.push(one),
        }
    }
    joined
}

/// The longest times in which no run is likely, of those that are worth the name. Steady jobs never rest and do not count.
pub(super) fn quiet(jobs: &[PlannedJob], from: Timestamp, to: Timestamp) -> Vec<QuietTime> {
    let runs = jobs.iter().filter(|job| !job.is_steady);
    let mut busy: Vec<(Timestamp, Timestamp)> =
        runs.flat_map(|job| job.fires.iter().map(|fire| (*fire, fire.plus(job.typical())))).collect();
    busy.sort_unstable();
    let (mut found, mut free_from) = (Vec::new(), from);
    for (begin, end) in busy.into_iter().chain([(to, to)]) {
        if begin > free_from && begin.since(free_from) >= FORECAST_QUIET_MIN {
            found.push(QuietTime { from: free_from, to: begin });
        }
        free_from = free_from.max(end);
    }
    found.sort_by_key(|quiet| (std::cmp::Reverse(quiet.to.since(quiet.from)), quiet.from));
    found.truncate(FORECAST_SHOWN_MAX);
    found
}

impl Forecast {
    /// For how long more is asked of some pool than it has, in milliseconds.
    pub fn saturated_ms(&self) -> u64 {
        self.saturations.iter().map(|one| one.to.since(one.from).ms()).sum()
    }

    /// How many runs are likely to be under way at once, at most.
    pub fn peak(&self) -> u32 {
        self.bins.iter().map(|bin| bin.peak).max().unwrap_or(0)
    }

    /// How many bins have no fire.
    pub fn empty_bins(&self) -> u32 {
        count(self.bins.iter().filter(|bin| bin.fires == 0).count())
    }
}
