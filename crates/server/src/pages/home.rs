//! The first page: what is broken, late or stuck; what runs; what is about to fire.
//!
//! Invariant: every list is read to a bound; nothing here grows with the number of jobs.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use ordo_engine::incidents::IncidentFilter;
use ordo_engine::metrics::Metrics;
use ordo_engine::run_list::RunFilter;
use ordo_engine::series::lateness_ms;
use ordo_model::incident::IncidentStatus;
use ordo_model::job::{Job, JobState, Run, RunStatus};
use ordo_model::limits::MISFIRE_WINDOW;
use ordo_model::{Millis, RunId, Timestamp};
use ordo_store::Fault;

use crate::http::problem::Problem;
use crate::pages::charts::day::DayChart;
use crate::pages::charts::minutes;
use crate::pages::charts::ring::{self, Fire};
use crate::pages::incidents;
use crate::pages::jobs::row::JobRow;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::length;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::layout::trouble;
use crate::pages::runs::outcome::{Badge, grouped};
use crate::pages::runs::row::RunRow;

const INCIDENTS_SHOWN: usize = 5;
const FAILING_SHOWN: usize = 8;
const RUNNING_SHOWN: usize = 8;
/// How many jobs the ring and the day look at.
const NEAR_JOBS: usize = 300;
/// How many fires of one job the ring shows.
const FIRES_PER_JOB: usize = 60;
const CHART_MINUTES: usize = 60;
/// A run that waits for a slot for longer is stuck.
const STUCK_AFTER: Millis = Millis::from_secs(30);
/// How far jobs are counted.
const COUNTED: usize = 1_000;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    shell: PageShell,
    is_empty: bool,
    incidents: Vec<OpenIncident>,
    failing: Vec<FailingJob>,
    failing_more: usize,
    overdue: Vec<JobRow>,
    stuck: Vec<RunRow>,
    running: Vec<RunRow>,
    running_count: usize,
    ring: Html,
    upcoming: Vec<Soon>,
    soon_count: String,
    day: Html,
    day_summary: String,
    hours: Vec<String>,
    charts: Charts,
    counts: Vec<(&'static str, String, String)>,
    health: HealthPanel,
}

struct OpenIncident {
    id: String,
    href: String,
    title: String,
    severity: Badge,
    assignee: String,
    since: Html,
}

struct FailingJob {
    row: JobRow,
    reason: String,
    run_href: String,
}

struct Soon {
    at: Html,
    label: String,
    href: String,
}

struct Charts {
    outcomes: Html,
    lateness: Html,
    per_minute: String,
    failed: u32,
    ended: u32,
    p50: String,
    p99: String,
}

struct HealthPanel {
    is_ready: bool,
    store: String,
    commit: String,
    pools: Vec<(&'static str, usize, usize)>,
    ring: usize,
    uptime: String,
    faults: u64,
}

pub(crate) async fn show(ctx: PageContext) -> Result<Response, Problem> {
    let failing = trouble::failing(&ctx.app).await?;
    let now = ctx.now;
    let (near, is_cut) = queries(&ctx).waking(now.plus(Millis::from_hours(24)), NEAR_JOBS).await?;
    let fires = fires(&ctx, &near, now);
    let load = ctx.app.engine.load().await;
    let times = ctx.times();
    let day = DayChart::of(&near, now);
    let (running, pending) = (by_status(&ctx, "running").await?, by_status(&ctx, "pending").await?);
    let counts = counts(&ctx).await?;
    let page = HomePage {
        incidents: open_incidents(&ctx).await?,
        is_empty: counts.iter().all(|(_, count, _)| count == "0"),
        failing_more: failing.len().saturating_sub(FAILING_SHOWN),
        failing: failing_rows(&ctx, &failing).await?,
        overdue: overdue(&ctx, &near).await?,
        stuck: stuck(&ctx, &pending),
        running_count: load.pools.iter().map(|(_, running, _)| running).sum::<usize>().max(running.len()),
        running: running.iter().take(RUNNING_SHOWN).map(|run| RunRow::of(&ctx, run)).collect(),
        ring: ring::draw(&fires, now),
        soon_count: format!("{}{}", grouped(fires.len()), if is_cut && near_end(&near, now) { "+" } else { "" }),
        upcoming: fires.iter().take(6).map(|fire| soon(&ctx, fire)).collect(),
        day: day.draw(&times),
        day_summary: summary_of_day(&day, is_cut),
        hours: DayChart::hours(&times),
        charts: charts(ctx.app.engine.metrics(), now),
        counts,
        health: health(&ctx, load).await?,
        shell: PageShell::new(&ctx, NavSection::Home, "Home").await?,
    };
    answer::ok(&page)
}

/// Whether the last job that was looked at fires within the ring: then there are more.
fn near_end(near: &[Job], now: Timestamp) -> bool {
    near.last().and_then(Job::next_tick_at).is_some_and(|at| at < now.plus(Millis::from_secs(60)))
}

/// What fires within a minute, soonest first.
fn fires(ctx: &PageContext, jobs: &[Job], now: Timestamp) -> Vec<Fire> {
    let end = now.plus(Millis::from_secs(60));
    let mut fires = Vec::new();
    for job in jobs.iter().filter(|job| job.next_tick_at().is_some_and(|at| at < end)) {
        let Some(schedule) = job.definition.trigger.schedule() else { continue };
        let is_failing = job.history.failures_in_row > 0;
        let fire = |at: Timestamp| Fire {
            at,
            label: job.definition.label.clone(),
            href: ctx.link(&format!("/jobs/{}", job.id)),
            is_failing,
        };
        let found = schedule.between(now, end, FIRES_PER_JOB, job.id.0);
        fires.extend(found.into_iter().filter(|one| one.due < end).map(|one| fire(one.due)));
    }
    fires.sort_by_key(|fire| fire.at);
    fires
}

fn soon(ctx: &PageContext, fire: &Fire) -> Soon {
    Soon { at: ctx.times().relative(fire.at), label: fire.label.clone(), href: fire.href.clone() }
}

fn summary_of_day(day: &DayChart, is_cut: bool) -> String {
    let steady = match day.steady {
        0 => String::new(),
        1 => ", and one job that fires more often than every quarter of an hour".to_owned(),
        count => format!(", and {count} jobs that fire more often than every quarter of an hour"),
    };
    let cut = if is_cut { " (the nearest 300 jobs)" } else { "" };
    format!("{} fires planned{steady}{cut}", grouped(day.fires))
}

async fn by_status(ctx: &PageContext, status: &str) -> Result<Vec<Run>, Fault> {
    let filter = RunFilter { status: RunStatus::code_of(status), ..RunFilter::default() };
    Ok(queries(ctx).runs(&filter, None, 50).await?.items)
}

/// Those that somebody should be working on, newest first.
async fn open_incidents(ctx: &PageContext) -> Result<Vec<OpenIncident>, Fault> {
    let filter = IncidentFilter { status: Some(IncidentStatus::Open), ..IncidentFilter::default() };
    let found = queries(ctx).incidents(&filter, None, INCIDENTS_SHOWN).await?;
    let times = ctx.times();
    let shown = found.items.iter().map(|incident| OpenIncident {
        id: incident.id.to_string(),
        href: ctx.link(&format!("/incidents/{}", incident.id)),
        title: incident.title.clone(),
        severity: incidents::severity(incident.severity),
        assignee: incident.assignee.clone().unwrap_or_default(),
        since: times.relative(incident.created_at),
    });
    Ok(shown.collect())
}

async fn failing_rows(ctx: &PageContext, jobs: &[Job]) -> Result<Vec<FailingJob>, Fault> {
    let jobs = &jobs[..jobs.len().min(FAILING_SHOWN)];
    let last: Vec<RunId> = jobs.iter().filter_map(|job| job.history.last.as_ref()).map(|last| last.run_id).collect();
    let runs = queries(ctx).runs_by_id(&last).await?.into_iter().flatten();
    let runs: BTreeMap<RunId, Run> = runs.map(|run| (run.id, run)).collect();
    let mut rows = Vec::new();
    for (job, row) in jobs.iter().zip(JobRow::read_all(ctx, jobs).await?) {
        let Some(last) = &job.history.last else { continue };
        let reason = runs.get(&last.run_id).and_then(|run| crate::pages::runs::outcome::reason(&run.status));
        rows.push(FailingJob {
            row,
            reason: crate::pages::runs::outcome::shortened(&reason.unwrap_or_default(), 140),
            run_href: ctx.link(&format!("/runs/{}", last.run_id)),
        });
    }
    Ok(rows)
}

/// Jobs whose time has come and gone without anything being decided.
async fn overdue(ctx: &PageContext, near: &[Job]) -> Result<Vec<JobRow>, Fault> {
    let is_overdue = |job: &&Job| job.next_tick_at().is_some_and(|at| at.plus(MISFIRE_WINDOW) < ctx.now);
    let jobs: Vec<Job> = near.iter().filter(is_overdue).take(5).cloned().collect();
    JobRow::read_all(ctx, &jobs).await
}

/// Runs that wait for a slot, and runs that do not end though they were cancelled.
fn stuck(ctx: &PageContext, pending: &[Run]) -> Vec<RunRow> {
    let waits = |run: &&Run| {
        matches!(run.status, RunStatus::Pending { retry_at: None, .. }) && ctx.now.since(run.fired_at) > STUCK_AFTER
    };
    pending.iter().filter(waits).take(5).map(|run| RunRow::of(ctx, run)).collect()
}

fn charts(metrics: &Metrics, now: Timestamp) -> Charts {
    let last = metrics.series.last(now, CHART_MINUTES);
    let sum = |count: fn(&ordo_engine::series::Minute) -> u32| last.iter().map(count).sum::<u32>();
    let percentile = |percent| {
        lateness_ms(&last, percent).map_or("–".to_owned(), |ms| match ms {
            u64::MAX => "> 5 min".to_owned(),
            ms => format!("≤ {}", length(i64::try_from(ms).unwrap_or(i64::MAX))),
        })
    };
    let ended = sum(minutes::total);
    // The minute that is not over would make every rate look too small.
    let recent: Vec<u32> = last.iter().rev().skip(1).take(5).map(minutes::total).collect();
    Charts {
        outcomes: minutes::outcomes(&last),
        lateness: minutes::lateness(&last),
        per_minute: grouped(recent.iter().sum::<u32>().div_ceil(5) as usize),
        failed: sum(|minute| minute.failed),
        ended,
        p50: percentile(50),
        p99: percentile(99),
    }
}

/// (state, count, where the list is)
async fn counts(ctx: &PageContext) -> Result<Vec<(&'static str, String, String)>, Fault> {
    let mut counts = Vec::new();
    for state in JobState::ALL {
        let found = queries(ctx).count_jobs(state, COUNTED + 1).await?;
        let shown = if found > COUNTED { format!("{}+", grouped(COUNTED)) } else { grouped(found) };
        counts.push((state.name(), shown, ctx.link(&format!("/jobs?q=state%3A{}", state.name()))));
    }
    Ok(counts)
}

async fn health(ctx: &PageContext, load: ordo_engine::engine::Load) -> Result<HealthPanel, Fault> {
    let stats = queries(ctx).store().estimate().await?;
    let commits = &ctx.app.engine.metrics().commit_micros;
    let mean = commits.sum().checked_div(commits.count()).unwrap_or(0);
    Ok(HealthPanel {
        is_ready: ctx.app.is_ready(),
        store: format!("{}, {} · {} events", stats.driver, bytes(stats.bytes_on_disk), grouped(stats.events as usize)),
        commit: if mean < 1_000 { format!("{mean} µs") } else { format!("{:.1} ms", mean as f64 / 1e3) },
        pools: load.pools,
        ring: load.ring,
        uptime: length(i64::try_from(ctx.app.since.elapsed().ms()).unwrap_or(i64::MAX)),
        faults: Metrics::read(&ctx.app.engine.metrics().commit_faults),
    })
}

pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1_024 => format!("{count} B"),
        1_024..1_048_576 => format!("{:.0} KiB", count as f64 / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", count as f64 / 1_073_741_824.0),
    }
}
