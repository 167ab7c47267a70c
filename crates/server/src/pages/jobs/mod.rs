//! The list of jobs: searched, sorted and paged on the server, its whole state in the address.

pub(crate) mod actions;
pub(crate) mod bulk;
pub(crate) mod chain;
pub(crate) mod edit;
pub(crate) mod equivalents;
pub(crate) mod exclusions;
pub(crate) mod fields;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod more_fields;
pub(crate) mod policies;
pub(crate) mod row;
pub(crate) mod tabs;

use askama::Template;
use axum::response::Response;
use ordo_engine::job_list::{JobFilter, JobOrder, JobQuery};

use crate::http::cookies::encode;
use crate::http::params::{Cursor, Params};
use crate::http::problem::Problem;
use crate::pages::jobs::row::JobRow;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::search;
use crate::pages::layout::shell::{NavSection, PageShell, queries};

const PER_PAGE: usize = 50;

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    shell: PageShell,
    q: String,
    wrong: Option<String>,
    sort: &'static str,
    sorts: Vec<(&'static str, &'static str, String, bool)>,
    chips: Vec<(&'static str, String, bool)>,
    rows: Vec<JobRow>,
    next: Option<String>,
    is_first: bool,
    first: String,
    is_filtered: bool,
    /// By how the last run ended, the order is that of the ends.
    is_by_end: bool,
}

const SORTS: [(&str, &str, JobOrder); 3] =
    [("label", "Label", JobOrder::Label), ("next", "Next fire", JobOrder::Next), ("new", "Newest", JobOrder::Newest)];
const CHIPS: [(&str, &str); 6] = [
    ("All", ""),
    ("Failing", "failed"),
    ("Active", "state:active"),
    ("Paused", "state:paused"),
    ("Held", "state:held"),
    ("Finished", "state:finished"),
];

pub(crate) async fn show(ctx: PageContext, mut params: Params) -> Result<Response, Problem> {
    let q = params.take_text("q").unwrap_or_default().trim().to_owned();
    let sort = params.take_text("sort").unwrap_or_default();
    let (sort, _, order) = SORTS.into_iter().find(|(name, ..)| *name == sort).unwrap_or(SORTS[0]);
    let after = params.take_text("after").and_then(|text| text.parse::<Cursor>().ok());
    let (query, wrong) = match search::parse(&q) {
        Ok(filter) => (Some(JobQuery { filter, order, after: None, limit: PER_PAGE }), None),
        Err(wrong) => (None, Some(wrong)),
    };
    // Another cursor leads to the first page: an address is typed and shortened by people.
    let query = query.map(|query| JobQuery { after: after.filter(|cursor| query.accepts(cursor)), ..query });
    let is_first = query.as_ref().is_none_or(|query| query.after.is_none());
    let found = match &query {
        Some(query) => queries(&ctx).jobs(query).await?,
        None => Default::default(),
    };
    let rows = JobRow::read_all(&ctx, &found.items).await?;
    let address = |q: &str, sort: &str| ctx.link(&format!("/jobs?q={}&sort={sort}", encode(q)));
    let page = JobsPage {
        is_filtered: query.as_ref().is_none_or(|query| !query.filter.is_empty()),
        is_by_end: query.as_ref().is_some_and(|query| is_by_end(&query.filter)),
        sorts: SORTS.map(|(name, label, _)| (name, label, address(&q, name), name == sort)).to_vec(),
        chips: CHIPS.map(|(label, chip)| (label, address(chip, sort), chip == q)).to_vec(),
        next: found.next.map(|cursor| format!("{}&after={cursor}", address(&q, sort))),
        first: address(&q, sort),
        shell: PageShell::new(&ctx, NavSection::Jobs, "Jobs").await?,
        q,
        wrong,
        sort,
        rows,
        is_first,
    };
    answer::ok(&page)
}

impl JobsPage {
    /// The same list, of the jobs among them that have this tag.
    fn with_tag(&self, tag: &str) -> String {
        self.shell.link(&format!("{}&sort={}", tagged(&self.q, tag), self.sort))
    }
}

/// The address of the jobs that a search finds and that have this tag.
pub(crate) fn tagged(q: &str, tag: &str) -> String {
    let word = format!("tag:{tag}");
    let is_there = q.split_whitespace().any(|typed| typed == word);
    let words: Vec<&str> = q.split_whitespace().chain((!is_there).then_some(word.as_str())).collect();
    format!("/jobs?q={}", encode(&words.join(" ")))
}

fn is_by_end(filter: &JobFilter) -> bool {
    filter.last.is_some_and(|last| last != "completed")
}
