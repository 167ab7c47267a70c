//! The runs that were under way at some moment of a window: what a timeline draws.
//!
//! Invariant: the cost is bounded. What lies beyond is said: `is_cut` when more was fired in the window than is shown,
//! `seen_from` when runs fired before that moment may be missing that ended inside it. What is still under way is there in
//! any case, up to as many as are looked back for.

use std::collections::BTreeMap;

use ordo_model::job::{Run, RunStatus};
use ordo_model::{RunId, Timestamp};
use ordo_store::Fault;

use crate::read::page::ListPage;
use crate::read::queries::Queries;
use crate::read::run_list::RunFilter;

/// How many runs of a window are shown, and how many that were fired before it are looked at.
pub const RUNS_SHOWN: usize = 600;
pub const RUNS_LOOKED_BACK: usize = 500;

#[derive(Debug, Clone, Default)]
pub struct RunWindow {
    /// In the order in which they were fired.
    pub runs: Vec<Run>,
    pub is_cut: bool,
    pub seen_from: Option<Timestamp>,
}

impl Queries {
    /// The runs that fit and were waiting or running between the two moments.
    pub async fn runs_under_way(&self, filter: &RunFilter, from: Timestamp, to: Timestamp) -> Result<RunWindow, Fault> {
        let inside = RunFilter { since: Some(from), until: Some(to), ..filter.clone() };
        let page = self.runs(&inside, None, RUNS_SHOWN).await?;
        let mut found: BTreeMap<RunId, Run> = page.items.into_iter().map(|run| (run.id, run)).collect();
        let before = RunFilter { since: None, until: Some(from), ..filter.clone() };
        let earlier = RunFilter { job_id: filter.job_id, until: Some(from), ..RunFilter::default() };
        // Where the earliest of the window itself are not shown, those before it would stand alone.
        let looked_back = match page.next {
            Some(_) => ListPage::default(),
            None => self.runs(&earlier, None, RUNS_LOOKED_BACK).await?,
        };
        let seen_from = looked_back.next.and(looked_back.items.last().map(|run| run.fired_at));
        // What is still under way is found however long ago it began.
        let mut open = Vec::new();
        for status in ["pending", "running"] {
            let of_status = RunFilter { status: RunStatus::code_of(status), ..before.clone() };
            if filter.status.is_none_or(|code| of_status.status == Some(code)) {
                open.extend(self.runs(&of_status, None, RUNS_LOOKED_BACK).await?.items);
            }
        }
        let reaches_in = |run: &Run| run.finished_at.is_none_or(|end| end > from) && before.fits(run);
        found.extend(looked_back.items.into_iter().chain(open).filter(reaches_in).map(|run| (run.id, run)));
        Ok(RunWindow { runs: found.into_values().collect(), is_cut: page.next.is_some(), seen_from })
    }
}
