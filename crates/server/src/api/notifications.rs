//! Notifications: what was sent to people, what waits, and what was given up and can be replayed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ordo_api::alerting::notifications::NotificationView;
use ordo_api::{Code, Page};
use ordo_model::EntityId;
use ordo_model::notification::{Notification, NotificationCommand, NotificationState};

use crate::app::{App, Signed};
use crate::http::params::{Cursor, Params, next_cursor};
use crate::http::path::{Named, NotificationId};
use crate::http::problem::Problem;

/// Without a filter the dead-lettered ones are shown: those that people must look at.
pub(crate) async fn list(State(app): State<App>, mut params: Params) -> Result<Response, Problem> {
    let state = params.take_text("state");
    let stream = params.take::<EntityId>("stream")?;
    let limit = params.take_limit()?;
    let after = params.take_cursor::<Cursor>()?;
    params.finish()?;
    let queries = app.engine.queries();
    let found = match (state, stream) {
        (Some(_), Some(_)) => {
            return Err(Problem::field(Code::InvalidQuery, "stream", "give a stream or a state, one of them"));
        }
        (None, Some(stream)) => queries.notifications_about(stream, after.as_ref(), limit).await?,
        (state, None) => {
            let code = state_code(state.as_deref().unwrap_or("dead_lettered"))?;
            queries.notifications(code, after.as_ref(), limit).await?
        }
    };
    let items = found.items.iter().map(|kept| NotificationView::of(kept.id, kept)).collect();
    Ok(Json(Page { items, next_cursor: next_cursor(found.next) }).into_response())
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
    Ok(Json(NotificationView::whole(id, &kept)).into_response())
}

pub(crate) async fn replay(
    Signed(app): Signed,
    Named(NotificationId(id)): Named<NotificationId>,
) -> Result<Response, Problem> {
    let committed = app.engine.command::<Notification>(id, NotificationCommand::Replay).await?;
    Ok((StatusCode::ACCEPTED, Json(NotificationView::of(id, &committed.state))).into_response())
}
