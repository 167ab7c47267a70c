//! The list of jobs: newest first, or by label when a part of the label or a tag is looked for.
//!
//! Invariant: a request costs a bounded amount of work whatever it looks for; where that is not enough, the page is
//! short and its cursor goes on.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use ordo_api::jobs::JobView;
use ordo_api::{Code, Page};
use ordo_engine::job_list::{JobFilter, JobOrder, JobQuery};
use ordo_model::job::{JobState, Trigger, check_tag};
use ordo_model::limits::{LABEL_MAX_BYTES, TAGS_MAX};

use crate::api::jobs::as_action::{self, JobShape};
use crate::app::App;
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::problem::Problem;

pub(crate) async fn read(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let (label, prefix, part) =
        (params.take_text("label"), take_part(&mut params, "label_prefix")?, take_part(&mut params, "search")?);
    let is_search = prefix.is_some() || part.is_some();
    let tags = take_tags(&mut params)?;
    let query = JobQuery {
        order: take_order(&mut params, is_search, !tags.is_empty())?,
        filter: JobFilter {
            label,
            label_prefix: prefix.unwrap_or_default(),
            label_parts: part.map(|part| part.to_lowercase()).into_iter().collect(),
            tags,
            state: take_state(&mut params)?,
            trigger: take_trigger(&mut params)?,
            ..JobFilter::default()
        },
        limit: params.take_limit()?,
        after: params.take_cursor::<Cursor>()?,
    };
    let shape = JobShape::take(&mut params)?;
    params.finish()?;
    if is_search && query.filter.label.is_some() {
        let detail = "leave out search and label_prefix: the label is already given in full";
        return Err(Problem::field(Code::InvalidQuery, "label", detail));
    }
    let page = app.engine.queries().jobs(&query).await?;
    let next_cursor = next_cursor(page.next);
    match shape {
        JobShape::Job => {
            let items = page.items.iter().map(|job| JobView::of(job, app.now())).collect();
            Ok(Json(Page { items, next_cursor }).into_response())
        }
        JobShape::Action => {
            let mut items = Vec::with_capacity(page.items.len());
            for job in &page.items {
                items.push(as_action::view(&app, job).await?);
            }
            Ok(as_action::answer(Page { items, next_cursor }))
        }
    }
}

/// By label where a part of it or a tag is looked for; else by age, newest first unless the oldest are wanted first.
fn take_order(params: &mut Params, is_search: bool, has_tags: bool) -> Result<JobOrder, Problem> {
    match (params.take_text("order").as_deref(), is_search) {
        (None, true) => Ok(JobOrder::Label),
        (None, false) if has_tags => Ok(JobOrder::Label),
        (Some(_), true) => Err(Problem::field(
            Code::InvalidQuery,
            "order",
            "goes without search and label_prefix: these list by label",
        )),
        (None | Some("newest"), false) => Ok(JobOrder::Newest),
        (Some("oldest"), false) => Ok(JobOrder::Oldest),
        (Some("next"), false) => Ok(JobOrder::Next),
        (Some(_), false) => Err(Problem::field(Code::InvalidQuery, "order", "must be newest, oldest or next")),
    }
}

/// `state` by its name in the job, or `status` as people say.
fn take_state(params: &mut Params) -> Result<Option<JobState>, Problem> {
    for name in ["state", "status"] {
        let Some(given) = params.take_text(name) else { continue };
        let unknown = || {
            let known = JobState::ALL.map(JobState::name).join(", ");
            Problem::field(Code::InvalidQuery, name, format!("must be one of {known}"))
        };
        return JobState::named(&given).map(Some).ok_or_else(unknown);
    }
    Ok(None)
}

fn take_trigger(params: &mut Params) -> Result<Option<&'static str>, Problem> {
    let Some(given) = params.take_text("trigger") else { return Ok(None) };
    let unknown =
        || Problem::field(Code::InvalidQuery, "trigger", format!("must be one of {}", Trigger::NAMES.join(", ")));
    Trigger::NAMES.into_iter().find(|name| *name == given).map(Some).ok_or_else(unknown)
}

/// Tags separated by commas, of which a job must have each.
fn take_tags(params: &mut Params) -> Result<Vec<String>, Problem> {
    let Some(given) = params.take_text("tag") else { return Ok(Vec::new()) };
    let refuse = |message| Problem::field(Code::InvalidQuery, "tag", message);
    let tags: Vec<String> = given.split(',').map(str::to_owned).collect();
    tags.iter().try_for_each(|tag| check_tag(tag)).map_err(refuse)?;
    match tags.len() {
        count if count > TAGS_MAX => Err(refuse(format!("no job has more than {TAGS_MAX} tags"))),
        _ => Ok(tags),
    }
}

/// A text that a label can contain.
fn take_part(params: &mut Params, name: &str) -> Result<Option<String>, Problem> {
    match params.take_text(name) {
        Some(text) if text.len() > LABEL_MAX_BYTES => {
            let message = format!("is longer than a label can be, {LABEL_MAX_BYTES} bytes");
            Err(Problem::field(Code::InvalidQuery, name, message))
        }
        given => Ok(given),
    }
}
