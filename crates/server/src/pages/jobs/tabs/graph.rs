//! Chains as a picture: what comes after what, with the state of each job now.
//!
//! Invariant: a job stands to the right of all that it comes after. Whatever the picture says, the list below it says in
//! words. At most so many jobs are drawn, and the page says when there are more.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use askama::Template;
use axum::response::Response;
use ordo_model::job::{Job, JobState};
use ordo_model::{JobId, Timestamp};

use super::{card, page};
use crate::api::jobs::find;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::moment::relative;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::{Counted, counted, shortened};

/// How many links between jobs are read, and how many jobs drawn.
const LINKS_READ: usize = 2_000;
const JOBS_DRAWN: usize = 120;
const WIDTH: usize = 208;
const HEIGHT: usize = 44;
const GAP_X: usize = 72;
const GAP_Y: usize = 16;
const LABEL_CHARS: usize = 24;

#[derive(Template)]
#[template(path = "chains.html")]
struct ChainsPage {
    shell: PageShell,
    body: Html,
    is_empty: bool,
}

/// `GET /chains`
pub(crate) async fn all(ctx: PageContext) -> Result<Response, Problem> {
    let links = queries(&ctx).chain_links(LINKS_READ).await?;
    let body = picture(&ctx, &links, None).await?;
    let shell = PageShell::new(&ctx, NavSection::Jobs, "Chains").await?;
    answer::ok(&ChainsPage { shell, body, is_empty: links.is_empty() })
}

/// `GET /jobs/{id}/chain`
pub(crate) async fn of_job(ctx: PageContext, Named(id): Named<JobId>) -> Result<Response, Problem> {
    let job = find(&ctx.app, id).await?;
    let links = links_around(&ctx, id).await?;
    let body = match links.is_empty() {
        true => Html::new().raw("<p class=\"nothing\">This job stands alone: it comes after no other, and none comes after it. <code>ordo job update ").text(&job.definition.label).raw(" --after OTHER</code> chains it.</p>"),
        false => picture(&ctx, &links, Some(id)).await?,
    };
    page(&ctx, &job, "/chain", card("chain", "Chain", "what comes after what, as it stands now", &body)).await
}

/// All links of the chain that a job is part of, as far as they are drawn.
async fn links_around(ctx: &PageContext, id: JobId) -> Result<Vec<(JobId, JobId)>, Problem> {
    let (mut seen, mut open, mut links) = (BTreeSet::from([id]), VecDeque::from([id]), BTreeSet::new());
    while let Some(next) = open.pop_front() {
        let job = ctx.app.engine.job(next).await?;
        let before = job.iter().flat_map(|job| job.definition.after.iter().flat_map(|after| after.jobs.clone()));
        let mut found: Vec<(JobId, JobId)> = before.map(|upstream| (upstream, next)).collect();
        found.extend(queries(ctx).followers(next).await?.into_iter().map(|follower| (next, follower)));
        for (one, other) in found {
            links.insert((one, other));
            for end in [one, other] {
                if seen.len() < JOBS_DRAWN && seen.insert(end) {
                    open.push_back(end);
                }
            }
        }
    }
    Ok(links.into_iter().collect())
}

async fn picture(ctx: &PageContext, links: &[(JobId, JobId)], current: Option<JobId>) -> Result<Html, Problem> {
    let ids: BTreeSet<JobId> = links.iter().flat_map(|(one, other)| [*one, *other]).collect();
    let drawn: Vec<JobId> = ids.iter().copied().take(JOBS_DRAWN).collect();
    let jobs = queries(ctx).load_jobs(&drawn).await?;
    let jobs: BTreeMap<JobId, Job> = drawn.iter().copied().zip(jobs).filter_map(|(id, job)| Some((id, job?))).collect();
    let links: Vec<(JobId, JobId)> =
        links.iter().copied().filter(|(one, other)| jobs.contains_key(one) && jobs.contains_key(other)).collect();
    let places = layout(&jobs, &links);
    let mut html = draw(ctx, &jobs, &links, &places, current);
    if ids.len() > drawn.len() {
        let more = counted(Counted::exactly(ids.len() - drawn.len()), "more chained job", "more chained jobs");
        html = html.raw("<p class=\"nothing\">").text(&more).raw(": see the pages of the jobs.</p>");
    }
    Ok(html.raw(in_words(ctx, &jobs, &links)))
}

/// Column and row of each job: a column behind the last of those before it, a row of its own in it.
fn layout(jobs: &BTreeMap<JobId, Job>, links: &[(JobId, JobId)]) -> BTreeMap<JobId, (usize, usize)> {
    let mut column: BTreeMap<JobId, usize> = jobs.keys().map(|id| (*id, 0)).collect();
    // A chain is no ring, so each round puts at least one job where it stays.
    for _ in 0..jobs.len() {
        let mut is_settled = true;
        for (one, other) in links {
            let behind = column[one] + 1;
            if column[other] < behind {
                column.insert(*other, behind);
                is_settled = false;
            }
        }
        if is_settled {
            break;
        }
    }
    let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
    let mut order: Vec<(&JobId, &Job)> = jobs.iter().collect();
    order.sort_by(|(_, one), (_, other)| one.definition.label.cmp(&other.definition.label));
    let place = |(id, _): (&JobId, &Job)| {
        let row = rows.entry(column[id]).or_default();
        *row += 1;
        (*id, (column[id], *row - 1))
    };
    order.into_iter().map(place).collect()
}

fn draw(
    ctx: &PageContext,
    jobs: &BTreeMap<JobId, Job>,
    links: &[(JobId, JobId)],
    places: &BTreeMap<JobId, (usize, usize)>,
    current: Option<JobId>,
) -> Html {
    let corner = |(column, row): (usize, usize)| (column * (WIDTH + GAP_X) + 1, row * (HEIGHT + GAP_Y) + 1);
    let width = places.values().map(|(column, _)| (column + 1) * (WIDTH + GAP_X)).max().unwrap_or(0) + 2;
    let height = places.values().map(|(_, row)| (row + 1) * (HEIGHT + GAP_Y)).max().unwrap_or(0) + 2;
    let mut html = Html::new().raw(format_args!(
        "<div class=\"graph-box\" tabindex=\"0\" role=\"region\" aria-label=\"Chain of jobs\"><svg class=\"graph\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    ));
    for (one, other) in links {
        let ((x1, y1), (x2, y2)) = (corner(places[one]), corner(places[other]));
        let (from, to) = ((x1 + WIDTH, y1 + HEIGHT / 2), (x2, y2 + HEIGHT / 2));
        let bend = (from.0 + to.0) / 2;
        html = html.raw(format_args!(
            "<path class=\"edge\" d=\"M{} {}C{bend} {} {bend} {} {} {}\" aria-hidden=\"true\"/><path class=\"tip\" d=\"M{} {}l-7 -4v8z\" aria-hidden=\"true\"/>",
            from.0, from.1, from.1, to.1, to.0 - 6, to.1, to.0, to.1
        ));
    }
    for (id, job) in jobs {
        let (x, y) = corner(places[id]);
        let class = standing(job).0;
        let words = since(job, ctx.now);
        let here = if current == Some(*id) { " here" } else { "" };
        html = html
            .raw("<a href=\"")
            .text(&ctx.link(&format!("/jobs/{id}")))
            .raw(format_args!("\"><g class=\"node {class}{here}\"><title>"))
            .text(&format!("{}: {words}", job.definition.label))
            .raw(format_args!(
                "</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/><circle cx=\"{}\" cy=\"{}\" r=\"5\"/><text class=\"label\" x=\"{}\" y=\"{}\">",
                x + 16, y + HEIGHT / 2, x + 30, y + 19
            ))
            .text(&shortened(&job.definition.label, LABEL_CHARS))
            .raw(format_args!("</text><text class=\"state\" x=\"{}\" y=\"{}\">", x + 30, y + 34))
            .text(&words)
            .raw("</text></g></a>");
    }
    html.raw("</svg></div>")
}

/// How a job stands, by class and in a word.
fn standing(job: &Job) -> (&'static str, &'static str) {
    if !job.active.is_empty() {
        return ("running", "running");
    }
    match (job.state(), job.history.last.as_ref().map(|last| last.status.as_str())) {
        (JobState::Paused, _) => ("late", "paused"),
        (JobState::Held, _) => ("late", "held"),
        (JobState::Cancelled, _) => ("skipped", "cancelled"),
        (JobState::Active | JobState::Finished, Some("completed")) => ("completed", "completed"),
        (JobState::Active | JobState::Finished, Some("failed")) => ("failed", "failed"),
        (JobState::Active | JobState::Finished, Some("skipped")) => ("skipped", "skipped"),
        (JobState::Active | JobState::Finished, Some(_)) => ("skipped", "cancelled"),
        (JobState::Active | JobState::Finished, None) => ("pending", "has not run"),
    }
}

/// The word, and when the run was that it speaks of: a job further on may have completed before this one failed.
fn since(job: &Job, now: Timestamp) -> String {
    let words = standing(job).1;
    match job.history.last.as_ref().filter(|last| last.status == words && job.active.is_empty()) {
        Some(last) => format!("{words} {}", relative((last.at.ms() - now.ms()).min(0))),
        None => words.to_owned(),
    }
}

/// The same as a list.
fn in_words(ctx: &PageContext, jobs: &BTreeMap<JobId, Job>, links: &[(JobId, JobId)]) -> Html {
    let mut html =
        Html::new().raw("<details class=\"fold\" data-keep><summary>In words</summary><ul class=\"graph-words\">");
    let name = |id: &JobId| {
        let job = &jobs[id];
        Html::new()
            .raw("<a href=\"")
            .text(&ctx.link(&format!("/jobs/{id}")))
            .raw("\">")
            .text(&job.definition.label)
            .raw("</a> <span class=\"quiet\">(")
            .text(&since(job, ctx.now))
            .raw(")</span>")
    };
    for (one, other) in links {
        html = html.raw("<li>").raw(name(other)).raw(" comes after ").raw(name(one)).raw("</li>");
    }
    html.raw("</ul></details>")
}
