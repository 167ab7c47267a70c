//! The log of all events: a page of it, or all of it as it is written.

pub(crate) mod follow;
pub(crate) mod streams;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use ordo_api::events::EventView;
use ordo_api::{Code, Page};
use ordo_model::credential::is_published;
use ordo_store::{Fault, Position};

use crate::api::events::streams::view;
use crate::app::App;
use crate::auth::caller::Caller;
use crate::http::params::Params;
use crate::http::peer::Peer;
use crate::http::problem::Problem;
use crate::http::streams::Counting;
use crate::http::streams::sse::{last_event_id, not_an_id, wants_events};

/// From the event behind the position `after` on; from the oldest that is kept when it is left out.
pub(crate) async fn read(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    mut params: Params,
) -> Result<Response, Problem> {
    let limit = params.take_limit()?;
    let cursor = params.take_cursor::<String>()?;
    let after = params.take_text("after").or(cursor).unwrap_or_default();
    params.finish()?;
    if !wants_events(&headers) {
        return page(&app, &caller, Position(after), limit).await;
    }
    let closing = peer.map(|Extension(peer)| peer.closing).unwrap_or_default();
    let pass = app.streams.open(&app.engine, &caller, closing, Counting::Counted)?;
    match last_event_id::<String>(&headers)? {
        Some(last) => {
            follow::answer(&app, caller, Position(last), pass).await.map_err(|fault| unless(fault, not_an_id))
        }
        None => {
            follow::answer(&app, caller, Position(after), pass).await.map_err(|fault| unless(fault, not_a_position))
        }
    }
}

async fn page(app: &App, caller: &Caller, after: Position, limit: usize) -> Result<Response, Problem> {
    let found = app.engine.queries().store().events(&after, limit + 1).await;
    let mut events = found.map_err(|fault| unless(fault, not_a_position))?;
    let is_cut = events.len() > limit;
    events.truncate(limit);
    let next_cursor = events.last().filter(|_| is_cut).map(|event| event.position.0.clone());
    events.retain(|event| is_published(event.entity.kind));
    let items = events.into_iter().map(|event| view(event, caller)).collect::<Result<Vec<EventView>, Fault>>()?;
    Ok(Json(Page { items, next_cursor }).into_response())
}

/// The fault as a problem; an invalid position is the client's mistake, named by its parameter.
fn unless(fault: Fault, no_position: impl FnOnce() -> Problem) -> Problem {
    if matches!(fault, Fault::NotAPosition { .. }) { no_position() } else { fault.into() }
}

fn not_a_position() -> Problem {
    Problem::field(Code::InvalidCursor, "after", "is not a position that this server gave out")
}
