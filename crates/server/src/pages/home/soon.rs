//! What is about to fire: the next minute as a ring, the next day as columns.
//!
//! Invariant: a number is exact, or says that it is the least: jobs beyond what was read, and fires beyond what is
//! counted of one job, make it so.

use std::sync::Arc;

use ordo_engine::upcoming::Upcoming;
use ordo_model::job::Job;
use ordo_model::limits::MISFIRE_WINDOW;
use ordo_model::{Millis, Timestamp};
use ordo_store::Fault;

use crate::app::App;
use crate::pages::charts::ring::Fire;
use crate::pages::layout::context::PageContext;
use crate::pages::runs::outcome::Counted;

/// How many jobs are loaded to say when they fire, and how many are known at all.
const JOBS_LOADED: usize = 500;
const JOBS_KNOWN: usize = 10_000;
/// How many fires of one job, and of all, the ring looks at.
const FIRES_PER_JOB: usize = 120;
const FIRES_MAX: usize = 5_000;
/// How old what is shown of the next minute and of the next day may be.
const MINUTE_FRESH: Millis = Millis::from_ms(1_000);
const DAY_FRESH: Millis = Millis::from_secs(15);

pub(crate) const MINUTE: Millis = Millis::from_secs(60);
pub(crate) const DAY: Millis = Millis::from_hours(24);

/// What fires within a minute.
pub(crate) struct NextMinute {
    /// Soonest first.
    pub(crate) fires: Vec<Fire>,
    pub(crate) count: Counted,
    /// Jobs whose time has come and gone without anything being decided, the latest first.
    pub(crate) late: Vec<Job>,
}

pub(crate) async fn next_day(app: &App, now: Timestamp) -> Result<Arc<Upcoming>, Fault> {
    let read = app.engine.queries().upcoming(now.plus(DAY), JOBS_LOADED, JOBS_KNOWN);
    app.kept.next_day.fresh(now, DAY_FRESH, read).await
}

pub(crate) async fn next_minute(ctx: &PageContext, now: Timestamp) -> Result<NextMinute, Fault> {
    let read = ctx.app.engine.queries().upcoming(now.plus(MINUTE), JOBS_LOADED, JOBS_KNOWN);
    let upcoming = ctx.app.kept.next_minute.fresh(now, MINUTE_FRESH, read).await?;
    let end = now.plus(MINUTE);
    let (mut fires, mut is_exact) = (Vec::new(), upcoming.is_loaded());
    for job in &upcoming.jobs {
        let found = job.fires_between(now, end, FIRES_PER_JOB + 1);
        is_exact &= found.len() <= FIRES_PER_JOB && fires.len() < FIRES_MAX;
        let room = FIRES_MAX.saturating_sub(fires.len()).min(FIRES_PER_JOB);
        fires.extend(found.into_iter().take(room).map(|one| fire(ctx, job, one.due)));
    }
    fires.sort_by_key(|fire| fire.at);
    let beyond = upcoming.others.iter().filter(|minute| **minute >= now && **minute < end).count();
    let count = Counted { count: fires.len() + beyond, is_exact };
    let is_late = |job: &&Job| job.next_tick_at().is_some_and(|at| at.plus(MISFIRE_WINDOW) < now);
    Ok(NextMinute { fires, count, late: upcoming.jobs.iter().filter(is_late).cloned().collect() })
}

fn fire(ctx: &PageContext, job: &Job, at: Timestamp) -> Fire {
    Fire {
        at,
        label: job.definition.label.clone(),
        href: ctx.link(&format!("/jobs/{}", job.id)),
        is_failing: job.history.failures_in_row > 0,
    }
}
