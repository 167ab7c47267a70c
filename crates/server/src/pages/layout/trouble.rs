//! What is broken now: jobs whose last run failed.
//!
//! Invariant: a bounded number of failed runs is looked at, newest first, at most once in a while for all pages.

use std::sync::{Arc, Mutex, PoisonError};

use ordo_engine::job_list::{JobFilter, JobOrder, JobQuery};
use ordo_model::job::{Job, JobState};
use ordo_model::{Millis, Timestamp};
use ordo_store::Fault;

use crate::app::App;

/// How many failing jobs are counted one by one; there may be more.
pub(crate) const FAILING_MAX: usize = 100;
/// How old the list may be.
const FRESH: Millis = Millis::from_ms(1_000);

/// What the pages remember between requests.
#[derive(Debug, Default)]
pub(crate) struct PageCaches {
    failing: Mutex<Option<(Timestamp, Arc<Vec<Job>>)>>,
}

/// Jobs whose last run failed and that may run again, the latest failure first.
pub(crate) async fn failing(app: &App) -> Result<Arc<Vec<Job>>, Fault> {
    let kept = app.kept.failing.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match kept {
        Some((at, found)) if app.now().since(at) < FRESH => Ok(found),
        Some(_) | None => look(app).await,
    }
}

pub(crate) async fn failing_count(app: &App) -> Result<usize, Fault> {
    failing(app).await.map(|found| found.len())
}

async fn look(app: &App) -> Result<Arc<Vec<Job>>, Fault> {
    let filter = JobFilter { last: Some("failed"), ..JobFilter::default() };
    let query = JobQuery { filter, order: JobOrder::Newest, after: None, limit: FAILING_MAX };
    let page = app.engine.queries().jobs(&query).await?;
    let found: Vec<Job> = page.items.into_iter().filter(|job| job.state() != JobState::Cancelled).collect();
    let found = Arc::new(found);
    *app.kept.failing.lock().unwrap_or_else(PoisonError::into_inner) = Some((app.now(), found.clone()));
    Ok(found)
}
