//! The first page: what is broken, late or stuck; what runs; what is about to fire.
//!
//! Invariant: every list is read to a bound; nothing here grows with the number of jobs. Every number is exact, or says
//! that it is the least; `tests/api/home.rs` has, for every statement, the state that would make it false.

mod checklist;
mod headline;
mod soon;

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use ordo_engine::metrics::Metrics;
use ordo_engine::run_list::RunFilter;
use ordo_engine::series::lateness_ms;
use ordo_engine::waiting::{LongWaits, WaitingRuns};
use ordo_model::job::{Job, JobState, Run, RunStatus};
use ordo_model::notification::NotificationState;
use ordo_model::{Millis, RunId};
use ordo_store::Fault;

use crate::http::problem::Problem;
use crate::pages::charts::day::DayChart;
use crate::pages::charts::minutes;
use crate::pages::charts::ring;
use crate::pages::incidents;
use crate::pages::jobs::row::JobRow;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::length;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::layout::trouble::{self, Failing};
use crate::pages::runs::outcome::{Badge, Counted, counted, grouped};
use crate::pages::runs::row::RunRow;
use checklist::FirstStep;
use headline::{Headline, Worries};
use soon::NextMinute;

const INCIDENTS_SHOWN: usize = 5;
const FAILING_SHOWN: usize = 8;
const LATE_SHOWN: usize = 5;
const RUNNING_SHOWN: usize = 8;
const WAITING_SHOWN: usize = 5;
const SOON_SHOWN: usize = 6;
const CHART_MINUTES: usize = 60;
/// Over how many minutes the present rate is taken.
const RATE_MINUTES: usize = 5;
/// A run that waits for longer is shown.
const LONG_WAIT: Millis = Millis::from_secs(30);
/// How many of the oldest pending runs are looked at.
const PENDING_READ: usize = 200;
/// How far jobs and runs are counted.
const COUNTED: usize = 1_000;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    shell: PageShell,
    is_empty: bool,
    headline: Headline,
    incidents: Vec<OpenIncident>,
    incidents_more: Option<String>,
    failing: Vec<FailingJob>,
    failing_more: Option<String>,
    late: Vec<JobRow>,
    late_more: Option<String>,
    waiting: Vec<WaitingRow>,
    waiting_more: Option<String>,
    undelivered: Option<String>,
    running: Vec<RunRow>,
    running_count: Counted,
    ring: Html,
    upcoming: Vec<Soon>,
    soon_count: Counted,
    day: Html,
    day_summary: String,
    hours: Vec<String>,
    charts: Charts,
    counts: Vec<(&'static str, Counted, String)>,
    health: HealthPanel,
    steps: Vec<FirstStep>,
}

struct OpenIncident {
    id: String,
    href: String,
    title: String,
    severity: Badge,
    status: Badge,
    assignee: String,
    since: Html,
}

/// Runs of a job that wait for the same thing.
struct WaitingRow {
    id: String,
    label: String,
    href: String,
    count: Option<String>,
    cause: String,
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
    /// How many failed, of how many, since when.
    failed: String,
    p50: String,
    p99: String,
}

struct HealthPanel {
    is_ready: bool,
    store: String,
    commit: String,
    /// (pool, slots in use, slots)
    pools: Vec<(&'static str, usize, usize)>,
    pending: String,
    ring: usize,
    uptime: String,
    faults: u64,
}

pub(crate) async fn show(ctx: PageContext) -> Result<Response, Problem> {
    let now = ctx.now;
    let failing = trouble::failing(&ctx.app).await?;
    let next_minute = soon::next_minute(&ctx, now).await?;
    let next_day = soon::next_day(&ctx.app, now).await?;
    let waits = ctx.app.engine.long_waits(now, LONG_WAIT, PENDING_READ).await?;
    let worked_on = queries(&ctx).worked_on(INCIDENTS_SHOWN).await?;
    let undelivered = undelivered(&ctx).await?;
    let running = newest_running(&ctx).await?;
    let counts = counts(&ctx).await?;
    let times = ctx.times();
    let day = DayChart::of(&next_day, now);
    let incidents = Counted { count: worked_on.count, is_exact: !worked_on.is_cut };
    let NextMinute { fires, count: soon_count, late } = next_minute;
    let worries = Worries {
        is_ready: ctx.app.is_ready(),
        failing: failing.count(),
        incidents,
        late: late.len(),
        waiting: waits.groups.len(),
        undelivered,
    };
    let page = HomePage {
        is_empty: counts.iter().all(|(_, count, _)| count.count == 0),
        headline: worries.headline(),
        incidents_more: more(incidents, worked_on.worst.len()),
        incidents: worked_on.worst.iter().map(|incident| open_incident(&ctx, incident)).collect(),
        failing_more: more(failing.count(), FAILING_SHOWN),
        failing: failing_rows(&ctx, &failing).await?,
        late_more: more(Counted::exactly(late.len()), LATE_SHOWN),
        late: JobRow::read_all(&ctx, &late[..late.len().min(LATE_SHOWN)]).await?,
        waiting_more: more(Counted { count: waits.groups.len(), is_exact: !waits.is_cut }, WAITING_SHOWN),
        waiting: waiting_rows(&ctx, &waits),
        undelivered: (undelivered.count > 0).then(|| counted(undelivered, "notification", "notifications")),
        running_count: running_count(&ctx, running.len()).await?,
        running: running.iter().map(|run| RunRow::of(&ctx, run)).collect(),
        ring: ring::draw(&fires, now),
        soon_count,
        upcoming: fires.iter().take(SOON_SHOWN).map(|fire| soon_row(&ctx, fire)).collect(),
        day_summary: day.summary(&times),
        day: day.draw(&times),
        hours: DayChart::hours(&times),
        charts: charts(&ctx).await?,
        steps: checklist::read(&ctx, counts.iter().any(|(_, count, _)| count.count > 0)).await?,
        counts,
        health: health(&ctx).await?,
        shell: PageShell::new(&ctx, NavSection::Home, "Home").await?,
    };
    answer::ok(&page)
}

/// What is not shown of so many, in words.
fn more(all: Counted, shown: usize) -> Option<String> {
    let rest = Counted { count: all.count.saturating_sub(shown), ..all };
    (rest.count > 0 || !rest.is_exact).then(|| format!("{} more", rest.words()))
}

fn soon_row(ctx: &PageContext, fire: &ring::Fire) -> Soon {
    Soon { at: ctx.times().relative(fire.at), label: fire.label.clone(), href: fire.href.clone() }
}

async fn newest_running(ctx: &PageContext) -> Result<Vec<Run>, Fault> {
    let filter = RunFilter { status: RunStatus::code_of("running"), ..RunFilter::default() };
    Ok(queries(ctx).runs(&filter, None, RUNNING_SHOWN).await?.items)
}

/// At least as many as are shown: some may have begun since those were counted.
async fn running_count(ctx: &PageContext, shown: usize) -> Result<Counted, Fault> {
    let running = count_runs(ctx, "running").await?;
    Ok(Counted { count: running.count.max(shown), ..running })
}

async fn count_runs(ctx: &PageContext, status: &str) -> Result<Counted, Fault> {
    let code = RunStatus::code_of(status).unwrap_or_default();
    Ok(Counted::up_to(COUNTED, queries(ctx).count_runs(code, COUNTED + 1).await?))
}

async fn undelivered(ctx: &PageContext) -> Result<Counted, Fault> {
    let code = NotificationState::code_of("dead_lettered").unwrap_or_default();
    Ok(Counted::up_to(COUNTED, queries(ctx).count_notifications(code, COUNTED + 1).await?))
}

fn open_incident(ctx: &PageContext, incident: &ordo_engine::Versioned<ordo_model::incident::Incident>) -> OpenIncident {
    OpenIncident {
        id: incident.id.to_string(),
        href: ctx.link(&format!("/incidents/{}", incident.id)),
        title: incident.title.clone(),
        severity: incidents::severity(incident.severity),
        status: incidents::status(incident.status),
        assignee: incident.assignee.clone().unwrap_or_default(),
        since: ctx.times().ago(incident.created_at),
    }
}

fn waiting_rows(ctx: &PageContext, waits: &LongWaits) -> Vec<WaitingRow> {
    let row = |group: &WaitingRuns| {
        let count = Counted { count: group.count, is_exact: !waits.is_cut };
        let path = match group.count {
            1 => format!("/runs/{}", group.oldest),
            _ => format!("/runs?status=pending&job={}", group.job_id),
        };
        WaitingRow {
            id: group.oldest.to_string(),
            label: group.label.clone(),
            href: ctx.link(&path),
            count: (group.count > 1 || waits.is_cut).then(|| counted(count, "run", "runs")),
            cause: group.cause.to_string(),
            since: ctx.times().elapsed(group.since),
        }
    };
    waits.groups.iter().take(WAITING_SHOWN).map(row).collect()
}

async fn failing_rows(ctx: &PageContext, failing: &Failing) -> Result<Vec<FailingJob>, Fault> {
    let jobs: &[Job] = &failing.jobs[..failing.jobs.len().min(FAILING_SHOWN)];
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

/// What this process has seen of the last hour; before it started it has seen nothing, and of other nodes it sees none.
async fn charts(ctx: &PageContext) -> Result<Charts, Fault> {
    let (metrics, uptime) = (ctx.app.engine.metrics(), ctx.app.since.elapsed());
    let last = metrics.series.last(ctx.now, CHART_MINUTES);
    let percentile = |percent| {
        lateness_ms(&last, percent).map_or("–".to_owned(), |ms| match ms {
            u64::MAX => "> 5 min".to_owned(),
            ms => format!("≤ {}", length(i64::try_from(ms).unwrap_or(i64::MAX))),
        })
    };
    let (failed, ended) = last.iter().fold((0, 0), |(failed, ended), minute| {
        (failed + minute.failed as usize, ended + minutes::total(minute) as usize)
    });
    let is_alone = ctx.app.engine.nodes().await?.len() < 2;
    let node = if is_alone { "" } else { " on this node" };
    Ok(Charts {
        outcomes: minutes::outcomes(&last, usize::try_from(uptime.ms() / 60_000).unwrap_or(usize::MAX)),
        lateness: minutes::lateness(&last),
        per_minute: rate(&last, uptime).map_or_else(String::new, |rate| format!("{rate}{node}")),
        failed: format!("{} of {} failed {}{node}", grouped(failed), grouped(ended), since(uptime)),
        p50: percentile(50),
        p99: percentile(99),
    })
}

/// The mean of the last whole minutes that this process was there for; None before there is one.
fn rate(last: &[ordo_engine::series::Minute], uptime: Millis) -> Option<String> {
    let whole = usize::try_from(uptime.ms() / 60_000).unwrap_or(usize::MAX).min(RATE_MINUTES);
    // The minute that is not over, and the one in which the process started, would make every rate look too small.
    let recent: Vec<u32> = last.iter().rev().skip(1).take(whole).map(minutes::total).collect();
    let sum: u32 = recent.iter().sum();
    let over = if recent.len() == 1 { "in the last minute".to_owned() } else { format!("over {} min", recent.len()) };
    (!recent.is_empty()).then(|| format!("{} a minute, {over}", mean(sum, recent.len())))
}

/// Rounded to the nearest; few are said to a tenth, so that one in five minutes is not one a minute.
fn mean(sum: u32, over: usize) -> String {
    let tenths = (f64::from(sum) * 10.0 / over.max(1) as f64).round() as usize;
    match tenths {
        0 if sum > 0 => "< 0.1".to_owned(),
        0..100 if !tenths.is_multiple_of(10) => format!("{}.{}", tenths / 10, tenths % 10),
        _ => grouped((tenths + 5) / 10),
    }
}

fn since(uptime: Millis) -> String {
    match uptime.ms() {
        0..3_600_000 => {
            let ago = length(i64::try_from(uptime.ms()).unwrap_or(i64::MAX));
            format!("since the server started {ago} ago")
        }
        _ => "in the last hour".to_owned(),
    }
}

/// (state, count, where the list is)
async fn counts(ctx: &PageContext) -> Result<Vec<(&'static str, Counted, String)>, Fault> {
    let mut counts = Vec::new();
    for state in JobState::ALL {
        let found = Counted::up_to(COUNTED, queries(ctx).count_jobs(state, COUNTED + 1).await?);
        counts.push((state.name(), found, ctx.link(&format!("/jobs?q=state%3A{}", state.name()))));
    }
    Ok(counts)
}

async fn health(ctx: &PageContext) -> Result<HealthPanel, Fault> {
    let load = ctx.app.engine.load().await;
    let stats = queries(ctx).store().estimate().await?;
    let commits = &ctx.app.engine.metrics().commit_micros;
    let mean = commits.sum().checked_div(commits.count()).unwrap_or(0);
    let sizes = ctx.app.engine.options().pools;
    let slots = |pool: &str| if pool == "slow" { sizes.slow.slots } else { sizes.fast.slots };
    Ok(HealthPanel {
        is_ready: ctx.app.is_ready(),
        store: format!(
            "{}, {} · about {} events",
            stats.driver,
            bytes(stats.bytes_on_disk),
            grouped(stats.events as usize)
        ),
        commit: if mean < 1_000 { format!("{mean} µs") } else { format!("{:.1} ms", mean as f64 / 1e3) },
        pools: load.pools.iter().map(|(pool, running, _)| (*pool, *running, slots(pool))).collect(),
        pending: counted(count_runs(ctx, "pending").await?, "run", "runs"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_engine::series::{RunEnd, Series};

    /// A server that started two minutes ago has not seen five.
    #[test]
    fn a_rate_is_taken_over_whole_minutes_that_were_seen() {
        let (series, now) = (Series::default(), ordo_model::Timestamp::from_ms(600_000_000).unwrap());
        let minutes_ago = |count: u64| now.minus(Millis::from_secs(60 * count));
        for _ in 0..30 {
            series.ended(minutes_ago(1), RunEnd::Completed);
            series.ended(minutes_ago(2), RunEnd::Completed);
        }
        series.ended(now, RunEnd::Completed);
        let last = series.last(now, CHART_MINUTES);
        assert_eq!(rate(&last, Millis::from_secs(20)), None);
        assert_eq!(rate(&last, Millis::from_secs(70)).unwrap(), "30 a minute, in the last minute");
        assert_eq!(rate(&last, Millis::from_secs(130)).unwrap(), "30 a minute, over 2 min");
        assert_eq!(rate(&last, Millis::from_secs(6_000)).unwrap(), "12 a minute, over 5 min");
        assert_eq!(
            [(0, 5), (1, 5), (7, 2), (49, 5), (50, 5), (51, 1), (5_001, 2)].map(|(sum, over)| mean(sum, over)),
            ["0", "0.2", "3.5", "9.8", "10", "51", "2,501"]
        );
        assert_eq!(since(Millis::from_secs(130)), "since the server started 2 min 10 s ago");
        assert_eq!(since(Millis::from_secs(3_600)), "in the last hour");
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        assert_eq!(more(Counted::exactly(5), 5), None);
        assert_eq!(more(Counted::exactly(7), 5).unwrap(), "2 more");
        assert_eq!(more(Counted { count: 100, is_exact: false }, 8).unwrap(), "at least 92 more");
    }
}
