//! `POST /hooks/{slug}`: somebody calls.
//!
//! Invariant: who calls is known before anything is kept, and 202 is answered only after the delivery is durable. The
//! payload is kept as it came; headers that carry credentials are not kept at all.

use std::time::Duration;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::LengthLimitError;
use ordo_api::Code;
use ordo_api::hooks::{DeliveryReceived, SlackChallenge};
use ordo_engine::deliveries::{Arrival, DeliveryCounts, Received};
use ordo_model::hook::{DeliveryRefusal, Headers, Hook, Scheme, Verify, delivery_id, replay_mark, verify};
use ordo_model::limits::DELIVERY_HEADERS_MAX_BYTES;
use ordo_model::{Actor, ActorSource};
use serde_json::Value;

use crate::api::hooks;
use crate::app::App;
use crate::http::path::{Named, Slug};
use crate::http::problem::{Problem, of_submit};
use crate::http::rate::Allowance;
use crate::http::trace::request_span::request_id;

/// How long a sender may take for its payload.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// These are for us alone.
const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

pub(crate) async fn receive(
    State(app): State<App>,
    Named(Slug(slug)): Named<Slug>,
    request: Request,
) -> Result<Response, Problem> {
    let hook = hooks::find(&app, &slug).await?;
    // Only a hook that is there has a share: however its name was written, and whatever else is asked for.
    let share = app.rates.of_hook(&hook.slug);
    if let Some(refusal) = share.as_ref().and_then(Allowance::refusal) {
        return Ok(refusal);
    }
    let mut answer = match take(&app, &hook, request).await {
        Ok(answer) => answer,
        Err(problem) => {
            DeliveryCounts::add(&app.engine.metrics().deliveries.refused);
            tracing::info!(hook = %slug, code = problem.code.text(), "a call of a hook was refused");
            problem.into_response()
        }
    };
    share.iter().for_each(|share| share.write_to(answer.headers_mut()));
    Ok(answer)
}

async fn take(app: &App, hook: &Hook, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let request_id = request_id(&parts.extensions);
    let headers = plain(&parts.headers)?;
    let body = read(hook, &parts.headers, body).await?;
    match &hook.terms.verify {
        Some(terms) => check(app, terms, &headers, &body).await?,
        None => refuse_pages(&parts.headers)?,
    }
    if let Some(challenge) = challenge(hook.scheme(), &body) {
        return Ok(Json(SlackChallenge { challenge }).into_response());
    }
    let content_type = Headers(&headers).get(header::CONTENT_TYPE.as_str()).map(str::to_owned);
    let arrival = Arrival {
        hook: hook.slug.clone(),
        sender_id: delivery_id(hook.scheme(), Headers(&headers), &body),
        replay_mark: replay_mark(hook.scheme(), Headers(&headers), &body),
        content_type,
        passes: hook.terms.filter.as_ref().is_none_or(|filter| filter.passes(&body)),
        headers: headers.into_iter().filter(|(name, _)| !CREDENTIALS.contains(&name.as_str())).collect(),
        body,
    };
    // Whoever calls is known by the hook alone.
    let app = app.signed_by(Actor::new(hook.slug.clone(), ActorSource::Hook).with_request(request_id));
    let received = app.engine.receive(arrival).await;
    let receipt = match received.map_err(|error| of_submit(error, |refusal| refused(&refusal)))? {
        Received::New(id) => DeliveryReceived { id, duplicate: false },
        Received::Duplicate(id) => DeliveryReceived { id, duplicate: true },
    };
    Ok((StatusCode::ACCEPTED, Json(receipt)).into_response())
}

/// The headers as text, in the order they came; names are in lower case.
fn plain(headers: &HeaderMap) -> Result<Vec<(String, String)>, Problem> {
    let plain: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let bytes: usize = plain.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > DELIVERY_HEADERS_MAX_BYTES {
        let detail = format!("{bytes} bytes of headers, at most {DELIVERY_HEADERS_MAX_BYTES} are taken");
        return Err(Problem::new(Code::HeadersTooLarge, detail));
    }
    Ok(plain)
}

async fn read(hook: &Hook, headers: &HeaderMap, body: axum::body::Body) -> Result<Bytes, Problem> {
    let max = hook.terms.max_bytes;
    let too_large = || Problem::new(Code::BodyTooLarge, format!("this hook takes at most {max} bytes"));
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > max) {
        return Err(too_large());
    }
    let limit = usize::try_from(max).unwrap_or(usize::MAX);
    let late = |_| Problem::new(Code::RequestTimeout, format!("the body must arrive within {READ_TIMEOUT:?}"));
    let unread = |error: axum::Error| match error.into_inner().downcast::<LengthLimitError>() {
        Ok(_) => too_large(),
        Err(error) => Problem::new(Code::InvalidJson, format!("the body could not be read: {error}")),
    };
    tokio::time::timeout(READ_TIMEOUT, to_bytes(body, limit)).await.map_err(late)?.map_err(unread)
}

async fn check(app: &App, terms: &Verify, headers: &[(String, String)], body: &[u8]) -> Result<(), Problem> {
    let secret = app.engine.secrets().reveal(&terms.secret).await.map_err(hooks::of_secrets)?;
    let missing = || Problem::new(Code::HookSecretUnavailable, format!("there is no secret {:?}", terms.secret));
    let secret = secret.ok_or_else(missing)?;
    verify(&terms.scheme, secret.expose(), Headers(headers), body, app.now())
        .map_err(|unverified| Problem::new(Code::HookUnverified, unverified.to_string()))
}

/// Whoever knows the address may call a hook without verification, but not a page of another site through the
/// browser of somebody who can reach this server: browsers say where such a request comes from.
fn refuse_pages(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.contains_key(header::ORIGIN) {
        true => Err(Problem::new(Code::HookUnverified, "a page may call only a hook that verifies its callers")),
        false => Ok(()),
    }
}

/// Slack asks once whether somebody is there.
fn challenge(scheme: Option<&Scheme>, body: &[u8]) -> Option<String> {
    if scheme != Some(&Scheme::Slack) {
        return None;
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let asks = body["type"] == "url_verification";
    body["challenge"].as_str().filter(|_| asks).map(str::to_owned)
}

pub(super) fn refused(refusal: &DeliveryRefusal) -> Problem {
    Problem::new(Code::Internal, refusal.to_string())
}
