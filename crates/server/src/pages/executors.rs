//! The page of executors: the one in this server with its pools, and those that dialled in from elsewhere.

use askama::Template;
use axum::http::HeaderMap;
use axum::response::Response;
use ordo_api::Code;
use ordo_api::jobs::pool_reason;
use ordo_engine::PoolSize;
use ordo_engine::engine::Load;
use ordo_engine::executors::ListedExecutor;
use ordo_engine::run_list::RunFilter;
use ordo_model::executor::Presence;
use ordo_model::job::{Job, Pool};

use crate::api::executors::{ExecutorId, not_hosted};
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::{Flash, PageContext};
use crate::pages::layout::html::Html;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::objects::address;
use crate::pages::runs::outcome::{Badge, grouped};
use crate::pages::runs::row::{self, RunRow};
use crate::pages::runs::search::RunSearch;
use crate::pages::runs::timeline::{self, Timeline};

/// How many of its last runs the page of an executor shows.
const RUNS_SHOWN: usize = 20;

#[derive(Template)]
#[template(path = "executor.html")]
struct ExecutorPage {
    shell: PageShell,
    row: ExecutorRow,
    /// The token that it was registered with.
    owner: Option<String>,
    node: String,
    is_draining: bool,
    is_gone: bool,
    timeline: Timeline,
    rows: Vec<RunRow>,
    runs_href: String,
    all_runs: String,
    server: String,
}

#[derive(Template)]
#[template(path = "executors.html")]
struct ExecutorsPage {
    shell: PageShell,
    name: String,
    group: String,
    tools: Vec<String>,
    pools: Vec<PoolRow>,
    slow: Vec<SlowRow>,
    rows: Vec<ExecutorRow>,
    /// Where this page was asked for: what an executor dials.
    server: String,
    own_runs: String,
}

struct PoolRow {
    name: &'static str,
    running: String,
    slots: String,
    waiting: String,
    queue: String,
}

/// A job of the slow pool, and why it is there.
struct SlowRow {
    label: String,
    href: String,
    reason: String,
}

struct ExecutorRow {
    id: String,
    href: String,
    name: String,
    group: String,
    tools: Vec<String>,
    running: usize,
    capacity: u32,
    version: String,
    seen: Html,
    seen_exact: Html,
    since: Html,
    state: Badge,
    /// The node it works with, where there are several.
    node: Option<String>,
    can_drain: bool,
}

pub(crate) async fn show(ctx: PageContext, headers: HeaderMap) -> Result<Response, Problem> {
    let load = ctx.app.engine.load().await;
    let listed = ctx.app.engine.executors().await?;
    let page = ExecutorsPage {
        name: ctx.app.node.name.clone(),
        group: ctx.app.engine.group().to_owned(),
        tools: ctx.app.engine.tools().keys().cloned().collect(),
        pools: pools(&ctx, &load),
        slow: slow(&ctx, &load).await?,
        rows: listed.iter().map(|listed| executor_row(&ctx, listed)).collect(),
        server: address(&headers, &ctx.app.base_path),
        own_runs: ctx
            .link(&RunSearch::default().with(&[("executor", &ctx.app.node.name), ("view", "timeline")]).address()),
        shell: PageShell::new(&ctx, NavSection::Executors, "Executors").await?,
    };
    answer::ok(&page)
}

fn pools(ctx: &PageContext, load: &Load) -> Vec<PoolRow> {
    let sizes = ctx.app.engine.options().pools;
    let size = |name: &str| -> PoolSize { if name == Pool::Slow.name() { sizes.slow } else { sizes.fast } };
    let row = |(name, running, waiting): &(&'static str, usize, usize)| PoolRow {
        name,
        running: grouped(*running),
        slots: grouped(size(name).slots),
        waiting: grouped(*waiting),
        queue: grouped(size(name).queue),
    };
    load.pools.iter().map(row).collect()
}

/// The dispatcher goes by a job's last change; a job that has been quick or quiet since is not slow any more.
async fn slow(ctx: &PageContext, load: &Load) -> Result<Vec<SlowRow>, Problem> {
    let mut rows = Vec::new();
    for id in &load.slow {
        let Some(job) = ctx.app.engine.job(*id).await? else { continue };
        if job.pace.seen_at(ctx.now).pool() == Pool::Slow {
            rows.push(slow_row(ctx, &job));
        }
    }
    rows.sort_by(|a, b| a.label.cmp(&b.label));
    Ok(rows)
}

fn slow_row(ctx: &PageContext, job: &Job) -> SlowRow {
    SlowRow {
        label: job.definition.label.clone(),
        href: ctx.link(&format!("/jobs/{}", job.id)),
        reason: pool_reason(job, ctx.now),
    }
}

fn executor_row(ctx: &PageContext, listed: &ListedExecutor) -> ExecutorRow {
    let (executor, times) = (&listed.executor, ctx.times());
    let is_ours = executor.node == ctx.app.node.name;
    ExecutorRow {
        id: listed.id.to_string(),
        href: ctx.link(&format!("/executors/{}", listed.id)),
        name: executor.offer.name.clone(),
        group: executor.offer.group.clone(),
        tools: executor.offer.tools.iter().cloned().collect(),
        running: listed.running,
        capacity: executor.offer.capacity,
        version: executor.offer.version.clone().unwrap_or_else(|| "–".to_owned()),
        seen: times.relative(listed.heard_at),
        seen_exact: times.short(listed.heard_at),
        since: times.relative(executor.registered_at),
        state: state(&executor.presence),
        node: (!is_ours).then(|| executor.node.clone()),
        can_drain: executor.presence == Presence::Alive && is_ours && ctx.viewer.may_operate,
    }
}

fn state(presence: &Presence) -> Badge {
    let (text, class, icon) = match presence {
        Presence::Alive => ("alive", "completed", "active"),
        Presence::Draining => ("draining", "late", "paused"),
        Presence::Lost { .. } => ("lost", "failed", "failed"),
        Presence::Left => ("left", "skipped", "skipped"),
    };
    Badge { text: text.to_owned(), class, icon }
}

/// `GET /executors/{id}`
pub(crate) async fn one(
    ctx: PageContext,
    Named(ExecutorId(id)): Named<ExecutorId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let listed = ctx.app.engine.executors().await?;
    let missing = || Problem::new(Code::ExecutorNotFound, format!("there is no executor {id}"));
    let listed = listed.into_iter().find(|listed| listed.id == id).ok_or_else(missing)?;
    let (executor, name) = (&listed.executor, listed.executor.offer.name.clone());
    let search = RunSearch::default().with(&[("executor", &name), ("view", "timeline")]);
    let filter = RunFilter { executor: Some(name.clone()), now: Some(ctx.now), ..RunFilter::default() };
    let span = timeline::span(&filter, ctx.now);
    let recent = queries(&ctx).runs(&filter, None, RUNS_SHOWN).await?;
    let page = ExecutorPage {
        shell: PageShell::new(&ctx, NavSection::Executors, name).await?,
        owner: executor.owner.as_ref().map(|owner| owner.name.clone()),
        node: executor.node.clone(),
        is_draining: executor.presence == Presence::Draining,
        is_gone: matches!(executor.presence, Presence::Lost { .. } | Presence::Left),
        timeline: timeline::read(&ctx, &search, &filter, span).await?,
        rows: row::rows(&ctx, &recent.items).await?,
        runs_href: ctx.link(&search.address()),
        all_runs: ctx.link(&search.with(&[("view", "")]).address()),
        server: address(&headers, &ctx.app.base_path),
        row: executor_row(&ctx, &listed),
    };
    answer::ok(&page)
}

/// `POST /executors/{id}/drain`.
/// Leads to the list: the page of an executor that leaves is about to be gone.
pub(crate) async fn drain(ctx: PageContext, Named(ExecutorId(id)): Named<ExecutorId>) -> Response {
    match drained(&ctx, id).await {
        Ok(text) => ctx.go("/executors", &Flash::good(text)),
        Err(problem) => ctx.go("/executors", &Flash::bad(problem.detail)),
    }
}

async fn drained(ctx: &PageContext, id: uuid::Uuid) -> Result<String, Problem> {
    ctx.operator()?;
    Ok(match ctx.app.engine.drain_executor(id).await.map_err(not_hosted)? {
        0 => "Asked it to leave".to_owned(),
        1 => "Asked it to leave: it finishes one run first".to_owned(),
        running => format!("Asked it to leave: it finishes {running} runs first"),
    })
}
