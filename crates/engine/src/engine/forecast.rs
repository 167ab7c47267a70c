//! What fires in a time to come, from the jobs as they stand and the runs they had.
//!
//! Invariant: a bounded number of reads: the index of next fires, the jobs, and the last runs of some of them. What is left
//! out is named in `limits`, and the counts are then the least.

use std::collections::BTreeMap;

use ordo_model::executor::Presence;
use ordo_model::forecast::{Forecast, ForecastPool, LearnedDuration, PlannedJob, clock_changes, forecast as foresee};
use ordo_model::job::{Block, Definition, Job, Pool, Run, RunStatus};
use ordo_model::limits::{
    FORECAST_BEHIND_JOBS_MAX, FORECAST_BEHIND_RUNS, FORECAST_FIRES_MAX, FORECAST_FIRES_PER_JOB_MAX, FORECAST_JOBS_MAX,
    FORECAST_LEARNED_JOBS_MAX, FORECAST_LEARNED_RUNS, FORECAST_PACE_FIRES,
};
use ordo_model::schedule::Occurrence;
use ordo_model::{JobId, Millis, Timestamp};
use ordo_store::Fault;
use uuid::Uuid;

use super::Engine;

/// A job that somebody thinks of adding, and how long they think it takes.
#[derive(Debug, Clone)]
pub struct ProposedJob {
    /// As `Definition::prepared` leaves it.
    pub definition: Definition,
    pub took: Option<Millis>,
}

/// What a forecast is made of, read once: it can be made with and without jobs that are only thought of.
#[derive(Debug, Clone)]
pub struct ForecastGround {
    jobs: Vec<PlannedJob>,
    groups: GroupPools,
    zones: BTreeMap<String, u32>,
    bounds: Vec<Timestamp>,
    /// Nothing fires before this moment.
    begin: Timestamp,
    limits: Vec<String>,
}

impl ForecastGround {
    /// With the jobs as they stand.
    pub fn as_it_stands(&self) -> Forecast {
        self.with(&self.jobs)
    }

    /// With jobs that are only thought of, too; they come first.
    pub fn with_proposed(&self, proposed: &[ProposedJob]) -> Forecast {
        let to = self.bounds.last().copied().unwrap_or(self.begin);
        let proposed = proposed.iter().map(|one| proposed_job(one, self.begin, to, &self.groups));
        self.with(&proposed.chain(self.jobs.iter().cloned()).collect::<Vec<_>>())
    }

    fn with(&self, jobs: &[PlannedJob]) -> Forecast {
        let found = foresee(jobs, &self.groups.pools, &self.bounds, self.begin);
        let named = self.zones.iter().map(|(name, count)| (name.as_str(), *count));
        let clock_changes = clock_changes(named, found.from, found.to);
        let is_exact = found.is_exact && self.limits.is_empty();
        Forecast { clock_changes, is_exact, limits: self.limits.clone(), ..found }
    }
}

/// The pools of a group that this process knows, by the place in the list.
#[derive(Debug, Clone)]
struct GroupPools {
    own_group: String,
    pools: Vec<ForecastPool>,
    of_group: BTreeMap<String, usize>,
}

impl GroupPools {
    fn place(&self, group: &str, pool: Pool) -> Option<usize> {
        match group == self.own_group {
            true => Some(if pool == Pool::Slow { 1 } else { 0 }),
            false => self.of_group.get(group).copied(),
        }
    }
}

impl Engine {
    /// What is known of the time between the first and the last of the bounds.
    pub async fn forecast(&self, bounds: Vec<Timestamp>) -> Result<ForecastGround, Fault> {
        let (Some(from), Some(to)) = (bounds.first().copied(), bounds.last().copied()) else {
            return Err(Fault::damaged("a forecast without a window".to_owned()));
        };
        let groups = self.group_pools().await?;
        let upcoming = self.queries().upcoming(to, FORECAST_JOBS_MAX, FORECAST_JOBS_MAX).await?;
        let mut limits = Vec::new();
        if !upcoming.is_loaded() {
            limits.push(format!("only the {FORECAST_JOBS_MAX} jobs that fire soonest are counted"));
        }
        let learned = self.learned(&upcoming.jobs, &mut limits).await?;
        let now = self.shared.clock.now();
        let (mut jobs, mut zones, mut room) = (Vec::new(), BTreeMap::new(), FORECAST_FIRES_MAX);
        for job in &upcoming.jobs {
            let planned = planned(job, from.max(now), to, learned.get(&job.id).copied(), &groups, now);
            if planned.fires.len() > room {
                limits.push(format!("only {FORECAST_FIRES_MAX} fires are counted"));
                break;
            }
            room -= planned.fires.len();
            note_zone(&mut zones, &job.definition);
            jobs.push(planned);
        }
        Ok(ForecastGround { jobs, groups, zones, bounds, begin: from.max(now), limits })
    }

    /// How long the last runs of jobs took that completed.
    async fn learned(&self, jobs: &[Job], limits: &mut Vec<String>) -> Result<BTreeMap<JobId, LearnedDuration>, Fault> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id).take(FORECAST_LEARNED_JOBS_MAX).collect();
        if jobs.len() > ids.len() {
            limits.push(format!("the durations of {FORECAST_LEARNED_JOBS_MAX} jobs are known, not of all"));
        }
        let recent = self.queries().recent_runs(&ids, FORECAST_LEARNED_RUNS).await?;
        // Of a job that has fallen behind the last runs all wait: what it takes is said by those before them.
        let is_behind = |runs: &[Run]| !runs.is_empty() && runs.iter().all(|run| run.finished_at.is_none());
        let mut behind: Vec<JobId> =
            ids.iter().zip(&recent).filter(|(_, runs)| is_behind(runs)).map(|(id, _)| *id).collect();
        if behind.len() > FORECAST_BEHIND_JOBS_MAX {
            limits.push(format!(
                "the durations of {FORECAST_BEHIND_JOBS_MAX} jobs that are behind are known, not of all"
            ));
            behind.truncate(FORECAST_BEHIND_JOBS_MAX);
        }
        let earlier = self.queries().recent_runs(&behind, FORECAST_BEHIND_RUNS).await?;
        let all = ids.iter().zip(&recent).chain(behind.iter().zip(&earlier));
        Ok(all.filter_map(|(id, runs)| Some((*id, learned_from(runs)?))).collect())
    }

    /// The two pools of each node, and what executors elsewhere offer to their groups.
    async fn group_pools(&self) -> Result<GroupPools, Fault> {
        let (own_group, sizes) = (self.group().to_owned(), self.options().pools);
        let nodes = self.nodes().await?.len().max(1);
        let slots = |of: usize| u32::try_from(of * nodes).unwrap_or(u32::MAX);
        let named =
            |pool: Pool, of: usize| ForecastPool { name: format!("{own_group}, {}", pool.name()), slots: slots(of) };
        let mut pools = vec![named(Pool::Fast, sizes.fast.slots), named(Pool::Slow, sizes.slow.slots)];
        let mut of_group: BTreeMap<String, usize> = BTreeMap::new();
        for listed in self.executors().await?.iter().filter(|listed| listed.executor.presence == Presence::Alive) {
            let (group, capacity) = (&listed.executor.offer.group, listed.executor.offer.capacity);
            let place = match *group == own_group {
                true => 0,
                false => *of_group.entry(group.clone()).or_insert_with(|| {
                    pools.push(ForecastPool { name: group.clone(), slots: 0 });
                    pools.len() - 1
                }),
            };
            pools[place].slots = pools[place].slots.saturating_add(capacity);
        }
        Ok(GroupPools { own_group, pools, of_group })
    }
}

/// How long those of the runs took that completed.
fn learned_from(runs: &[Run]) -> Option<LearnedDuration> {
    let took = |run: &Run| {
        let is_good = matches!(run.status, RunStatus::Completed { .. });
        run.started_at.zip(run.finished_at).filter(|_| is_good).map(|(start, end)| end.since(start))
    };
    LearnedDuration::learn(runs.iter().filter_map(took).take(FORECAST_LEARNED_RUNS).collect())
}

fn planned(
    job: &Job,
    from: Timestamp,
    to: Timestamp,
    took: Option<LearnedDuration>,
    groups: &GroupPools,
    now: Timestamp,
) -> PlannedJob {
    let (fires, count, is_steady) = counted(job.fires_between(from, to, FORECAST_FIRES_PER_JOB_MAX + 1));
    PlannedJob {
        id: Some(job.id),
        label: job.definition.label.clone(),
        pool: groups.place(&job.definition.group, job.pace.seen_at(now).pool()),
        took,
        fires,
        count,
        is_steady,
        at_once: at_once(&job.definition),
    }
}

fn proposed_job(one: &ProposedJob, from: Timestamp, to: Timestamp, groups: &GroupPools) -> PlannedJob {
    let definition = &one.definition;
    let schedule = definition.trigger.schedule();
    let found = schedule.map(|schedule| schedule.between(from, to, FORECAST_FIRES_PER_JOB_MAX + 1, Uuid::nil()));
    let (fires, count, is_steady) = counted(found.unwrap_or_default());
    PlannedJob {
        id: None,
        label: definition.label.clone(),
        pool: groups.place(&definition.group, Pool::Fast),
        took: one.took.map(LearnedDuration::said),
        fires,
        count,
        is_steady,
        at_once: at_once(definition),
    }
}

/// The fires, how many there are at least, and whether there are more than are counted.
fn counted(found: Vec<Occurrence>) -> (Vec<Timestamp>, u32, bool) {
    let is_steady = found.len() > FORECAST_FIRES_PER_JOB_MAX;
    let count = u32::try_from(found.len().min(FORECAST_FIRES_PER_JOB_MAX)).unwrap_or(u32::MAX);
    let kept = if is_steady { FORECAST_PACE_FIRES } else { found.len() };
    (found.into_iter().take(kept).map(|occurrence| occurrence.due).collect(), count, is_steady)
}

fn at_once(definition: &Definition) -> u32 {
    match definition.block {
        Block::Serial | Block::Discard | Block::Cover => 1,
        Block::Concurrent { max } => max,
    }
}

fn note_zone(zones: &mut BTreeMap<String, u32>, definition: &Definition) {
    if let Some(schedule) = definition.trigger.schedule() {
        *zones.entry(schedule.rule.zone().to_owned()).or_default() += 1;
    }
}
