//! The event log of one entity, as it was written.

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use ordo_api::events::EventView;
use ordo_api::{Code, Page};
use ordo_model::EntityId;
use ordo_store::{Fault, StoredEvent};
use serde_json::value::RawValue;

use crate::app::App;
use crate::auth::access::to_see;
use crate::auth::caller::Caller;
use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::problem::Problem;

/// An event as it is answered, here and in the log of all events.
pub(crate) fn view(event: StoredEvent) -> Result<EventView, Fault> {
    let unreadable = || Fault::damaged(format!("event {} of {} is not JSON", event.version, event.entity));
    let text = String::from_utf8(event.data).map_err(|_| unreadable())?;
    Ok(EventView {
        stream: event.entity.to_string(),
        version: event.version,
        data: RawValue::from_string(text).map_err(|_| unreadable())?,
        position: event.position.0,
        at: event.at,
        r#type: event.kind,
    })
}

/// From the version `from` on; from the oldest that is kept when it is left out.
pub(crate) async fn read(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(entity): Named<EntityId>,
    mut params: Params,
) -> Result<Response, Problem> {
    let from = params.take::<u64>("from")?;
    let from = params.take_cursor::<u64>()?.or(from);
    let limit = params.take_limit()?;
    params.finish()?;
    if !caller.may(to_see(entity.kind)) {
        return Err(Problem::new(Code::Forbidden, format!("the events of a {} are for admins", entity.kind.name())));
    }
    let (mut events, oldest) = app.engine.queries().history(entity, from.unwrap_or(0), limit + 1).await?;
    if events.is_empty() && oldest == 0 {
        return Err(Problem::new(Code::StreamNotFound, format!("there is no stream {entity}")));
    }
    // The first event has version 1; asking for 0 asks for the beginning.
    if from.is_some_and(|from| from.max(1) < oldest) {
        let detail = format!("events before version {oldest} are no longer kept: read from={oldest}");
        return Err(Problem::new(Code::StreamTrimmed, detail));
    }
    let next_cursor = events.get(limit).map(|event| event.version.to_string());
    events.truncate(limit);
    let items = events.into_iter().map(view).collect::<Result<Vec<EventView>, Fault>>()?;
    Ok(Json(Page { items, next_cursor }).into_response())
}
