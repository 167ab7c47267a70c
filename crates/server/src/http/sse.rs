//! What the routes that answer server-sent events have in common: who wants them, and where to go on.

use std::fmt::Display;
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName, header};
use ordo_api::Code;

use crate::http::problem::Problem;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// The id of the last event that the client saw. A browser that connects again sends it by itself, so it comes before
/// whatever the address says.
pub(crate) fn last_event_id<T: FromStr<Err: Display>>(headers: &HeaderMap) -> Result<Option<T>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = value.to_str().map_err(|_| not_an_id())?.trim();
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| not_an_id()) }
}

pub(crate) fn not_an_id() -> Problem {
    Problem::new(Code::InvalidHeader, "Last-Event-ID is not one that this stream gave out")
}
