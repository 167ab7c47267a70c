//! What a job's page has beside its overview, each at an address of its own: its definition and those before, its
//! chain, its history, its incidents. Its runs are the list of runs, narrowed to them.

pub(crate) mod definition;
pub(crate) mod graph;

use askama::Template;
use axum::response::Response;
use ordo_api::jobs::sentence;
use ordo_model::JobId;
use ordo_model::job::Job;

use crate::api::jobs::find;
use crate::http::path::Named;
use crate::http::problem::Problem;
use crate::pages::incidents::{severity, status};
use crate::pages::jobs::history;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::html::Html;
use crate::pages::layout::listing::{link, quiet, text};
use crate::pages::layout::moment::length;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::outcome::Badge;

const EVENTS_SHOWN: u64 = 200;
const INCIDENTS_SHOWN: usize = 50;

/// The tabs, in order: what stands behind the address of the job, and what it is called.
const TABS: [(&str, &str); 5] = [
    ("", "Overview"),
    ("/definition", "Definition"),
    ("/chain", "Chain"),
    ("/history", "History"),
    ("/incidents", "Incidents"),
];

/// (where, what, whether it is this one); that of the runs is `/runs`.
pub(crate) fn tabs(ctx: &PageContext, id: JobId, current: &str) -> Vec<(String, &'static str, bool)> {
    let mut tabs: Vec<(String, &'static str, bool)> =
        TABS.iter().map(|(path, name)| (ctx.link(&format!("/jobs/{id}{path}")), *name, *path == current)).collect();
    tabs.insert(1, (ctx.link(&format!("/runs?status=&job={id}")), "Runs", current == "/runs"));
    tabs
}

#[derive(Template)]
#[template(path = "job_tab.html")]
struct JobTab {
    shell: PageShell,
    id: String,
    label: String,
    badge: Badge,
    schedule: String,
    tabs: Vec<(String, &'static str, bool)>,
    body: Html,
}

pub(super) async fn page(ctx: &PageContext, job: &Job, current: &str, body: Html) -> Result<Response, Problem> {
    answer::ok(&JobTab {
        shell: PageShell::new(ctx, NavSection::Jobs, job.definition.label.clone()).await?,
        id: job.id.to_string(),
        label: job.definition.label.clone(),
        badge: Badge::of_state(job.state()),
        schedule: sentence(&job.definition),
        tabs: tabs(ctx, job.id, current),
        body,
    })
}

/// A card with a heading.
pub(super) fn card(id: &str, heading: &str, side: &str, content: &Html) -> Html {
    Html::new()
        .raw(format_args!(
            "<section class=\"card\" aria-labelledby=\"h-{id}\"><div class=\"card-head\"><h2 id=\"h-{id}\">"
        ))
        .text(heading)
        .raw("</h2><span class=\"quiet\">")
        .text(side)
        .raw("</span></div>")
        .raw(content)
        .raw("</section>")
}

/// `GET /jobs/{id}/history`
pub(crate) async fn history(ctx: PageContext, Named(id): Named<JobId>) -> Result<Response, Problem> {
    let job = find(&ctx.app, id).await?;
    let times = ctx.times().of_job(&job);
    let events = history::read(&ctx, &job, &times, EVENTS_SHOWN).await?;
    let mut list = Html::new().raw("<ol class=\"timeline tall\">");
    for event in &events {
        list = list
            .raw(format_args!("<li id=\"event-{}\" class=\"{}\"><span class=\"when\">", event.version, event.class))
            .raw(&event.at)
            .raw("</span>");
        list = match &event.href {
            Some(href) => list.raw("<a href=\"").text(href).raw("\">").text(&event.text).raw("</a>"),
            None => list.raw("<span>").text(&event.text).raw("</span>"),
        };
        let who = if event.who.is_empty() { String::new() } else { format!("{} · ", event.who) };
        list = list
            .raw("<span class=\"quiet kind\">")
            .text(&format!("{who}{} · v{}", event.kind, event.version))
            .raw("</span></li>");
    }
    let shown =
        if events.len() as u64 == EVENTS_SHOWN { format!("the last {EVENTS_SHOWN} events") } else { String::new() };
    page(&ctx, &job, "/history", card("events", "History", &shown, &list.raw("</ol>"))).await
}

/// `GET /jobs/{id}/incidents`
pub(crate) async fn incidents(ctx: PageContext, Named(id): Named<JobId>) -> Result<Response, Problem> {
    let job = find(&ctx.app, id).await?;
    let found = queries(&ctx).incidents_of(&format!("job:{id}"), INCIDENTS_SHOWN).await?;
    let times = ctx.times();
    let body = match found.is_empty() {
        true => Html::new().raw("<p class=\"nothing\">None. ").text(no_incident(&job)).raw("</p>"),
        false => {
            let mut table = Html::new().raw(
                "<div class=\"table-box\" role=\"region\" aria-label=\"Incidents\"><table class=\"table\"><thead><tr><th>Incident</th><th>Severity</th><th>Status</th><th>Started</th><th>Lasted</th><th>Assignee</th></tr></thead><tbody>",
            );
            for one in &found {
                let lasted = one.ended_at.map(|at| length(at.ms() - one.created_at.ms()));
                table = table
                    .raw("<tr><td class=\"first\">")
                    .raw(link(&ctx.link(&format!("/incidents/{}", one.id)), &one.title))
                    .raw("</td><td data-label=\"Severity\">")
                    .raw(severity(one.severity).html())
                    .raw("</td><td data-label=\"Status\">")
                    .raw(status(one.status).html())
                    .raw("</td><td data-label=\"Started\">")
                    .raw(times.relative(one.created_at))
                    .raw("</td><td data-label=\"Lasted\">")
                    .raw(lasted.map_or_else(|| quiet("not over"), |words| text(&words)))
                    .raw("</td><td data-label=\"Assignee\">")
                    .raw(one.assignee.as_deref().map_or_else(|| quiet("nobody"), text))
                    .raw("</td></tr>");
            }
            table.raw("</tbody></table></div>")
        }
    };
    page(&ctx, &job, "/incidents", card("incidents", "Incidents of this job", "", &body)).await
}

fn no_incident(job: &Job) -> &'static str {
    match (&job.definition.on_failure, &job.definition.on_missed) {
        (None, None) => "This job opens none by itself: choose so under Edit, or with --on-failure-incident.",
        (Some(_), _) | (None, Some(_)) => "It has not given cause for one.",
    }
}
