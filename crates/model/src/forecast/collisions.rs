//! Jobs that fire in the same minute, and jobs that meet themselves.
//!
//! Invariant: the same jobs are named once, with how often they meet. Jobs that fire more often than is counted are left
//! out: they meet everybody.

use std::collections::BTreeMap;

use super::{Collision, PlannedJob, SelfOverlap, count};
use crate::limits::FORECAST_SHOWN_MAX;
use crate::time::Timestamp;

const MINUTE_MS: i64 = 60_000;
/// How many labels of those that fire together are given.
const NAMED_MAX: usize = 10;

/// The jobs that fire in the same minutes, most jobs first.
pub(super) fn together(jobs: &[PlannedJob]) -> Vec<Collision> {
    let mut minutes: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (place, job) in jobs.iter().enumerate().filter(|(_, job)| !job.is_steady) {
        for fire in &job.fires {
            let of_minute = minutes.entry(fire.ms().div_euclid(MINUTE_MS)).or_default();
            if of_minute.last() != Some(&place) {
                of_minute.push(place);
            }
        }
    }
    // The same jobs meet again and again: every night, for example.
    let mut met: BTreeMap<Vec<usize>, (i64, u32)> = BTreeMap::new();
    for (minute, places) in minutes.into_iter().filter(|(_, places)| places.len() > 1) {
        met.entry(places).or_insert((minute, 0)).1 += 1;
    }
    let collision = |(places, (minute, times)): (Vec<usize>, (i64, u32))| Collision {
        at: Timestamp::from_ms(minute * MINUTE_MS).unwrap_or(Timestamp::MIN),
        times,
        count: count(places.len()),
        jobs: places.iter().take(NAMED_MAX).map(|place| jobs[*place].label.clone()).collect(),
    };
    let mut found: Vec<Collision> = met.into_iter().map(collision).collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.count), std::cmp::Reverse(one.times), one.at));
    found.truncate(FORECAST_SHOWN_MAX);
    found
}

/// The jobs whose next fire comes before their run is likely to be over, those that meet most often first.
pub(super) fn with_itself(jobs: &[PlannedJob]) -> Vec<SelfOverlap> {
    let overlap = |job: &PlannedJob| {
        let typical = job.took?.typical;
        let mut meetings = job.fires.windows(2).filter(|two| two[0].plus(typical) > two[1]);
        let first = meetings.next()?;
        Some(SelfOverlap {
            label: job.label.clone(),
            at: first[1],
            times: 1 + count(meetings.count()),
            apart: first[1].since(first[0]),
            typical,
        })
    };
    let mut found: Vec<SelfOverlap> = jobs.iter().filter_map(overlap).collect();
    found.sort_by(|a, b| (b.times, a.at, &a.label).cmp(&(a.times, b.at, &b.label)));
    found.truncate(FORECAST_SHOWN_MAX);
    found
}
