//! The event log of one entity, as it was written.

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use ordo_api::events::EventView;
use ordo_api::{Code, Page};
use ordo_engine::actor::actor_of;
use ordo_model::credential::{covered, to_see};
use ordo_model::{EntityId, JobId, Kind};
use ordo_store::{Fault, StoredEvent};
use serde_json::value::RawValue;

use crate::app::App;
use crate::auth::caller::Caller;
use crate::http::params::Params;
use crate::http::path::Named;
use crate::http::problem::Problem;

/// An event as it is answered, here and in the log of all events: without credentials that the caller may not use.
pub(crate) fn view(event: StoredEvent, caller: &Caller) -> Result<EventView, Fault> {
    let actor = actor_of(&event)?.into();
    let unreadable = || Fault::damaged(format!("event {} of {} is not JSON", event.version, event.entity));
    let text = match caller.sees_credentials(event.entity.kind) {
        true => String::from_utf8(event.data).map_err(|_| unreadable())?,
        false => {
            let data = serde_json::from_slice(&event.data).map_err(|_| unreadable())?;
            covered(event.entity.kind, data).to_string()
        }
    };
    Ok(EventView {
        stream: event.entity.to_string(),
        version: event.version,
        data: RawValue::from_string(text).map_err(|_| unreadable())?,
        position: event.position.0,
        at: event.at,
        r#type: event.kind,
        actor,
    })
}

/// An executor reads the job that it has a run of, and nothing else.
fn check_sight(app: &App, caller: &Caller, entity: EntityId) -> Result<(), Problem> {
    let right = to_see(entity.kind);
    if caller.may(right) {
        return Ok(());
    }
    let name = entity.kind.name();
    match entity.kind {
        Kind::Job if app.engine.holds_run_of(caller.speaker(), JobId(entity.id)) => Ok(()),
        Kind::Job => {
            Err(Problem::new(Code::Forbidden, "the job is not one that an executor of this token has a run of"))
        }
        Kind::Incident
        | Kind::Hook
        | Kind::Delivery
        | Kind::ApiToken
        | Kind::Secret
        | Kind::Executor
        | Kind::Subscription
        | Kind::Monitor
        | Kind::Notification
        | Kind::Silence
        | Kind::Login
        | Kind::EscalationChain
        | Kind::Channel => {
            Err(Problem::new(Code::Forbidden, format!("the events of a {name} need the role {}", right.least())))
        }
    }
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
    check_sight(&app, &caller, entity)?;
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
    let items = events.into_iter().map(|event| view(event, &caller)).collect::<Result<Vec<EventView>, Fault>>()?;
    Ok(Json(Page { items, next_cursor }).into_response())
}
