//! One run: where it stands, its attempts, what went in and came out, and its log.

use askama::Template;
use axum::extract::Form;
use axum::response::Response;
use ordo_model::job::{Cause, Command, Event, Run, RunStatus};
use ordo_model::{RunId, Timestamp};

use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::jobs::actions::{FormFields, field};
use crate::pages::jobs::history;
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::json_view;
use crate::pages::layout::moment::{Times, length};
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::log::{self, LogFilter, LogPart};
use crate::pages::runs::outcome::{Badge, cause, reason};
use crate::pages::runs::row::{RunRow, short_id};

/// How many events of the job's stream are looked at for those of this run.
const EVENTS_READ: usize = 400;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    shell: PageShell,
    id: String,
    short: String,
    label: String,
    job_href: String,
    runs_href: String,
    badge: Badge,
    reason: Option<String>,
    is_over: bool,
    can_cancel: bool,
    cause: &'static str,
    retry_of: Option<(String, String)>,
    scheduled_for: Option<Html>,
    fired: Html,
    started: Option<Html>,
    finished: Option<Html>,
    took: Option<Html>,
    lateness: Option<String>,
    is_late: bool,
    attempt: u32,
    executor: Option<String>,
    group: Option<String>,
    /// (which, of how many), of a share.
    shard: Option<(String, String)>,
    /// The run that this is a share of.
    parent: Option<(String, String)>,
    shares: Vec<Share>,
    /// What a pending run waits for.
    waiting: Option<String>,
    steps: Vec<RunStep>,
    input: Html,
    input_from: &'static str,
    result: Option<Html>,
    log: LogPart,
}

/// One share of a run that went to all executors.
struct Share {
    index: u32,
    href: String,
    short: String,
    badge: Badge,
    executor: String,
    reason: Option<String>,
    took: Option<Html>,
}

/// One entry of the timeline.
struct RunStep {
    class: &'static str,
    at: Html,
    text: String,
    /// Since the step before.
    after: Option<String>,
}

pub(crate) async fn show(ctx: PageContext, Named(id): Named<RunId>, mut params: Params) -> Result<Response, Problem> {
    let run = queries(&ctx).run_with_result(id).await?.ok_or_else(|| Problem::no_run(id))?;
    let job = ctx.app.engine.job(run.job_id).await?;
    let times = job.as_ref().map_or_else(|| ctx.times(), |job| ctx.times().of_job(job));
    let mut text = |name: &str| params.take_text(name).unwrap_or_default();
    let shown = LogFilter { stream: text("stream"), attempt: text("attempt") };
    let events = events(&ctx, &run).await?;
    let steps = steps(&events, run.id, &times);
    let took = match (run.started_at, run.finished_at) {
        (Some(start), Some(end)) => Some(Html::new().text(&length(end.ms() - start.ms()))),
        (Some(start), None) => Some(times.elapsed(start)),
        (None, _) => None,
    };
    let input = run.tool_input.clone().or_else(|| job.as_ref().map(|job| job.definition.tool_input.clone()));
    let retry_of = match run.cause {
        Cause::Retry { of, .. } | Cause::After { of, .. } => {
            Some((ctx.link(&format!("/runs/{of}")), short_id(&of.to_string())))
        }
        Cause::Schedule { .. } | Cause::Manual | Cause::Backfill { .. } | Cause::Webhook { .. } => None,
    };
    let page = RunPage {
        shell: PageShell::new(&ctx, NavSection::Runs, format!("{} · run {}", run.label, short_id(&id.to_string())))
            .await?,
        id: id.to_string(),
        short: short_id(&id.to_string()),
        label: run.label.clone(),
        job_href: ctx.link(&format!("/jobs/{}", run.job_id)),
        runs_href: ctx.link(&format!("/runs?status=&job={}", run.job_id)),
        badge: Badge::of_status(&run.status),
        reason: reason(&run.status),
        is_over: run.status.is_terminal(),
        can_cancel: !matches!(run.status, RunStatus::Running { cancelling: Some(_) }) && !run.status.is_terminal(),
        cause: cause(&run),
        retry_of,
        scheduled_for: run.scheduled_for.map(|at| times.exact(at)),
        fired: times.exact(run.fired_at),
        started: run.started_at.map(|at| times.exact(at)),
        finished: run.finished_at.map(|at| times.exact(at)),
        took,
        lateness: run.lateness_ms.map(|ms| length(ms.max(0))),
        is_late: !run.timeliness.is_on_time(),
        attempt: run.attempt,
        executor: run.executor.clone(),
        group: job.as_ref().map(|job| job.definition.group.clone()),
        shard: run.shard.as_ref().map(|shard| (shard.index.to_string(), shard.total.to_string())),
        parent: run.parent_id.map(|of| (ctx.link(&format!("/runs/{of}")), short_id(&of.to_string()))),
        shares: shares(&ctx, &events, run.id, &times).await?,
        waiting: job.as_ref().and_then(|job| ctx.app.engine.waits_for(job, run.id)).map(|cause| cause.to_string()),
        steps,
        input: json_view::draw(&input.unwrap_or_default()),
        input_from: input_from(&run),
        result: result(&run),
        log: log::read(&ctx, &run, &shown, &times).await?,
    };
    answer::ok(&page)
}

/// Where the input of a run comes from.
const fn input_from(run: &Run) -> &'static str {
    match (&run.tool_input, &run.cause) {
        (None, _) => "of the job, as it is now",
        (Some(_), Cause::Manual) => "given by hand",
        (Some(_), Cause::Webhook { .. }) => "from the delivery",
        (Some(_), Cause::After { .. }) => "from the run before it in the chain",
        (Some(_), Cause::Retry { .. }) => "of the run that it repeats",
        (Some(_), Cause::Schedule { .. } | Cause::Backfill { .. }) => "of this run",
    }
}

fn result(run: &Run) -> Option<Html> {
    match &run.status {
        RunStatus::Completed { result, .. } => Some(json_view::draw(result)),
        RunStatus::Pending { .. }
        | RunStatus::Running { .. }
        | RunStatus::Failed { .. }
        | RunStatus::Cancelled { .. }
        | RunStatus::Skipped { .. } => None,
    }
}

/// What the job's stream says since the run began, oldest first.
async fn events(ctx: &PageContext, run: &Run) -> Result<Vec<(Timestamp, Event)>, Problem> {
    let (stored, _) = queries(ctx).history(run.job_id.into(), run.version, EVENTS_READ).await?;
    Ok(stored.iter().filter_map(|stored| Some((stored.at, history::event_of(stored)?))).collect())
}

fn steps(events: &[(Timestamp, Event)], run: RunId, times: &Times) -> Vec<RunStep> {
    let mut before: Option<i64> = None;
    let own = events.iter().filter(|(_, event)| history::run_of(event) == Some(run));
    let step = |(at, event): &(Timestamp, Event)| {
        let after = before.replace(at.ms()).map(|before| length(at.ms() - before));
        RunStep { class: history::class(event), at: times.short(*at), text: history::describe(event, *at), after }
    };
    own.map(step).collect()
}

/// The shares that the run became, if it went to all executors.
async fn shares(
    ctx: &PageContext,
    events: &[(Timestamp, Event)],
    of: RunId,
    times: &Times,
) -> Result<Vec<Share>, Problem> {
    let mut shares = Vec::new();
    for (_, event) in events {
        if let Event::ShardTriggered { run_id, parent, index, executor } = event
            && *parent == of
            && let Some(run) = queries(ctx).run(*run_id).await?
        {
            let row = RunRow::at(ctx, &run, times);
            let executor = run.executor.unwrap_or_else(|| format!("meant for {}", executor.executor));
            let RunRow { href, short, badge, reason, took, .. } = row;
            shares.push(Share { index: *index, href, short, badge, executor, reason, took });
        }
    }
    Ok(shares)
}

pub(crate) async fn cancel(ctx: PageContext, Named(id): Named<RunId>, Form(fields): FormFields) -> Response {
    let done = cancelled(&ctx, id).await;
    let own = format!("/runs/{id}");
    let to = field(&fields, "back").unwrap_or(&own);
    match done {
        Ok(()) => ctx.go(to, &Flash::good("The run is being stopped")),
        Err(problem) => ctx.go(to, &Flash::bad(problem.detail)),
    }
}

async fn cancelled(ctx: &PageContext, id: RunId) -> Result<(), Problem> {
    ctx.operator()?;
    let run = crate::api::runs::find(&ctx.app, id).await?;
    let command = Command::CancelRun { run_id: id, reason: format!("cancelled by {}", ctx.viewer.name) };
    ctx.app.engine.submit(run.job_id, command).await?;
    Ok(())
}

/// Leads to the new run.
pub(crate) async fn retry(ctx: PageContext, Named(id): Named<RunId>) -> Response {
    match retried(&ctx, id).await {
        Ok(run) => ctx.go(&format!("/runs/{run}"), &Flash::good("Running again")),
        Err(problem) => ctx.go(&format!("/runs/{id}"), &Flash::bad(problem.detail)),
    }
}

async fn retried(ctx: &PageContext, id: RunId) -> Result<RunId, Problem> {
    ctx.operator()?;
    let run = crate::api::runs::find(&ctx.app, id).await?;
    let accepted = ctx.app.engine.retry(run).await?;
    let is_mine = |run: &&Run| matches!(run.cause, Cause::Retry { of, .. } if of == id);
    Ok(accepted.runs.iter().filter(is_mine).max_by_key(|run| run.version).map_or(id, |run| run.id))
}
