//! A run as a row of a list.

use ordo_model::job::{Job, Run, RunStatus};

use crate::http::problem::Problem;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::{Times, length};
use crate::pages::runs::outcome::{Badge, cause, reason, shortened};

const REASON_CHARS: usize = 110;

#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    pub(crate) id: String,
    pub(crate) short: String,
    pub(crate) href: String,
    pub(crate) job_href: String,
    pub(crate) label: String,
    pub(crate) badge: Badge,
    pub(crate) reason: Option<String>,
    pub(crate) fired: Html,
    pub(crate) fired_exact: Html,
    /// How long it took, or takes so far.
    pub(crate) took: Option<Html>,
    pub(crate) lateness: Option<String>,
    pub(crate) is_late: bool,
    pub(crate) cause: &'static str,
    pub(crate) attempt: u32,
}

impl RunRow {
    pub(crate) fn of(ctx: &PageContext, run: &Run) -> RunRow {
        RunRow::at(ctx, run, &ctx.times())
    }

    pub(crate) fn at(ctx: &PageContext, run: &Run, times: &Times) -> RunRow {
        let took = match (run.started_at, run.finished_at) {
            (Some(start), Some(end)) => Some(Html::new().text(&length(end.ms() - start.ms()))),
            (Some(start), None) => Some(times.elapsed(start)),
            (None, _) => None,
        };
        RunRow {
            id: run.id.to_string(),
            short: short_id(&run.id.to_string()),
            href: ctx.link(&format!("/runs/{}", run.id)),
            job_href: ctx.link(&format!("/jobs/{}", run.job_id)),
            label: run.label.clone(),
            badge: Badge::of_status(&run.status),
            reason: reason(&run.status).map(|text| shortened(&text, REASON_CHARS)),
            fired: times.ago(run.fired_at),
            fired_exact: times.short(run.fired_at),
            took,
            lateness: run.lateness_ms.map(|ms| length(ms.max(0))),
            is_late: !run.timeliness.is_on_time(),
            cause: cause(run),
            attempt: run.attempt,
        }
    }
}

/// Rows of a list; a pending run says what it waits for.
pub(crate) async fn rows(ctx: &PageContext, runs: &[Run]) -> Result<Vec<RunRow>, Problem> {
    let jobs = ctx.app.engine.queries().jobs_of_pending(runs).await?;
    let row = |run: &Run| {
        let row = RunRow::of(ctx, run);
        let waiting = || jobs.get(&run.job_id).and_then(|job| waits(ctx, job, run));
        let is_pending = matches!(run.status, RunStatus::Pending { .. });
        RunRow { reason: row.reason.or_else(|| if is_pending { waiting() } else { None }), ..row }
    };
    Ok(runs.iter().map(row).collect())
}

/// What a pending run waits for, as a reason.
pub(crate) fn waits(ctx: &PageContext, job: &Job, run: &Run) -> Option<String> {
    ctx.app.engine.waits_for(job, run.id).map(|what| format!("waiting for {what}"))
}

/// The end of an id: its beginning is the time, which many have in common.
pub(crate) fn short_id(id: &str) -> String {
    id.chars().rev().take(8).collect::<Vec<char>>().into_iter().rev().collect()
}
