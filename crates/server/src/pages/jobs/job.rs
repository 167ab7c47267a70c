//! One job: how it is doing, what it will do, how it is set up, what happened to it.

use askama::Template;
use axum::response::Response;
use ordo_api::jobs::sentence;
use ordo_engine::run_list::RunFilter;
use ordo_model::JobId;
use ordo_model::job::{Job, JobState, Phase, Run, Trigger};

use crate::api::jobs::find;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::charts::heartbeat;
use crate::pages::charts::heat::{self, HeatRow};
use crate::pages::charts::scatter::{self, Measure, Scatter};
use crate::pages::jobs::chain::{self, Chain};
use crate::pages::jobs::equivalents;
use crate::pages::jobs::policies::{self, Policy};
use crate::pages::jobs::{tabs, tagged};
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::json_view;
use crate::pages::layout::moment::{Times, zone_of};
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::{Badge, shortened};
use crate::pages::runs::row::{RunRow, waits};

/// How many runs the charts look at.
const RUNS_READ: usize = 300;
const RUNS_SHOWN: usize = 12;
const FIRES_SHOWN: usize = 10;

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    shell: PageShell,
    id: String,
    label: String,
    description: Option<String>,
    runbook: Option<String>,
    /// (tag, the list of all jobs that have it)
    tags: Vec<(String, String)>,
    badge: Badge,
    paused: Option<(Html, Option<String>)>,
    schedule: String,
    next: Option<Html>,
    failing: Option<(u32, String, String)>,
    running: usize,
    beats: Html,
    success: Option<String>,
    duration: Scatter,
    lateness: Scatter,
    heat: Vec<HeatRow>,
    heat_span: String,
    runs_read: usize,
    runs: Vec<RunRow>,
    has_more_runs: bool,
    fires: Vec<FireRow>,
    /// Why it does not fire by itself, if it does not.
    fires_note: Option<String>,
    zone: Option<String>,
    policies: Vec<Policy>,
    chain: Option<Chain>,
    input: Html,
    input_text: String,
    tool: String,
    tabs: Vec<(String, &'static str, bool)>,
    cli: String,
    curl: String,
    can_pause: bool,
    can_resume: bool,
    can_trigger: bool,
    can_change: bool,
    is_scheduled: bool,
    backfill_from: String,
    backfill_to: String,
}

pub(crate) struct FireRow {
    pub(crate) relative: Html,
    /// In the job's zone.
    pub(crate) local: String,
    /// In the viewer's.
    pub(crate) mine: Html,
    pub(crate) note: Option<String>,
}

pub(crate) async fn show(ctx: PageContext, Named(id): Named<JobId>) -> Result<Response, Problem> {
    let job = find(&ctx.app, id).await?;
    let filter = RunFilter { job_id: Some(id), ..RunFilter::default() };
    let page = queries(&ctx).runs(&filter, None, RUNS_READ).await?;
    let (runs, has_older) = (page.items, page.next.is_some());
    let times = ctx.times().of_job(&job);
    let state = job.state();
    let run_href = |run: &Run| ctx.link(&format!("/runs/{}", run.id));
    let definition = &job.definition;
    let paused = match &job.phase {
        Phase::Paused { reason, since } => Some((times.relative(*since), reason.clone())),
        Phase::Active | Phase::Held | Phase::Cancelled => None,
    };
    let page = JobPage {
        shell: PageShell::new(&ctx, NavSection::Jobs, definition.label.clone()).await?,
        id: id.to_string(),
        label: definition.label.clone(),
        description: definition.description.clone(),
        runbook: definition.description_url.clone(),
        tags: definition.tags.iter().map(|tag| (tag.clone(), ctx.link(&tagged("", tag)))).collect(),
        badge: Badge::of_state(state),
        paused,
        schedule: sentence(definition),
        next: job.next_tick_at().map(|at| times.relative(at)),
        failing: failing(&ctx, &job, &runs),
        running: job.active.len(),
        beats: heartbeat::draw(&runs.iter().map(|run| run.status.kind()).collect::<Vec<_>>()),
        success: success(&runs),
        duration: scatter::draw(&runs, Measure::Duration, run_href),
        lateness: scatter::draw(&runs, Measure::Lateness, run_href),
        heat: heat::rows(&runs, runs.last().filter(|_| has_older).map(|oldest| oldest.fired_at), &times),
        runs: runs.iter().take(RUNS_SHOWN).map(|run| row(&ctx, &job, run, &times)).collect(),
        has_more_runs: runs.len() > RUNS_SHOWN,
        heat_span: heat_span(&runs, has_older, &times),
        runs_read: runs.len(),
        fires: fires(&ctx, &job),
        fires_note: fires_note(&job),
        zone: zone_of(&definition.trigger).map(str::to_owned),
        policies: policies::of(&job, ctx.now),
        chain: chain::read(&ctx, &job).await?,
        input: json_view::draw(&definition.tool_input),
        input_text: serde_json::to_string_pretty(&definition.tool_input).unwrap_or_default(),
        tool: definition.tool_name.clone(),
        tabs: tabs::tabs(&ctx, id, ""),
        cli: equivalents::cli(definition),
        curl: equivalents::curl(definition, &ctx.app.base_path),
        can_pause: state == JobState::Active,
        can_resume: matches!(state, JobState::Paused | JobState::Held),
        can_trigger: state != JobState::Cancelled,
        can_change: state != JobState::Cancelled,
        is_scheduled: definition.trigger.schedule().is_some() && !definition.trigger.is_one_off(),
        backfill_from: wall(&ctx, ctx.now.minus(ordo_model::Millis::from_hours(1))),
        backfill_to: wall(&ctx, ctx.now),
    };
    answer::ok(&page)
}

/// As an input of a form wants it, in the viewer's zone.
fn wall(ctx: &PageContext, at: ordo_model::Timestamp) -> String {
    ctx.preferences.times(at).local(at).strftime("%Y-%m-%dT%H:%M").to_string()
}

/// A run of this job; a pending one says what it waits for.
fn row(ctx: &PageContext, job: &Job, run: &Run, times: &Times) -> RunRow {
    let row = RunRow::at(ctx, run, times);
    let reason = row.reason.clone().or_else(|| waits(ctx, job, run));
    RunRow { reason, ..row }
}

/// (how often in a row, why, where)
fn failing(ctx: &PageContext, job: &Job, runs: &[Run]) -> Option<(u32, String, String)> {
    let last = job.history.last.as_ref().filter(|last| last.status == "failed")?;
    let run = runs.iter().find(|run| run.id == last.run_id)?;
    let reason = crate::pages::runs::outcome::reason(&run.status).unwrap_or_default();
    let href = ctx.link(&format!("/runs/{}", run.id));
    Some((job.history.failures_in_row, shortened(&reason, 200), href))
}

/// The share of ended runs that completed.
fn success(runs: &[Run]) -> Option<String> {
    let count = |name: &str| runs.iter().filter(|run| run.status.name() == name).count();
    let (good, bad) = (count("completed"), count("failed"));
    let share = good as f64 / (good + bad).max(1) as f64 * 100.0;
    (good + bad > 0).then(|| match share {
        share if share == 0.0 || share == 100.0 => format!("{share} %"),
        share => format!("{:.1} %", (share * 10.0).floor() / 10.0),
    })
}

/// A paused job shows when it would fire.
fn fires(ctx: &PageContext, job: &Job) -> Vec<FireRow> {
    let Some(schedule) = job.definition.trigger.schedule() else { return Vec::new() };
    match job.state() {
        JobState::Active | JobState::Paused | JobState::Held => preview_rows(ctx, schedule, job.id.0),
        JobState::Finished | JobState::Cancelled => Vec::new(),
    }
}

fn fires_note(job: &Job) -> Option<String> {
    let is_scheduled = job.definition.trigger.schedule().is_some();
    match job.state() {
        JobState::Paused if is_scheduled => Some("Paused. If it is resumed, it fires at:".to_owned()),
        JobState::Held if is_scheduled => Some("Held. Once it is resumed, it fires at:".to_owned()),
        JobState::Paused | JobState::Held => Some("It does not run until it is resumed.".to_owned()),
        JobState::Finished => Some("Its schedule has ended.".to_owned()),
        JobState::Cancelled => Some("It is cancelled and will not run again.".to_owned()),
        JobState::Active => (!is_scheduled).then(|| match &job.definition.trigger {
            Trigger::Webhook { hook } => format!("It runs whenever the hook {hook} is called."),
            Trigger::Manual | Trigger::Scheduled(_) if job.definition.after.is_some() => {
                "It runs after the jobs before it in its chain.".to_owned()
            }
            Trigger::Manual | Trigger::Scheduled(_) => "It runs only when somebody triggers it.".to_owned(),
        }),
    }
}

/// What the picture of outcomes covers.
fn heat_span(runs: &[Run], has_older: bool, times: &Times) -> String {
    let week = times.now.minus(ordo_model::Millis::from_days(7));
    match runs.last().filter(|oldest| has_older && oldest.fired_at > week) {
        Some(oldest) => format!("last {} runs, since {}", runs.len(), times.absolute(oldest.fired_at)),
        None => "last 7 days".to_owned(),
    }
}

/// The next fires of a schedule, as a job has it or as somebody is typing it.
pub(crate) fn preview_rows(
    ctx: &PageContext,
    schedule: &ordo_model::schedule::Schedule,
    job: uuid::Uuid,
) -> Vec<FireRow> {
    let (times, own) = (ctx.times(), crate::pages::layout::moment::Times::new(ctx.now, schedule.rule.zone(), false));
    let previews = schedule.preview(ctx.now, FIRES_SHOWN, job);
    previews
        .into_iter()
        .map(|preview| FireRow {
            relative: times.relative(preview.occurrence.due),
            local: own.absolute(preview.occurrence.nominal),
            mine: times.short(preview.occurrence.due),
            note: preview.note.map(|note| note.to_string()),
        })
        .collect()
}
