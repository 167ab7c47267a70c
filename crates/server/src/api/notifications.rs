//! Notifications: what was sent to people, what waits, and what was given up and can be replayed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ordo_engine::Versioned;
use ordo_model::EntityId;
use ordo_model::notification::{Notification, NotificationCommand, NotificationState};
use serde_json::{Value, json};

use crate::api::incidents::KeyCursor;
use crate::app::App;
use crate::http::code::Code;
use crate::http::params::{List, Params};
use crate::http::path::{Named, NotificationId};
use crate::http::problem::Problem;

/// Without a filter the dead-lettered ones are shown: those that people must look at.
pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let state = params.take_text("state");
    let stream = params.take::<EntityId>("stream")?;
    let limit = params.take_limit()?;
    let after = params.take_cursor::<KeyCursor>()?.map(|cursor| cursor.0);
    params.finish()?;
    let queries = app.engine.queries();
    let found = match (state, stream) {
        (Some(_), Some(_)) => {
            return Err(Problem::field(Code::InvalidQuery, "stream", "give a stream or a state, one of them"));
        }
        (None, Some(stream)) => queries.notifications_about(stream, after.as_deref(), limit).await?,
        (state, None) => {
            let code = state_code(state.as_deref().unwrap_or("dead_lettered"))?;
            queries.notifications(code, after.as_deref(), limit).await?
        }
    };
    let items: Vec<Value> = found.items.iter().map(notification).collect();
    Ok(Json(List { items, next_cursor: found.next.map(hex::encode) }).into_response())
}

fn state_code(name: &str) -> Result<u8, Problem> {
    let known = NotificationState::NAMES.join(", ");
    NotificationState::code_of(name)
        .ok_or_else(|| Problem::field(Code::InvalidQuery, "state", format!("must be one of {known}")))
}

pub(crate) async fn show(
    State(app): State<App>,
    Named(NotificationId(id)): Named<NotificationId>,
) -> Result<Response, Problem> {
    let found = app.engine.queries().object::<Notification>(id).await?;
    let kept =
        found.ok_or_else(|| Problem::new(Code::NotificationNotFound, format!("there is no notification {id}")))?;
    let mut form = notification(&kept);
    form["message"] = json!(kept.message);
    Ok(Json(form).into_response())
}

pub(crate) async fn replay(
    State(app): State<App>,
    Named(NotificationId(id)): Named<NotificationId>,
) -> Result<Response, Problem> {
    let committed = app.engine.command::<Notification>(id, NotificationCommand::Replay).await?;
    Ok((StatusCode::ACCEPTED, Json(notification(&committed.state))).into_response())
}

fn notification(kept: &Versioned<Notification>) -> Value {
    let (next_try, settled_at, note) = match &kept.state {
        NotificationState::Waiting { next_try } => (Some(*next_try), None, None),
        NotificationState::Delivered { at, note } => (None, Some(*at), note.as_deref()),
        NotificationState::DeadLettered { at } => (None, Some(*at), None),
        NotificationState::Forgotten => (None, None, None),
    };
    json!({
        "id": kept.id,
        "sender": kept.sender,
        "state": kept.state.name(),
        "attempts": kept.attempts,
        "last_error": kept.last_error,
        "next_try": next_try,
        "settled_at": settled_at,
        "note": note,
        "written_at": kept.written_at,
        "replayed": kept.replayed,
        "key": kept.message.key(),
        "stream": kept.message.entity().to_string(),
        "version": kept.message.version,
        "event": kept.message.event(),
        "label": kept.message.label(),
    })
}
