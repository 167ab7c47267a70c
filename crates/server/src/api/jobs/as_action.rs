//! Jobs in the shape of the seed's action.

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_api::jobs::{ACTION_JSON, ActionView, ReceivedPayload};
use ordo_model::hook::Delivery;
use ordo_model::job::{Job, Run, Trigger};

use crate::app::App;
use crate::http::params::Params;
use crate::http::problem::Problem;

/// In whose words a job is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobShape {
    Job,
    Action,
}

impl JobShape {
    pub(crate) fn take(params: &mut Params) -> Result<JobShape, Problem> {
        match params.take_text("shape").as_deref() {
            None | Some("job") => Ok(JobShape::Job),
            Some("action") => Ok(JobShape::Action),
            Some(_) => Err(Problem::field(Code::InvalidQuery, "shape", "must be job or action")),
        }
    }
}

/// An answer in this shape: its media type says so.
pub(crate) fn answer(shown: impl serde::Serialize) -> Response {
    let mut answer = Json(shown).into_response();
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(ACTION_JSON));
    answer
}

pub(crate) async fn view(app: &App, job: &Job) -> Result<ActionView, Problem> {
    let queries = app.engine.queries();
    let last = match &job.history.last {
        Some(last) => queries.run(last.run_id).await?,
        None => None,
    };
    let received = match job.definition.trigger {
        Trigger::Webhook { .. } => received(app, job, last.as_ref()).await?,
        Trigger::Scheduled(_) | Trigger::Manual => None,
    };
    Ok(ActionView::of(job, last.as_ref(), received))
}

/// What the newest run of the job is about, as long as it is kept.
async fn received(app: &App, job: &Job, last: Option<&Run>) -> Result<Option<ReceivedPayload>, Problem> {
    let newest = job.active.last().map(|run| run.cause).or(last.map(|run| run.cause));
    let Some(id) = newest.and_then(|cause| cause.delivery()) else { return Ok(None) };
    let queries = app.engine.queries();
    let Some(delivery) = queries.object::<Delivery>(id).await? else { return Ok(None) };
    let payload = queries.payload(id).await?.map_or_else(Vec::new, |payload| payload.body.to_vec());
    Ok(Some(ReceivedPayload { payload, at: delivery.received_at }))
}
