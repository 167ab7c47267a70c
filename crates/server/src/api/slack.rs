//! `/slack/events` and `/slack/interaction`: open to whoever can sign as Slack does.
//!
//! Invariant: nothing is read before the signature was found right; what is asked for is durable before it is
//! answered, and nothing else is waited for, so that Slack has its answer in time.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use ordo_adapters::slack::events::{self, SlackEvent};
use ordo_adapters::slack::{interactions, receiver};
use ordo_api::Code;
use ordo_api::hooks::SlackChallenge;
use ordo_engine::SubmitError;
use ordo_engine::incidents::IncidentError;
use serde_json::{Map, Value};

use crate::app::App;
use crate::http::body::Body;
use crate::http::problem::Problem;
use crate::http::trace::request_span::RequestId;

pub(crate) async fn events(
    State(app): State<App>,
    RequestId(id): RequestId,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    check(&app, &headers, &body)?;
    match events::read(&body.bytes).map_err(|error| Problem::new(Code::InvalidBody, error.to_string()))? {
        SlackEvent::Challenge(challenge) => return Ok(Json(SlackChallenge { challenge }).into_response()),
        SlackEvent::Nothing(why) => tracing::debug!(why, "an event of Slack's is left alone"),
        SlackEvent::Mention(mention) => match receiver::mentioned(&app.engine, &mention, id).await {
            Ok(Some(incident)) => tracing::info!(%incident, channel = mention.channel, "called from Slack"),
            Ok(None) => tracing::debug!(event = mention.event_id, "Slack delivered an event again"),
            Err(error) => settle(error)?,
        },
    }
    Ok(done())
}

pub(crate) async fn interaction(
    State(app): State<App>,
    RequestId(id): RequestId,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    check(&app, &headers, &body)?;
    let all = interactions::read(&body.bytes).map_err(|error| Problem::new(Code::InvalidBody, error.to_string()))?;
    for pressed in all {
        if let Err(error) = receiver::pressed(&app.engine, &pressed, id.clone()).await {
            settle(error)?;
        }
    }
    Ok(done())
}

fn check(app: &App, headers: &HeaderMap, body: &Body) -> Result<(), Problem> {
    let Some(secret) = &app.adapters.slack else {
        let detail = "Slack is not configured here: set slack.signing_secret (docs/notifications.md)";
        return Err(Problem::new(Code::SlackNotConfigured, detail));
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (timestamp, signature) = (text("x-slack-request-timestamp"), text("x-slack-signature"));
    secret.verify(timestamp, signature, &body.bytes, app.now()).map_err(|why| {
        tracing::warn!(%why, "a request to a route of Slack's was refused");
        Problem::new(Code::SlackSignatureInvalid, why.to_string())
    })
}

/// What the rules refuse would be refused again: Slack must not try it again. Everything else may work next time.
fn settle(error: IncidentError) -> Result<(), Problem> {
    match error {
        SubmitError::Refused(refusal) => {
            tracing::warn!(%refusal, "what somebody wanted from Slack is not possible");
            Ok(())
        }
        error => Err(error.into()),
    }
}

fn done() -> Response {
    Json(Value::Object(Map::new())).into_response()
}
