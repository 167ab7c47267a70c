//! The runs of a window on a line of time.

use ordo_engine::run_list::RunFilter;
use ordo_engine::run_list::window::{RUNS_SHOWN, RunWindow};
use ordo_model::{Millis, Timestamp};

use crate::http::problem::Problem;
use crate::pages::charts::gantt::{self, Gantt, RowsBy, TimeSpan};
use crate::pages::charts::histogram;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment;
use crate::pages::layout::shell::queries;
use crate::pages::runs::outcome::grouped;
use crate::pages::runs::search::RunSearch;

/// How much is shown when nobody said how much.
const SPAN_DEFAULT: Millis = Millis::from_hours(1);

pub(crate) struct Timeline {
    /// What is drawn: shorter than what was asked for where too much runs.
    pub(crate) span: TimeSpan,
    pub(crate) gantt: Gantt,
    pub(crate) axis: Vec<String>,
    pub(crate) from: Html,
    pub(crate) to: Html,
    /// (label, address, whether it is chosen)
    pub(crate) rows_by: [(&'static str, String, bool); 2],
    pub(crate) earlier: String,
    pub(crate) later: Option<String>,
    /// What is not shown.
    pub(crate) notes: Vec<String>,
}

/// The window that is drawn.
pub(crate) fn span(filter: &RunFilter, now: Timestamp) -> TimeSpan {
    let to = filter.until.unwrap_or(now);
    TimeSpan { from: filter.since.unwrap_or_else(|| to.minus(SPAN_DEFAULT)), to }
}

pub(crate) async fn read(
    ctx: &PageContext,
    search: &RunSearch,
    filter: &RunFilter,
    span: TimeSpan,
) -> Result<Timeline, Problem> {
    let times = ctx.times();
    let by = if search.get("rows") == "executor" { RowsBy::Executor } else { RowsBy::Job };
    let mut found = queries(ctx).runs_under_way(filter, span.from, span.to).await?;
    let mut span = span;
    // Nobody has asked for that beginning: where so much runs, a shorter time is shown, and that in full.
    let newest = found.runs.iter().map(|run| run.fired_at).filter(|at| *at > span.from).min();
    // Of those that were fired in that very moment some may be missing.
    let shortened = newest.filter(|_| found.is_cut && filter.since.is_none()).map(|at| at.moved(1));
    let shortened = shortened.filter(|from| *from < span.to);
    if let Some(from) = shortened {
        span.from = from;
        found = queries(ctx).runs_under_way(filter, from, span.to).await?;
    }
    let gantt = gantt::draw(
        &found.runs,
        by,
        span,
        &times,
        |run| ctx.link(&format!("/runs/{}", run.id)),
        |run| match by {
            RowsBy::Job => Some(ctx.link(&format!("/jobs/{}", run.job_id))),
            RowsBy::Executor => None,
        },
    );
    let length = span.to.since(span.from);
    let between = |from: Timestamp, to: Timestamp| {
        ctx.link(&search.with(&[("since", &from.to_string()), ("until", &to.to_string())]).address())
    };
    let later = span.to.plus(length).min(ctx.now);
    Ok(Timeline {
        span,
        axis: histogram::axis(span.from, span.to, &times),
        from: times.short(span.from),
        to: times.short(span.to),
        rows_by: [
            ("Job", ctx.link(&search.with(&[("rows", "")]).address()), by == RowsBy::Job),
            ("Executor", ctx.link(&search.with(&[("rows", "executor")]).address()), by == RowsBy::Executor),
        ],
        earlier: between(span.from.minus(length), span.from),
        // As long as it was, also where it meets the present: whoever pages to and fro keeps the scale.
        later: (later > span.to).then(|| between(later.minus(length), later)),
        notes: shortened
            .map(|_| format!("Too many runs to show more than {} of them.", moment::length(shown_ms(length))))
            .into_iter()
            .chain(notes(&found, &gantt, by, &times))
            .collect(),
        gantt,
    })
}

fn shown_ms(length: Millis) -> i64 {
    i64::try_from(length.ms()).unwrap_or(i64::MAX)
}

fn notes(found: &RunWindow, gantt: &Gantt, by: RowsBy, times: &crate::pages::layout::moment::Times) -> Vec<String> {
    let mut notes = Vec::new();
    if found.is_cut {
        notes.push(format!("Only the newest {} runs are shown: choose a shorter time.", grouped(RUNS_SHOWN)));
    }
    if let Some(seen) = found.seen_from {
        notes.push(format!(
            "Runs fired before {} that ended in this time are not shown.",
            times.local(seen).strftime("%b %d, %H:%M:%S")
        ));
    }
    if gantt.left_out > 0 {
        let what = if by == RowsBy::Job { "jobs" } else { "executors" };
        notes.push(format!("{} more {what} are not shown: narrow the search.", grouped(gantt.left_out)));
    }
    notes
}
