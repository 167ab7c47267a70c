//! The list of runs, newest first.

pub(crate) mod ansi;
pub(crate) mod log;
pub(crate) mod outcome;
pub(crate) mod row;
pub(crate) mod run;

use askama::Template;
use axum::response::Response;
use ordo_engine::run_list::RunFilter;
use ordo_model::JobId;
use ordo_model::job::RunStatus;

use crate::http::params::{Cursor, Params};
use crate::http::problem::Problem;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::shell::{NavSection, PageShell, queries};
use crate::pages::runs::row::RunRow;

const PER_PAGE: usize = 50;

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    shell: PageShell,
    rows: Vec<RunRow>,
    chips: Vec<(&'static str, String, bool)>,
    job: Option<(String, String)>,
    next: Option<String>,
    first: String,
    is_first: bool,
    is_filtered: bool,
}

pub(crate) async fn show(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let job_id = params.take::<JobId>("job")?;
    let status = params.take_text("status").unwrap_or_default();
    let after = params.take_text("after").and_then(|text| text.parse::<Cursor>().ok());
    let filter = RunFilter { job_id, status: RunStatus::code_of(&status), since: None };
    let is_first = after.is_none();
    let page = queries(&ctx).runs(&filter, after.as_ref(), PER_PAGE).await?;
    let of_job = job_id.map_or_else(String::new, |id| format!("&job={id}"));
    let address = |status: &str| ctx.link(&format!("/runs?status={status}{of_job}"));
    let all = std::iter::once(("all", "")).chain(RunStatus::NAMES.map(|name| (name, name)));
    let chips = all.map(|(label, name)| (label, address(name), name == status)).collect();
    let label = match job_id {
        Some(id) => ctx.app.engine.job(id).await?.map(|job| job.definition.label.clone()),
        None => None,
    };
    let page = RunsPage {
        chips,
        job: job_id.zip(label).map(|(id, label)| (label, ctx.link(&format!("/jobs/{id}")))),
        next: page.next.map(|cursor| format!("{}&after={cursor}", address(&status))),
        first: address(&status),
        is_filtered: filter.status.is_some() || job_id.is_some(),
        rows: row::rows(&ctx, &page.items).await?,
        shell: PageShell::new(&ctx, NavSection::Runs, "Runs").await?,
        is_first,
    };
    answer::ok(&page)
}
