//! The page of runs: a histogram of a time, and below it the runs as a list or on a line of time.

pub(crate) mod ansi;
pub(crate) mod log;
pub(crate) mod outcome;
pub(crate) mod row;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod timeline;

use askama::Template;
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_engine::run_list::RunFilter;
use ordo_engine::run_list::histogram::HistogramBin;
use ordo_model::job::RunStatus;
use ordo_model::{Millis, Timestamp};

use crate::http::params::{Cursor, Params};
use crate::http::problem::Problem;
use crate::pages::charts::gantt::TimeSpan;
use crate::pages::charts::histogram;
use crate::pages::jobs::tabs;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::objects::address;
use crate::pages::runs::row::RunRow;
use crate::pages::runs::search::{FoundSearch, RunSearch};
use crate::pages::runs::timeline::Timeline;

const PER_PAGE: usize = 50;
/// What the histogram shows when nobody said how much.
const SPAN_DEFAULT: Millis = Millis::from_hours(24);
const SPANS: [(&str, &str); 4] = [("1 h", "1h"), ("24 h", "24h"), ("7 d", "7d"), ("30 d", "30d")];
/// How many executors are offered by name.
const EXECUTORS_OFFERED: usize = 100;

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    shell: PageShell,
    search: RunSearch,
    wrong: Option<String>,
    chart: Option<RunChart>,
    chips: Vec<(&'static str, String, bool)>,
    spans: Vec<(&'static str, String, bool)>,
    views: [(&'static str, String, bool); 2],
    executors: Vec<String>,
    job: Option<(String, String)>,
    /// Those of the job, if the runs are those of one.
    tabs: Vec<(String, &'static str, bool)>,
    rows: Vec<RunRow>,
    timeline: Option<Timeline>,
    next: Option<String>,
    first: String,
    all: String,
    is_first: bool,
    is_filtered: bool,
    cli: String,
    curl: String,
}

struct RunChart {
    picture: Html,
    summary: String,
    /// What time it shows, in words.
    period: String,
    axis: Vec<String>,
    /// For the script that lets people choose a part of it: where it begins, how wide a bar is, how many there are, the
    /// zone of the times, and the address without a time.
    from: Timestamp,
    bin_ms: u64,
    bins: usize,
    zone: String,
    address: String,
}

pub(crate) async fn show(ctx: PageContext, mut params: Params, headers: HeaderMap) -> Result<Response, Problem> {
    let search = RunSearch::read(&mut params);
    let after = params.take_text("after").and_then(|text| text.parse::<Cursor>().ok());
    let is_timeline = search.get("view") == "timeline";
    let (found, wrong) = match search.understood(&ctx).await? {
        Ok(found) => (Some(found), None),
        Err(wrong) => (None, Some(wrong)),
    };
    let filter = found.as_ref().map(|found| &found.filter);
    let span = filter.filter(|_| is_timeline).map(|filter| timeline::span(filter, ctx.now));
    let timeline = match filter.zip(span) {
        Some((filter, span)) => Some(timeline::read(&ctx, &search, filter, span).await?),
        None => None,
    };
    let span = timeline.as_ref().map(|timeline| timeline.span);
    let page = match filter {
        Some(filter) if !is_timeline => queries(&ctx).runs(filter, after.as_ref(), PER_PAGE).await?,
        Some(_) | None => Default::default(),
    };
    let link = |changes: &[(&'static str, &str)]| ctx.link(&search.with(changes).address());
    let all = std::iter::once(("all", "")).chain(RunStatus::NAMES.map(|name| (name, name)));
    let own = link(&[]);
    let page = RunsPage {
        chips: all.map(|(label, name)| (label, link(&[("status", name)]), name == search.get("status"))).collect(),
        spans: spans(&search, link),
        views: [
            ("List", link(&[("view", ""), ("rows", "")]), !is_timeline),
            ("Timeline", link(&[("view", "timeline")]), is_timeline),
        ],
        executors: executors(&ctx).await?,
        job: found
            .as_ref()
            .and_then(|found| found.job.as_ref())
            .map(|(label, id)| (label.clone(), ctx.link(&format!("/jobs/{id}")))),
        tabs: found
            .as_ref()
            .and_then(|found| found.job.as_ref())
            .map_or_else(Vec::new, |(_, id)| tabs::tabs(&ctx, *id, "/runs")),
        chart: match filter {
            Some(filter) => Some(chart(&ctx, &search, filter, span).await?),
            None => None,
        },
        timeline,
        next: page.next.map(|cursor| format!("{own}{}after={cursor}", if own.contains('?') { '&' } else { '?' })),
        rows: row::rows(&ctx, &page.items).await?,
        is_filtered: !search.is_empty(),
        cli: search.cli(found.as_ref()),
        curl: search.curl(found.as_ref(), &address(&headers, &ctx.app.base_path)),
        all: ctx.link(&RunSearch::default().with(&[("view", search.get("view"))]).address()),
        shell: PageShell::new(&ctx, NavSection::Runs, title(found.as_ref())).await?,
        is_first: after.is_none(),
        first: own,
        search,
        wrong,
    };
    answer::ok(&page)
}

fn title(found: Option<&FoundSearch>) -> String {
    match found.and_then(|found| found.job.as_ref()) {
        Some((label, _)) => format!("Runs of {label}"),
        None => "Runs".to_owned(),
    }
}

/// How much time is shown; one that was chosen by hand is none of them.
fn spans(search: &RunSearch, link: impl Fn(&[(&'static str, &str)]) -> String) -> Vec<(&'static str, String, bool)> {
    let since = if search.get("until").is_empty() { search.get("since") } else { "by hand" };
    let named = SPANS.into_iter().chain([("All", "")]);
    named.map(|(label, text)| (label, link(&[("since", text), ("until", "")]), text == since)).collect()
}

async fn executors(ctx: &PageContext) -> Result<Vec<String>, Problem> {
    let own = std::iter::once(ctx.app.node.name.clone());
    let listed = ctx.app.engine.executors().await?;
    let mut names: Vec<String> = own.chain(listed.iter().map(|listed| listed.executor.offer.name.clone())).collect();
    names.sort();
    names.dedup();
    names.truncate(EXECUTORS_OFFERED);
    Ok(names)
}

async fn chart(
    ctx: &PageContext,
    search: &RunSearch,
    filter: &RunFilter,
    band: Option<TimeSpan>,
) -> Result<RunChart, Problem> {
    let times = ctx.times();
    let to = filter.until.unwrap_or(ctx.now);
    let from = filter.since.unwrap_or_else(|| to.minus(SPAN_DEFAULT)).min(to);
    let window = histogram::window(from, to, &times);
    let bins: Vec<HistogramBin> = queries(ctx).run_histogram(filter, window).await?;
    let between = |from: Timestamp, to: Timestamp| {
        ctx.link(&search.with(&[("since", &from.to_string()), ("until", &to.to_string())]).address())
    };
    let band = band.filter(|band| band.from > from || band.to < to).map(|band| (band.from, band.to));
    Ok(RunChart {
        picture: histogram::draw(&bins, band, &times, between),
        summary: histogram::summary(&bins),
        period: period(search, from, to, &times),
        axis: histogram::axis(window.from, window.to(), &times),
        from: window.from,
        bin_ms: window.bin.ms(),
        bins: bins.len(),
        zone: ctx.preferences.zone_name().to_owned(),
        address: ctx.link(&search.with(&[("since", ""), ("until", "")]).address()),
    })
}

fn period(search: &RunSearch, from: Timestamp, to: Timestamp, times: &crate::pages::layout::moment::Times) -> String {
    let shown = |at: Timestamp| times.local(at).strftime("%b %d, %H:%M").to_string();
    match (search.get("since"), search.get("until")) {
        ("" | "24h", "") => "the last 24 hours".to_owned(),
        ("1h", "") => "the last hour".to_owned(),
        ("7d", "") => "the last 7 days".to_owned(),
        ("30d", "") => "the last 30 days".to_owned(),
        _ => format!("{} to {}", shown(from), shown(to)),
    }
}
