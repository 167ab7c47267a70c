//! One run: where it stands, its attempts, what went in and came out, and its log.

use askama::Template;
use axum::extract::Form;
use axum::response::Response;
use ordo_model::RunId;
use ordo_model::job::{Cause, Command, Run, RunStatus};

use super::desk::{Desk, Flash};
use super::html::Html;
use super::job_actions::field;
use super::moment::length;
use super::outcome::{Badge, cause, reason};
use super::run_log::{self, LogPart};
use super::run_row::short_id;
use super::shell::{Section, Shell, queries};
use super::{answer, history, json_view};
use crate::params::Params;
use crate::path::Named;
use crate::problem::Problem;

/// How many events of the job's stream are looked at for those of this run.
const EVENTS_READ: usize = 400;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    shell: Shell,
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
    shard: Option<String>,
    steps: Vec<Step>,
    input: Html,
    is_own_input: bool,
    result: Option<Html>,
    log: LogPart,
}

/// One entry of the timeline.
struct Step {
    class: &'static str,
    at: Html,
    text: String,
    /// Since the step before.
    after: Option<String>,
}

pub(crate) async fn show(desk: Desk, Named(id): Named<RunId>, mut params: Params) -> Result<Response, Problem> {
    let run = queries(&desk).run_with_result(id).await?.ok_or_else(|| Problem::no_run(id))?;
    let job = desk.app.engine.job(run.job_id).await?;
    let times = job.as_ref().map_or_else(|| desk.times(), |job| desk.times().of_job(job));
    let stream = params.take_text("stream").unwrap_or_default();
    let steps = steps(&desk, &run, &times).await?;
    let took = match (run.started_at, run.finished_at) {
        (Some(start), Some(end)) => Some(Html::new().text(&length(end.ms() - start.ms()))),
        (Some(start), None) => Some(times.elapsed(start)),
        (None, _) => None,
    };
    let input = run.tool_input.clone().or_else(|| job.as_ref().map(|job| job.definition.tool_input.clone()));
    let retry_of = match run.cause {
        Cause::Retry { of, .. } => Some((desk.link(&format!("/runs/{of}")), short_id(&of.to_string()))),
        Cause::Schedule { .. } | Cause::Manual | Cause::Backfill { .. } | Cause::Webhook { .. } => None,
    };
    let page = RunPage {
        shell: Shell::new(&desk, Section::Runs, format!("{} · run {}", run.label, short_id(&id.to_string()))).await?,
        id: id.to_string(),
        short: short_id(&id.to_string()),
        label: run.label.clone(),
        job_href: desk.link(&format!("/jobs/{}", run.job_id)),
        runs_href: desk.link(&format!("/runs?status=&job={}", run.job_id)),
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
        shard: run.shard.as_ref().map(|shard| shard.to_string()),
        steps,
        input: json_view::draw(&input.unwrap_or_default()),
        is_own_input: run.tool_input.is_some(),
        result: result(&run),
        log: run_log::read(&desk, &run, &stream).await?,
    };
    answer::ok(&page)
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

/// What the job's stream says about this run, oldest first.
async fn steps(desk: &Desk, run: &Run, times: &super::moment::Times) -> Result<Vec<Step>, Problem> {
    let (stored, _) = queries(desk).history(run.job_id.into(), run.version, EVENTS_READ).await?;
    let mut steps: Vec<Step> = Vec::new();
    let mut before: Option<i64> = None;
    for stored in &stored {
        let Some(event) = history::event_of(stored) else { continue };
        if history::run_of(&event) != Some(run.id) {
            continue;
        }
        let ms = stored.at.ms();
        steps.push(Step {
            class: history::class(&event),
            at: times.short(stored.at),
            text: history::told(&event, stored.at),
            after: before.map(|before| length(ms - before)),
        });
        before = Some(ms);
    }
    Ok(steps)
}

type Fields = Form<Vec<(String, String)>>;

pub(crate) async fn cancel(desk: Desk, Named(id): Named<RunId>, Form(fields): Fields) -> Response {
    let done = cancelled(&desk, id).await;
    let own = format!("/runs/{id}");
    let to = field(&fields, "back").unwrap_or(&own);
    match done {
        Ok(()) => desk.go(to, &Flash::good("Told the run to stop")),
        Err(problem) => desk.go(to, &Flash::bad(problem.detail)),
    }
}

async fn cancelled(desk: &Desk, id: RunId) -> Result<(), Problem> {
    desk.operator()?;
    let run = crate::runs::find(&desk.app, id).await?;
    let command = Command::CancelRun { run_id: id, reason: format!("cancelled by {}", desk.viewer.name) };
    desk.app.engine.submit(run.job_id, command).await?;
    Ok(())
}

/// Leads to the new run.
pub(crate) async fn retry(desk: Desk, Named(id): Named<RunId>) -> Response {
    match retried(&desk, id).await {
        Ok(run) => desk.go(&format!("/runs/{run}"), &Flash::good("Running again")),
        Err(problem) => desk.go(&format!("/runs/{id}"), &Flash::bad(problem.detail)),
    }
}

async fn retried(desk: &Desk, id: RunId) -> Result<RunId, Problem> {
    desk.operator()?;
    let run = crate::runs::find(&desk.app, id).await?;
    let accepted = desk.app.engine.retry(run).await?;
    let is_mine = |run: &&Run| matches!(run.cause, Cause::Retry { of, .. } if of == id);
    Ok(accepted.runs.iter().filter(is_mine).max_by_key(|run| run.version).map_or(id, |run| run.id))
}
