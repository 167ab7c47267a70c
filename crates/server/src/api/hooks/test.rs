//! A call that somebody makes to try a hook out: a delivery like any other, but for the check of who calls.

use axum::Json;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use ordo_api::Code;
use ordo_api::hooks::DeliveryReceived;
use ordo_engine::deliveries::{Arrival, Received};

use super::find;
use super::receive::refused;
use crate::app::{App, Signed};
use crate::http::path::{Named, Slug};
use crate::http::problem::{Problem, of_submit};

const JSON: &str = "application/json";

/// `POST /v1/hooks/{slug}/test`
pub(crate) async fn receive(
    Signed(app): Signed,
    Named(Slug(slug)): Named<Slug>,
    payload: Bytes,
) -> Result<Response, Problem> {
    Ok((StatusCode::ACCEPTED, Json(call(&app, &slug, payload).await?)).into_response())
}

pub(crate) async fn call(app: &App, slug: &str, payload: Bytes) -> Result<DeliveryReceived, Problem> {
    let hook = find(app, slug).await?;
    let max = hook.terms.max_bytes;
    if payload.len() as u64 > max {
        return Err(Problem::new(Code::BodyTooLarge, format!("this hook takes at most {max} bytes")));
    }
    let arrival = Arrival {
        hook: slug.to_owned(),
        sender_id: None,
        replay_mark: None,
        content_type: Some(JSON.to_owned()),
        passes: hook.terms.filter.as_ref().is_none_or(|filter| filter.passes(&payload)),
        headers: vec![(CONTENT_TYPE.as_str().to_owned(), JSON.to_owned())],
        body: payload,
    };
    let received = app.engine.receive(arrival).await;
    match received.map_err(|error| of_submit(error, |refusal| refused(&refusal)))? {
        Received::New(id) => Ok(DeliveryReceived { id, duplicate: false }),
        Received::Duplicate(id) => Ok(DeliveryReceived { id, duplicate: true }),
    }
}
