//! The list of jobs: searched, sorted and paged on the server, its whole state in the address.

pub(crate) mod actions;
pub(crate) mod bulk;
pub(crate) mod chain;
pub(crate) mod edit;
pub(crate) mod equivalents;
pub(crate) mod fields;
pub(crate) mod history;
pub(crate) mod job;
pub(crate) mod policies;
pub(crate) mod row;

use askama::Template;
use axum::response::Response;
use ordo_engine::job_page::{JobOrder, JobQuery, Place};
use ordo_model::Timestamp;
use uuid::Uuid;

use crate::http::cookies::encode;
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::pages::jobs::row::JobRow;
use crate::pages::layout::answer;
use crate::pages::layout::context::PageContext;
use crate::pages::layout::search;
use crate::pages::layout::shell::{Section, Shell, queries};

const PER_PAGE: usize = 50;

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    shell: Shell,
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
    let after = params.take_text("after").as_deref().and_then(read_place);
    let is_first = after.is_none();
    let (query, wrong) = match search::parse(&q) {
        Ok(query) => (Some(query), None),
        Err(wrong) => (None, Some(wrong)),
    };
    let found = match &query {
        Some(query) => queries(&ctx).job_page(query, order, after, PER_PAGE).await?,
        None => Default::default(),
    };
    let mut rows = Vec::with_capacity(found.items.len());
    for job in &found.items {
        rows.push(JobRow::read(&ctx, job).await?);
    }
    let address = |q: &str, sort: &str| ctx.link(&format!("/jobs?q={}&sort={sort}", encode(q)));
    let page = JobsPage {
        is_filtered: query.as_ref().is_none_or(|query| !query.is_empty()),
        is_by_end: query.as_ref().is_some_and(is_by_end),
        sorts: SORTS.map(|(name, label, _)| (name, label, address(&q, name), name == sort)).to_vec(),
        chips: CHIPS.map(|(label, chip)| (label, address(chip, sort), chip == q)).to_vec(),
        next: found.next.map(|place| format!("{}&after={}", address(&q, sort), write_place(&place))),
        first: address(&q, sort),
        shell: Shell::new(&ctx, Section::Jobs, "Jobs").await?,
        q,
        wrong,
        sort,
        rows,
        is_first,
    };
    answer::ok(&page)
}

fn is_by_end(query: &JobQuery) -> bool {
    query.last.is_some_and(|last| last != "completed")
}

pub(crate) fn write_place(place: &Place) -> String {
    match place {
        Place::Label(key) => format!("l{}", hex::encode(key)),
        Place::Alarm { at, id } => format!("a{}-{}", at.ms(), id.simple()),
        Place::Before(id) => format!("b{}", id.simple()),
    }
}

/// None leads to the first page: an address is typed and shortened by people.
pub(crate) fn read_place(text: &str) -> Option<Place> {
    let rest = text.get(1..)?;
    match text.as_bytes().first()? {
        b'l' => hex::decode(rest).ok().map(Place::Label),
        b'a' => {
            let (at, id) = rest.split_once('-')?;
            Some(Place::Alarm { at: Timestamp::from_ms(at.parse().ok()?).ok()?, id: Uuid::try_parse(id).ok()? })
        }
        b'b' => Uuid::try_parse(rest).ok().map(Place::Before),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let id = Uuid::from_u128(7);
        for place in [Place::Label(vec![1, 0, 255]), Place::Alarm { at: Timestamp::MAX, id }, Place::Before(id)] {
            assert_eq!(read_place(&write_place(&place)), Some(place));
        }
        for nonsense in ["", "x", "l0", "a5", "b-", "ü"] {
            assert_eq!(read_place(nonsense), None);
        }
    }
}
