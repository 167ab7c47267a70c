//! What is broken now: jobs whose last run failed.
//!
//! Invariant: a bounded number of failed runs is looked at, newest first, at most once in a while for all pages; where
//! that was not all of them, the count says so.

use std::sync::Arc;

use ordo_engine::job_list::{JobFilter, JobOrder, JobQuery};
use ordo_model::Millis;
use ordo_model::job::{Job, JobState};
use ordo_store::Fault;

use crate::app::App;
use crate::pages::runs::outcome::Counted;

/// How many failing jobs are counted one by one; there may be more.
pub(crate) const FAILING_MAX: usize = 100;
/// How old the list may be.
const FRESH: Millis = Millis::from_ms(1_000);

/// Jobs whose last run failed and that may run again, the latest failure first.
#[derive(Debug, Default)]
pub(crate) struct Failing {
    pub(crate) jobs: Vec<Job>,
    /// There may be more than these.
    is_cut: bool,
}

impl Failing {
    pub(crate) fn count(&self) -> Counted {
        Counted { count: self.jobs.len(), is_exact: !self.is_cut }
    }
}

pub(crate) async fn failing(app: &App) -> Result<Arc<Failing>, Fault> {
    app.kept.failing.fresh(app.now(), FRESH, look(app)).await
}

pub(crate) async fn failing_count(app: &App) -> Result<Counted, Fault> {
    failing(app).await.map(|found| found.count())
}

async fn look(app: &App) -> Result<Failing, Fault> {
    let filter = JobFilter { last: Some("failed"), ..JobFilter::default() };
    let query = JobQuery { filter, order: JobOrder::Newest, after: None, limit: FAILING_MAX };
    let page = app.engine.queries().jobs(&query).await?;
    let is_cut = page.next.is_some();
    Ok(Failing { jobs: page.items.into_iter().filter(|job| job.state() != JobState::Cancelled).collect(), is_cut })
}
