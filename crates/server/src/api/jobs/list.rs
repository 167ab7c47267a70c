//! The list of jobs: by age, or by label when a part of the label is looked for.
//!
//! Invariant: a request costs a bounded amount of work whatever it looks for; where that is not enough, the page is
//! short and its cursor goes on.

use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use ordo_engine::job_search::{LabelPlace, LabelSearch};
use ordo_engine::queries::JobFilter;
use ordo_model::job::{Job, JobState, Trigger};
use ordo_model::limits::LABEL_MAX_BYTES;

use crate::api::jobs::json::JobJson;
use crate::app::App;
use crate::http::code::Code;
use crate::http::params::{Cursor, List, Params, next_cursor};
use crate::http::problem::Problem;

pub(crate) async fn read(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let filter = JobFilter {
        label: params.take_text("label"),
        state: take_state(&mut params)?,
        trigger: take_trigger(&mut params)?,
    };
    let limit = params.take_limit()?;
    match take_search(&mut params)? {
        Some(search) => by_label(&app, &search, &filter, limit, params).await,
        None => by_age(&app, &filter, limit, params).await,
    }
}

async fn by_age(app: &App, filter: &JobFilter, limit: usize, mut params: Params) -> Result<Response, Problem> {
    let after = params.take_cursor::<Cursor>()?.map(|cursor| cursor.0);
    params.finish()?;
    let page = app.engine.queries().jobs(filter, after, limit).await?;
    Ok(told(&page.items, next_cursor(page.next)))
}

async fn by_label(
    app: &App,
    search: &LabelSearch,
    filter: &JobFilter,
    limit: usize,
    mut params: Params,
) -> Result<Response, Problem> {
    let after = params.take_cursor::<LabelCursor>()?.map(|cursor| cursor.0);
    params.finish()?;
    if filter.label.is_some() {
        let detail = "leave out search and label_prefix: the label is already given in full";
        return Err(Problem::field(Code::InvalidQuery, "label", detail));
    }
    let found = app.engine.queries().search_jobs(search, filter, after, limit).await?;
    Ok(told(&found.items, found.next.map(|place| hex::encode(place.bytes()))))
}

fn told(jobs: &[Job], next_cursor: Option<String>) -> Response {
    Json(List { items: jobs.iter().map(JobJson::of).collect(), next_cursor }).into_response()
}

/// The cursor of a list by label.
struct LabelCursor(LabelPlace);

impl FromStr for LabelCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<LabelCursor, ()> {
        hex::decode(text).ok().and_then(LabelPlace::from_bytes).map(LabelCursor).ok_or(())
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

fn take_search(params: &mut Params) -> Result<Option<LabelSearch>, Problem> {
    let (prefix, part) = (take_part(params, "label_prefix")?, take_part(params, "search")?);
    let given = prefix.is_some() || part.is_some();
    Ok(given.then(|| LabelSearch { prefix: prefix.unwrap_or_default(), part: part.unwrap_or_default() }))
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
