//! How many runs were fired when, and how they stand: the picture above the list of runs.
//!
//! Invariant: the cost is bounded, one read of rows and one of runs: of each bin a bounded number of runs is looked at,
//! the newest. A bin that holds more says so; its count is then the least, and `seen_from` tells from when on it counts.

use ordo_model::job::{Run, RunStatus};
use ordo_model::{Millis, Timestamp};
use ordo_store::{Direction, Fault, KeyRange};

use crate::read::queries::Queries;
use crate::read::run_list::RunFilter;

/// How many bins a histogram has at most, and how many runs of each are looked at.
pub const BINS_MAX: usize = 60;
pub const RUNS_PER_BIN: usize = 200;

const STATUSES: usize = RunStatus::NAMES.len();

/// From `from` to before `to`, in equal bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinnedWindow {
    pub from: Timestamp,
    pub bin: Millis,
    pub bins: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramBin {
    pub from: Timestamp,
    pub to: Timestamp,
    /// By the code of the status.
    pub counts: [u32; STATUSES],
    /// Set where there are more runs than were looked at: those fired from this moment on are counted.
    pub seen_from: Option<Timestamp>,
}

impl BinnedWindow {
    pub fn to(&self) -> Timestamp {
        self.bound(self.bins)
    }

    fn bound(&self, place: usize) -> Timestamp {
        self.from.plus(self.bin.saturating_mul(place as u64))
    }
}

impl HistogramBin {
    pub fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// How many there are if all of the bin is like the part of it that was looked at. The total, where that is exact.
    pub fn estimate(&self) -> u32 {
        let Some(seen) = self.seen_from else { return self.total() };
        let (whole, part) = (self.to.since(self.from).ms().max(1), self.to.since(seen).ms().max(1));
        let scaled = u64::from(self.total()).saturating_mul(whole) / part;
        u32::try_from(scaled).unwrap_or(u32::MAX).max(self.total())
    }
}

impl Queries {
    /// The runs that fit, by when they were fired. The times of the filter are those of the window.
    pub async fn run_histogram(&self, filter: &RunFilter, window: BinnedWindow) -> Result<Vec<HistogramBin>, Fault> {
        let (view, prefix) = filter.index();
        let bins: Vec<(Timestamp, Timestamp)> =
            (0..window.bins.min(BINS_MAX)).map(|place| (window.bound(place), window.bound(place + 1))).collect();
        let part = |(from, to): &(Timestamp, Timestamp)| {
            RunFilter { since: Some(*from), until: Some(*to), ..filter.clone() }.range(&prefix)
        };
        let ranges: Vec<KeyRange> = bins.iter().map(part).collect();
        let rows = self.store().rows_of_ranges(view, &ranges, Direction::Descending, RUNS_PER_BIN + 1).await?;
        let sizes: Vec<usize> = rows.iter().map(Vec::len).collect();
        let mut runs = self.runs_of_rows(view, &rows.concat()).await?.into_iter();
        let of_bin = |((from, to), size): (&(Timestamp, Timestamp), usize)| {
            let found: Vec<Run> = runs.by_ref().take(size).flatten().collect();
            counted(filter, *from, *to, &found, size > RUNS_PER_BIN)
        };
        Ok(bins.iter().zip(sizes).map(of_bin).collect())
    }
}

/// `runs`: newest first; the last of them is not counted where there are more.
fn counted(filter: &RunFilter, from: Timestamp, to: Timestamp, runs: &[Run], is_cut: bool) -> HistogramBin {
    let filter = RunFilter { since: Some(from), until: Some(to), ..filter.clone() };
    let seen = if is_cut { &runs[..runs.len().saturating_sub(1)] } else { runs };
    let mut counts = [0; STATUSES];
    for run in seen.iter().filter(|run| filter.fits(run)) {
        counts[usize::from(run.status.code())] += 1;
    }
    let seen_from = is_cut.then(|| seen.last().map_or(to, |run| run.fired_at));
    HistogramBin { from, to, counts, seen_from }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms).unwrap()
    }

    #[test]
    fn a_bin_that_was_seen_in_part_is_estimated_from_that_part_and_never_below_it() {
        let bin = |counts, seen_from| HistogramBin { from: at(0), to: at(1_000), counts, seen_from };
        assert_eq!(bin([0, 0, 3, 0, 0, 0], None).estimate(), 3);
        assert_eq!(bin([0, 0, 150, 50, 0, 0], Some(at(900))).estimate(), 2_000);
        assert_eq!(bin([0, 0, 200, 0, 0, 0], Some(at(1_000))).estimate(), 200_000);
        assert_eq!(bin([0; 6], Some(at(990))).estimate(), 0);
    }

    #[test]
    fn bins_lie_side_by_side() {
        let window = BinnedWindow { from: at(0), bin: Millis::from_ms(250), bins: 4 };
        assert_eq!((window.bound(1), window.to()), (at(250), at(1_000)));
    }
}
